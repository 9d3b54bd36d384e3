"""A flow as a picture: the backwards on top, what they give gradients in the middle, the steps at the bottom."""

from __future__ import annotations

from gradpath.diagnostic import Position, Range
from gradpath.features.flow import Arrival, Flow, Reason, Row, Use, Why
from gradpath.features.graph import Arrow, Kind, Picture, Vertex
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import replace

_GIVEN = frozenset({Arrival.GRADIENT, Arrival.ZEROS})


def picture_of(flows: tuple[Flow, ...], document: Document) -> Picture:
    """The calls and the rows of all flows as boxes; a dotted way is one that is cut, with the place where it is."""
    drawing = _Drawing(document)
    for flow in flows:
        drawing.add(flow)
    return Picture(f"Flow of {document.path.rpartition('/')[2]}", tuple(drawing.vertices), tuple(drawing.arrows))


class _Drawing:
    def __init__(self, document: Document) -> None:
        self._document = document
        self.vertices: list[Vertex] = []
        self.arrows: dict[Arrow, None] = {}

    def add(self, flow: Flow) -> None:
        """The boxes of one entry point, from the backwards down."""
        backwards = {call.number: self._box(Kind.ROOT, call.text, call.path, call.line) for call in flow.backwards}
        cuts: dict[Reason, int] = {}
        ends = [(row, self._row(row)) for row in flow.rows()]
        steps = [self._box(Kind.STEP, call.text, call.path, call.line) for call in flow.steps]
        for row, number in ends:
            for start, cell in zip(backwards.values(), row.first.arrivals, strict=True):
                if cell is not None and cell.state in _GIVEN:
                    self.arrows[Arrow(start, number)] = None
            for reason in row.reasons:
                if reason.why is Why.CUT:
                    self._cut(reason, [backwards[each] for each in reason.backwards], number, cuts)
            for end, cell in zip(steps, row.first.uses, strict=True):
                if cell is not None and cell.state in (Use.UPDATED, Use.ZEROS):
                    self.arrows[Arrow(number, end)] = None

    def _row(self, row: Row) -> int:
        first = row.first
        arrives = any(cell is not None and cell.state in _GIVEN for cell in first.arrivals)
        held = any(cell is not None and cell.state is Use.IDLE for cell in first.uses)
        notes = [reason.words for reason in row.reasons if reason.why is not Why.CUT]
        idle = held and not arrives and not any(cell and cell.state is Arrival.UNKNOWN for cell in first.arrivals)
        if idle:
            notes.append("no gradient arrives")
        number = self._box(Kind.MODULE if row.is_module or first.unseen else Kind.PARAMETER, row.title, "", 0)
        self.vertices[number] = replace(self.vertices[number], notes=tuple(notes), broken=idle)
        return number

    def _cut(self, reason: Reason, starts: list[int], end: int, known: dict[Reason, int]) -> None:
        key = replace(reason, backwards=())
        if key not in known:
            known[key] = self._box(Kind.CUT, reason.text, reason.path, reason.line)
        for start in starts:
            self.arrows[Arrow(start, known[key], cut=True)] = None
        self.arrows[Arrow(known[key], end, cut=True)] = None

    def _box(self, kind: Kind, title: str, path: str, line: int) -> int:
        number = len(self.vertices)
        own = path == self._document.path
        if own and line and isinstance(self._document, CellsDocument):
            start = Position(line, 1)
            cell, place = self._document.in_cell(Range(start, start))
            path, line, own = f"cell {cell.number}", place.start.line, False
        self.vertices.append(Vertex(number, kind, title, "", "" if own else path, line))
        return number
