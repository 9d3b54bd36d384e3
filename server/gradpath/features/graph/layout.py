"""The places of the boxes of a picture, and the routes of its arrows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from gradpath.features.graph import Picture
from gradpath.features.graph.layers import Bend, Layers, Pair, Spot, layered, parts
from gradpath.support.fast_dataclasses import dataclass

Point: TypeAlias = "tuple[float, float]"
Size: TypeAlias = "tuple[float, float]"

_GAP_ACROSS = 24.0
_GAP_DOWN = 34.0
_GAP_OF_ARROWS = 12.0
_MARGIN = 12.0
_ROUNDS = 40
_STRAIGHT = 8.0
_AT_AN_END = 0.02
"""The weight of an upright arrow: highest on its way, lowest at a box to which nothing else leads."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The middle of each box by its vertex's number, the points of each arrow, and the size of the whole."""

    centres: Mapping[int, Point]
    routes: Mapping[Pair, Sequence[Point]]
    width: float
    height: float


def lay_out(picture: Picture, sizes: Mapping[int, Size]) -> Layout:
    """Layers from the root downwards, for boxes of the given sizes; unconnected parts are side by side."""
    arrows = [(arrow.start, arrow.end) for arrow in picture.arrows]
    centres: dict[int, Point] = {}
    routes: dict[Pair, Sequence[Point]] = {}
    left, height = _MARGIN, 0.0
    for group in parts([vertex.number for vertex in picture.vertices], arrows):
        members = set(group)
        layers = layered(group, [pair for pair in arrows if pair[0] in members])
        right, bottom = _place(layers, sizes, left, centres, routes)
        left, height = right + _GAP_ACROSS, max(height, bottom)
    return Layout(centres, routes, left - _GAP_ACROSS + _MARGIN, height + _MARGIN)


def _place(
    layers: Layers,
    sizes: Mapping[int, Size],
    left: float,
    centres: dict[int, Point],
    routes: dict[Pair, Sequence[Point]],
) -> Point:
    """Place one part to the right of `left` and below the margin, boxes at the top of their layers.

    Returns its right and its lower end.
    """
    across = _across(layers, sizes)
    moved = left - min(x - _width(spot, sizes) / 2 for spot, x in across.items())
    bands: dict[Spot, Point] = {}
    top = _MARGIN
    for row in layers.rows:
        bottom = top + max((sizes[spot][1] for spot in row if not isinstance(spot, Bend)), default=0.0)
        bands.update(dict.fromkeys(row, (top, bottom)))
        top = bottom + _GAP_DOWN
    for spot, (upper, _) in bands.items():
        if not isinstance(spot, Bend):
            centres[spot] = across[spot] + moved, upper + sizes[spot][1] / 2
    for pair, way in layers.routes.items():
        routes[pair] = list(_points(way, {spot: across[spot] + moved for spot in way}, bands, sizes))
    return max(x + moved + _width(spot, sizes) / 2 for spot, x in across.items()), top - _GAP_DOWN


def _points(
    way: Sequence[Spot], across: Mapping[Spot, float], bands: Mapping[Spot, Point], sizes: Mapping[int, Size]
) -> Iterator[Point]:
    """The points of an arrow: upright through each layer, and curved only between two of them."""
    down = bands[way[0]] < bands[way[-1]]
    for spot in way:
        x = across[spot]
        top, bottom = bands[spot]
        box = top if isinstance(spot, Bend) else top + sizes[spot][1]
        heights = [box, bottom] if spot == way[0 if down else -1] else [top, bottom]
        if spot == way[-1 if down else 0]:
            heights = [top]
        yield from ((x, height) for height in dict.fromkeys(heights if down else reversed(heights)))


def _width(spot: Spot, sizes: Mapping[int, Size]) -> float:
    return 0.0 if isinstance(spot, Bend) else sizes[spot][0]


def _across(layers: Layers, sizes: Mapping[int, Size]) -> dict[Spot, float]:
    """The horizontal place of each spot: all arrows are as upright as the order and the widths allow.

    The sum of the squares of what each step of an arrow moves sideways falls with each layer that is placed again
    between its neighbours, until nothing moves any more.
    """
    gaps = {id(row): _gaps(row, sizes) for row in layers.rows}
    across: dict[Spot, float] = {}
    for row in layers.rows:
        offsets = gaps[id(row)]
        across.update((spot, offset - offsets[-1] / 2) for spot, offset in zip(row, offsets, strict=True))
    for turn in range(_ROUNDS):
        for row in layers.rows if turn % 2 == 0 else reversed(layers.rows):
            wished = [_wish(spot, layers, across) for spot in row]
            across.update(zip(row, _apart(wished, gaps[id(row)]), strict=True))
    return across


def _gaps(row: Sequence[Spot], sizes: Mapping[int, Size]) -> list[float]:
    """The least distance of each spot of a row from its first one."""
    offsets = [0.0]
    for one, other in pairwise(row):
        gap = _GAP_OF_ARROWS if isinstance(one, Bend) and isinstance(other, Bend) else _GAP_ACROSS
        offsets.append(offsets[-1] + (_width(one, sizes) + _width(other, sizes)) / 2 + gap)
    return offsets


def _wish(spot: Spot, layers: Layers, across: Mapping[Spot, float]) -> tuple[float, float]:
    """The place that a spot would have if it were alone, and the weight of that."""
    weight = total = 0.0
    for neighbour in (*layers.above.get(spot, ()), *layers.below.get(spot, ())):
        if isinstance(spot, Bend) and isinstance(neighbour, Bend):
            counts = _STRAIGHT
        else:
            counts = _AT_AN_END if layers.is_end(spot) or layers.is_end(neighbour) else 1.0
        weight += counts
        total += counts * across[neighbour]
    return (total / weight, weight) if weight else (across[spot], 1.0)


def _apart(wished: Iterable[tuple[float, float]], offsets: Sequence[float]) -> list[float]:
    """The places nearest to those wished for that keep the distances: the regression of a sequence that only grows."""
    blocks: list[tuple[float, float, int]] = []  # where, how much it counts, and how many spots
    for (place, weight), offset in zip(wished, offsets, strict=True):
        where, counts, many = place - offset, weight, 1
        while blocks and blocks[-1][0] > where:
            before, heavier, more = blocks.pop()
            where = (before * heavier + where * counts) / (heavier + counts)
            counts, many = counts + heavier, many + more
        blocks.append((where, counts, many))
    placed = [where for where, _, many in blocks for _ in range(many)]
    return [where + offset for where, offset in zip(placed, offsets, strict=True)]
