"""A picture in the language of Graphviz."""

from __future__ import annotations

from gradpath.features.graph import Kind, Picture, Vertex
from gradpath.features.graph.wording import lines_of

_COLOURS = {
    Kind.ROOT: "#9ecae1",
    Kind.PARAMETER: "#a1d99b",
    Kind.LEAF: "#c7e9c0",
    Kind.CUT: "#fdae6b",
    Kind.STEP: "#bcbddc",
    Kind.MODULE: "#a1d99b",
}
_BROKEN = "#fc9272"


def as_dot(picture: Picture) -> str:
    """A `digraph` whose arrows point to what a value was computed from; cuts are dashed."""
    lines = [
        f"digraph {_quoted(picture.title)} {{",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
    ]
    for vertex in picture.vertices:
        label = "\\n".join(_escaped(line) for line in lines_of(vertex))
        lines.append(f'  n{vertex.number} [label="{label}", fillcolor="{_colour(vertex)}"];')
    for arrow in picture.arrows:
        style = " [style=dashed]" if arrow.cut else ""
        lines.append(f"  n{arrow.start} -> n{arrow.end}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _colour(vertex: Vertex) -> str:
    return _BROKEN if vertex.broken else _COLOURS.get(vertex.kind, "#f0f0f0")


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
