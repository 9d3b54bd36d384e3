"""A picture in the language of Mermaid, which Markdown renderers draw."""

from __future__ import annotations

import html

from gradpath.features.graph import Kind, Picture, Vertex
from gradpath.features.graph.wording import lines_of

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
        label = "<br/>".join(_escaped(line) for line in lines_of(vertex))
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


def _escaped(text: str) -> str:
    """Mermaid takes HTML's entities, with `#` for `&`; backticks would begin Markdown."""
    return html.escape(text).replace("&", "#").replace("`", "#96;").replace("##", "#35;#")
