"""A picture in the languages of Graphviz and Mermaid, and as JSON, from which other programs draw."""

from __future__ import annotations

import html
import json

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
        label = "\\n".join(_escaped_for_dot(line) for line in lines_of(vertex))
        lines.append(f'  n{vertex.number} [label="{label}", fillcolor="{_colour(vertex)}"];')
    for arrow in picture.arrows:
        style = " [style=dashed]" if arrow.cut else ""
        lines.append(f"  n{arrow.start} -> n{arrow.end}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _colour(vertex: Vertex) -> str:
    return _BROKEN if vertex.broken else _COLOURS.get(vertex.kind, "#f0f0f0")


def _quoted(text: str) -> str:
    return f'"{_escaped_for_dot(text)}"'


def _escaped_for_dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_CLASSES = (
    "  classDef root fill:#9ecae1,stroke:#3182bd,color:#000",
    "  classDef leaf fill:#a1d99b,stroke:#31a354,color:#000",
    "  classDef step fill:#bcbddc,stroke:#756bb1,color:#000",
    "  classDef cut fill:#fdae6b,stroke:#e6550d,color:#000",
    "  classDef broken fill:#fc9272,stroke:#de2d26,color:#000",
)


def as_mermaid(picture: Picture) -> str:
    """A flowchart whose arrows point to what a value was computed from; cuts are dotted."""
    lines = ["flowchart TD"]
    for vertex in picture.vertices:
        label = "<br/>".join(_escaped_for_mermaid(line) for line in lines_of(vertex))
        lines.append(f'  n{vertex.number}["{label}"]{_class(vertex)}')
    lines += [f"  n{arrow.start} {'-.->' if arrow.cut else '-->'} n{arrow.end}" for arrow in picture.arrows]
    return "\n".join([*lines, *_CLASSES]) + "\n"


def _class(vertex: Vertex) -> str:
    if vertex.broken:
        return ":::broken"
    match vertex.kind:
        case Kind.ROOT:
            return ":::root"
        case Kind.PARAMETER | Kind.LEAF | Kind.MODULE:
            return ":::leaf"
        case Kind.CUT:
            return ":::cut"
        case Kind.STEP:
            return ":::step"
    return ""


def _escaped_for_mermaid(text: str) -> str:
    """Mermaid takes HTML's entities, with `#` for `&`; backticks would begin Markdown."""
    return html.escape(text).replace("&", "#").replace("`", "#96;").replace("##", "#35;#")


def as_json(picture: Picture) -> str:
    """One object: `title`, `nodes` and `edges` by the nodes' ids; lines count from 1, and 0 is no line."""
    nodes = [
        {
            "id": vertex.number,
            "kind": vertex.kind.value,
            "title": vertex.title,
            "operation": vertex.operation or None,
            "module": vertex.owner or None,
            "path": vertex.path or None,
            "line": vertex.line or None,
            "earlier_iteration": vertex.earlier,
            "saved": list(vertex.saved),
            "notes": list(vertex.notes),
            "broken": vertex.broken,
        }
        for vertex in picture.vertices
    ]
    edges = [{"from": arrow.start, "to": arrow.end, "cut": arrow.cut} for arrow in picture.arrows]
    return json.dumps({"version": 1, "title": picture.title, "nodes": nodes, "edges": edges}, indent=1) + "\n"
