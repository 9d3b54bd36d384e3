"""Where the boxes of a picture stand, and which way its arrows go; the layered drawing is grandalf's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradpath.features.graph import Picture
from gradpath.records import dataclass

Point = tuple[float, float]
Size = tuple[float, float]

_GAP_ACROSS = 24.0
_GAP_DOWN = 34.0
_MARGIN = 12.0


@dataclass(frozen=True, slots=True)
class Layout:
    """The middle of each box by its vertex's number, the points of each arrow, and the size of the whole."""

    centres: Mapping[int, Point]
    routes: Mapping[tuple[int, int], Sequence[Point]]
    width: float
    height: float


class _Box:
    """What grandalf asks of a vertex: its size, and room for its place."""

    def __init__(self, size: Size) -> None:
        self.w, self.h = size
        self.xy: Point = (0.0, 0.0)


def lay_out(picture: Picture, sizes: Mapping[int, Size]) -> Layout:
    """Layers from the root downwards, for boxes of the given sizes; parts that do not hang together stand abreast."""
    # grandalf is only loaded where a picture is drawn.
    from grandalf.graphs import Edge, Graph, Vertex  # type: ignore[import-untyped]
    from grandalf.layouts import SugiyamaLayout  # type: ignore[import-untyped]

    vertices = {each.number: Vertex(each.number) for each in picture.vertices}
    for number, vertex in vertices.items():
        vertex.view = _Box(sizes[number])
    edges = [
        Edge(vertices[arrow.start], vertices[arrow.end], data=(arrow.start, arrow.end)) for arrow in picture.arrows
    ]
    centres: dict[int, Point] = {}
    routes: dict[tuple[int, int], Sequence[Point]] = {}
    left = _MARGIN
    height = 0.0
    for part in Graph(list(vertices.values()), edges).C:
        layout = SugiyamaLayout(part)
        layout.xspace, layout.yspace = _GAP_ACROSS, _GAP_DOWN
        layout.init_all(roots=[vertex for vertex in part.sV if not vertex.e_in()] or [next(iter(part.sV))])
        layout.draw(3)
        right, bottom = _place(part, layout, left, centres, routes)
        left, height = right + _GAP_ACROSS, max(height, bottom)
    return Layout(centres, routes, left - _GAP_ACROSS + _MARGIN, height + _MARGIN)


def _place(
    part: Any, layout: Any, left: float, centres: dict[int, Point], routes: dict[tuple[int, int], Sequence[Point]]
) -> Point:
    """Move one part to the right of `left` and below the margin; its right and lower end."""
    boxes = [(vertex.data, vertex.view) for vertex in part.sV]
    bends = {edge.data: _bends(edge, layout) for edge in part.sE}
    points = [point for route in bends.values() for point in route]
    lowest_x = min([box.xy[0] - box.w / 2 for _, box in boxes] + [x for x, _ in points])
    lowest_y = min(box.xy[1] - box.h / 2 for _, box in boxes)
    dx, dy = left - lowest_x, _MARGIN - lowest_y
    for number, box in boxes:
        centres[number] = (box.xy[0] + dx, box.xy[1] + dy)
    by_number = dict(boxes)
    for (start, end), route in bends.items():
        top = (centres[start][0], centres[start][1] + by_number[start].h / 2)
        bottom = (centres[end][0], centres[end][1] - by_number[end].h / 2)
        routes[start, end] = [top, *((x + dx, y + dy) for x, y in route), bottom]
    right = max([box.xy[0] + box.w / 2 for _, box in boxes] + [x for x, _ in points])
    return right + dx, max(box.xy[1] + box.h / 2 for _, box in boxes) + dy


def _bends(edge: Any, layout: Any) -> list[Point]:
    """The places that grandalf kept free for an arrow on the layers between its ends, from its start on."""
    control = layout.ctrls.get(edge)
    if control is None:
        return []
    first, last = layout.grx[edge.v[0]].rank, layout.grx[edge.v[1]].rank
    between = sorted((rank for rank in control if min(first, last) < rank < max(first, last)), reverse=first > last)
    return [control[rank].view.xy for rank in between]
