"""The layers of a drawing, and the order of boxes in each: arrows point down, and few of them cross.

An arrow over several layers has a place of its own in each layer between its ends: a `Bend`. Boxes and bends are the
`Spot`s of a layer.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from gradpath.support.fast_dataclasses import dataclass

Pair: TypeAlias = "tuple[int, int]"
Spot: TypeAlias = "int | Bend"
_SWEEPS = 12
_SWAPS = 4


@dataclass(frozen=True, slots=True)
class Bend:
    """The place where the arrow between two boxes passes through a layer."""

    start: int
    end: int
    layer: int


@dataclass(frozen=True, slots=True)
class Layers:
    """The spots of each layer from left to right, and what is connected from one layer to the next.

    `routes` has the spots of each arrow from its start to its end.
    """

    rows: Sequence[Sequence[Spot]]
    above: Mapping[Spot, Sequence[Spot]]
    below: Mapping[Spot, Sequence[Spot]]
    routes: Mapping[Pair, Sequence[Spot]]

    def is_end(self, spot: Spot) -> bool:
        """True if it has no arrows down and one arrow leads to it."""
        return not self.below.get(spot) and len(self.above.get(spot, ())) == 1


def layered(boxes: Sequence[int], arrows: Iterable[Pair]) -> Layers:
    """Put boxes that hang together into layers; an arrow that closes a circle is drawn upwards."""
    pairs = [pair for pair in dict.fromkeys(arrows) if pair[0] != pair[1]]
    rank = _ranks(boxes, _without_circles(boxes, pairs))
    rows: list[list[Spot]] = [[] for _ in range(max(rank.values()) + 1)]
    routes: dict[Pair, list[Spot]] = {}
    above: dict[Spot, list[Spot]] = {}
    below: dict[Spot, list[Spot]] = {}
    for start, end in pairs:
        high, low = sorted((start, end), key=rank.__getitem__)
        bends = [Bend(start, end, layer) for layer in range(rank[high] + 1, rank[low])]
        down: list[Spot] = [high, *bends, low]
        routes[start, end] = down if high == start else down[::-1]
        for bend in bends:
            rows[bend.layer].append(bend)
        for upper, lower in pairwise(down):
            below.setdefault(upper, []).append(lower)
            above.setdefault(lower, []).append(upper)
    for box in boxes:
        rows[rank[box]].append(box)
    met = _met(boxes, rank, below)
    ordered = _ordered([sorted(row, key=met.__getitem__) for row in rows], above, below)
    return Layers(ordered, above, below, routes)


def _without_circles(boxes: Sequence[int], pairs: Sequence[Pair]) -> list[Pair]:
    """The arrows with those turned around that lead back to a box on the way to themselves."""
    targets: dict[int, list[int]] = {box: [] for box in boxes}
    for start, end in pairs:
        targets[start].append(end)
    state = dict.fromkeys(boxes, 0)  # 1 on the way, 2 done
    kept: list[Pair] = []
    for first in boxes:
        if state[first]:
            continue
        state[first] = 1
        way = [(first, iter(targets[first]))]
        while way:
            box, rest = way[-1]
            following = next(rest, None)
            if following is None:
                state[box] = 2
                way.pop()
                continue
            kept.append((following, box) if state[following] == 1 else (box, following))
            if not state[following]:
                state[following] = 1
                way.append((following, iter(targets[following])))
    return kept


def _ranks(boxes: Sequence[int], pairs: Sequence[Pair]) -> dict[int, int]:
    """The layer of each box, below all that lead to it; one with more ways down than up is as low as possible."""
    targets: dict[int, list[int]] = {box: [] for box in boxes}
    sources: dict[int, int] = dict.fromkeys(boxes, 0)
    for start, end in pairs:
        targets[start].append(end)
        sources[end] += 1
    waiting = dict(sources)
    order = [box for box in boxes if not waiting[box]]
    rank = dict.fromkeys(boxes, 0)
    for box in order:  # It grows while it is read.
        for end in targets[box]:
            rank[end] = max(rank[end], rank[box] + 1)
            waiting[end] -= 1
            if not waiting[end]:
                order.append(end)
    for box in reversed(order):
        if len(targets[box]) > sources[box]:
            rank[box] = min(rank[end] for end in targets[box]) - 1
    highest = min(rank.values())
    return {box: layer - highest for box, layer in rank.items()}


def _met(boxes: Sequence[int], rank: Mapping[int, int], below: Mapping[Spot, Sequence[Spot]]) -> dict[Spot, int]:
    """When a walk down from the highest boxes meets each spot: what is connected starts side by side."""
    met: dict[Spot, int] = {}
    waiting: list[Spot] = [*sorted(boxes, key=rank.__getitem__, reverse=True)]
    while waiting:
        spot = waiting.pop()
        if spot not in met:
            met[spot] = len(met)
            waiting.extend(reversed(below.get(spot, ())))
    return met


def _ordered(
    rows: list[list[Spot]], above: Mapping[Spot, Sequence[Spot]], below: Mapping[Spot, Sequence[Spot]]
) -> list[list[Spot]]:
    """The rows in the order with the fewest crossings that sweeps down and up have found."""
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        neighbours = above if downwards else below
        numbers = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
        for number in numbers:
            fixed = _places(rows[number - 1 if downwards else number + 1])
            _sort_by_middle(rows[number], neighbours, fixed)
        for _ in range(_SWAPS):
            if not _swap(rows, above, below):
                break
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _places(row: Sequence[Spot]) -> dict[Spot, int]:
    return {spot: place for place, spot in enumerate(row)}


def _sort_by_middle(row: list[Spot], neighbours: Mapping[Spot, Sequence[Spot]], fixed: Mapping[Spot, int]) -> None:
    """Sort a row by the average place of the neighbours of each spot; a spot without neighbours stays."""
    middles = {
        spot: sum(fixed[each] for each in found) / len(found) for spot in row if (found := neighbours.get(spot, ()))
    }
    movable = iter(sorted((spot for spot in row if spot in middles), key=middles.__getitem__))
    row[:] = [next(movable) if spot in middles else spot for spot in row]


def _swap(
    rows: Sequence[list[Spot]], above: Mapping[Spot, Sequence[Spot]], below: Mapping[Spot, Sequence[Spot]]
) -> bool:
    """Exchange spots side by side where that spares crossings; whether it did anywhere."""
    better = False
    for number, row in enumerate(rows):
        sides = [
            (neighbours, _places(rows[other]))
            for neighbours, other in ((above, number - 1), (below, number + 1))
            if 0 <= other < len(rows)
        ]
        for index in range(len(row) - 1):
            left, right = row[index], row[index + 1]
            gain = sum(
                _crossed(neighbours.get(left, ()), neighbours.get(right, ()), places) for neighbours, places in sides
            )
            if gain > 0:
                row[index], row[index + 1] = right, left
                better = True
    return better


def _crossed(left: Sequence[Spot], right: Sequence[Spot], places: Mapping[Spot, int]) -> int:
    """The number of crossings saved if the two with these neighbours change places."""
    return sum((places[one] > places[other]) - (places[one] < places[other]) for one in left for other in right)


def _crossings(rows: Sequence[Sequence[Spot]], below: Mapping[Spot, Sequence[Spot]]) -> int:
    count = 0
    for row, following in pairwise(rows):
        places = _places(following)
        seen: list[int] = []
        for spot in row:
            ends = [places[each] for each in below.get(spot, ())]
            count += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return count


def parts(boxes: Sequence[int], arrows: Iterable[Pair]) -> list[list[int]]:
    """The boxes in groups that hang together, each group and each box in the given order."""
    leader: dict[Hashable, int] = {box: box for box in boxes}

    def found(box: int) -> int:
        while leader[box] != box:
            leader[box] = box = leader[leader[box]]
        return box

    for start, end in arrows:
        leader[found(start)] = found(end)
    groups: dict[int, list[int]] = {}
    for box in boxes:
        groups.setdefault(found(box), []).append(box)
    return list(groups.values())
