"""The text in a box of the picture, for any kind of drawing."""

from __future__ import annotations

from gradpath.features.graph import Kind, Vertex

_KINDS = {Kind.PARAMETER: "parameter", Kind.LEAF: "leaf", Kind.CUT: "cut here"}


def lines_of(vertex: Vertex) -> list[str]:
    """The lines of a box: its title, what it is and where, what it saves, what became of it."""
    where = f"line {vertex.line}" if vertex.line else ""
    if vertex.path and where:
        where = f"{vertex.path.rpartition('/')[2]}:{vertex.line}"
    what = " ".join(filter(None, (_KINDS.get(vertex.kind, vertex.operation), vertex.owner)))
    when = "an earlier iteration" if vertex.earlier else ""
    lines = [vertex.title, " · ".join(part for part in (what, where, when) if part)]
    if vertex.saved:
        lines.append("saves " + ", ".join(vertex.saved))
    return [line for line in (*lines, *vertex.notes) if line]


def short(name: str) -> str:
    """The last part of a dotted name."""
    return name.rpartition(".")[2]
