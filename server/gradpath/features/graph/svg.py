"""A picture as SVG, in the colours of the editor's theme where there is one."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from gradpath.features.graph import Kind, Picture, Vertex
from gradpath.features.graph.layout import Layout, Point, Size, lay_out
from gradpath.features.graph.wording import lines_of

_CHARACTER = 7.4
_LINE = 16.0
_PADDING = 9.0

# The variables are those of VS Code's web views; elsewhere the second color applies.
_STYLE = """
.box { fill: var(--vscode-editorWidget-background, #f5f5f5); stroke: var(--vscode-descriptionForeground, #8c8c8c); }
.root .box { stroke: var(--vscode-charts-blue, #1a73c7); stroke-width: 2.5; }
.step .box { stroke: var(--vscode-charts-purple, #652d90); stroke-width: 1.5; }
.parameter .box, .leaf .box, .module .box { stroke: var(--vscode-charts-green, #388a34); stroke-width: 1.5; }
.cut .box { stroke: var(--vscode-editorWarning-foreground, #bf8803); stroke-width: 1.5; stroke-dasharray: 4 3; }
.broken .box { stroke: var(--vscode-editorError-foreground, #e51400); stroke-width: 2.5; }
.broken .note { fill: var(--vscode-editorError-foreground, #e51400); }
text { font: 12px var(--vscode-font-family, system-ui, sans-serif); fill: var(--vscode-foreground, #1f1f1f); }
.title { font: 600 12px var(--vscode-editor-font-family, ui-monospace, monospace); }
.what, .saved { opacity: 0.8; }
path { fill: none; stroke: var(--vscode-foreground, #5f5f5f); opacity: 0.65; }
path.cut { stroke-dasharray: 4 3; }
.head { fill: var(--vscode-foreground, #5f5f5f); stroke: none; }
"""


def as_svg(picture: Picture, told: Callable[[str], str] = str) -> str:
    """One `<svg>` element; each box has `data-line` (from 1) and `data-path`: what `told` makes of a vertex's path."""
    sizes = {vertex.number: _size(lines_of(vertex)) for vertex in picture.vertices}
    layout = lay_out(picture, sizes)
    width, height = round(layout.width), round(layout.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{html.escape(picture.title)}">',
        f"<title>{html.escape(picture.title)}</title><style>{_STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        *_arrows(picture, layout),
        *(_box(vertex, layout.centres[vertex.number], sizes[vertex.number], told) for vertex in picture.vertices),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _size(lines: Sequence[str]) -> Size:
    return max(map(len, lines)) * _CHARACTER + 2 * _PADDING, len(lines) * _LINE + 2 * _PADDING - 4


def _arrows(picture: Picture, layout: Layout) -> list[str]:
    return [
        f'<path{" class=" + chr(34) + "cut" + chr(34) if arrow.cut else ""} marker-end="url(#arrow)" '
        f'd="{_path(layout.routes[arrow.start, arrow.end])}"/>'
        for arrow in picture.arrows
    ]


def _path(points: Sequence[Point]) -> str:
    """A curve through the points that leaves and enters boxes upright."""
    (x, y), *others = points
    steps = [f"M{x:.0f} {y:.0f}"]
    for next_x, next_y in others:
        middle = (y + next_y) / 2
        steps.append(f"C{x:.0f} {middle:.0f} {next_x:.0f} {middle:.0f} {next_x:.0f} {next_y:.0f}")
        x, y = next_x, next_y
    return "".join(steps)


def _box(vertex: Vertex, centre: Point, size: Size, told: Callable[[str], str]) -> str:
    (x, y), (width, height) = centre, size
    left, top = x - width / 2, y - height / 2
    classes = vertex.kind.value + (" broken" if vertex.broken else "")
    place = f' data-line="{vertex.line}" data-path="{html.escape(told(vertex.path))}"' if vertex.line else ""
    corner = 12 if vertex.kind in (Kind.PARAMETER, Kind.LEAF, Kind.MODULE) else 4
    lines = lines_of(vertex)
    notes = len(lines) - len(vertex.notes)
    texts = [
        f'<text class="{_class(index, notes, vertex)}" x="{x:.0f}" y="{top + _PADDING + 10 + index * _LINE:.0f}" '
        f'text-anchor="middle">{html.escape(line)}</text>'
        for index, line in enumerate(lines)
    ]
    box = f'<rect class="box" x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" rx="{corner}"/>'
    return f'<g class="{classes}"{place}>{box}{"".join(texts)}</g>'


def _class(index: int, notes: int, vertex: Vertex) -> str:
    if index == 0:
        return "title"
    if index >= notes:
        return "note"
    return "saved" if vertex.saved and index == notes - 1 else "what"
