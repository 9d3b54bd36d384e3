"""Where the boxes of a picture stand: in layers, apart from each other, with arrows that go around them."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from gradpath.features.graph import Arrow, Kind, Picture, Vertex
from gradpath.features.graph.layout import Layout, Point, Size, lay_out

Pairs = list[tuple[int, int]]


def laid_out(count: int, pairs: Pairs, sizes: dict[int, Size] | None = None) -> Layout:
    vertices = tuple(Vertex(number, Kind.OPERATION, str(number)) for number in range(count))
    picture = Picture("", vertices, tuple(Arrow(start, end) for start, end in pairs))
    return lay_out(picture, sizes or dict.fromkeys(range(count), (60.0, 30.0)))


def random_graph(seed: int) -> tuple[int, Pairs, dict[int, Size]]:
    """As those behind losses: most values are made of the one before, some of others, and the ends are parameters."""
    rng = random.Random(seed)
    count = rng.randrange(2, 40)
    pairs = [(rng.randrange(max(0, end - 3), end), end) for end in range(1, count) if rng.random() < 0.95]
    pairs += [tuple(sorted(rng.sample(range(count), 2))) for _ in range(rng.randrange(count // 3 + 1))]
    sizes = {number: (rng.uniform(30, 300), rng.uniform(20, 120)) for number in range(count)}
    return count, pairs, sizes


@pytest.mark.parametrize("seed", range(60))
def test_no_box_touches_another_and_no_arrow_goes_through_a_box(seed: int) -> None:
    count, pairs, sizes = random_graph(seed)
    layout = laid_out(count, pairs, sizes)
    boxes = {number: (*layout.centres[number], *sizes[number]) for number in range(count)}
    for one, (x, y, width, height) in boxes.items():
        assert width / 2 <= x <= layout.width - width / 2
        assert height / 2 <= y <= layout.height - height / 2
        for other, (other_x, other_y, other_width, other_height) in boxes.items():
            if one < other:
                across, down = abs(x - other_x), abs(y - other_y)
                assert across > (width + other_width) / 2 or down > (height + other_height) / 2
    for (start, end), route in layout.routes.items():
        assert all(before[1] <= after[1] for before, after in pairwise(route))
        for number, (x, y, width, height) in boxes.items():
            if number not in (start, end):
                for before, after in pairwise(route):
                    assert not enters(before, after, (x, y, width, height)), (start, end, number)


def enters(before: Point, after: Point, box: tuple[float, float, float, float]) -> bool:
    """Whether a part of an arrow, which stays between its ends, may be inside a box."""
    x, y, width, height = box
    left, right = sorted((before[0], after[0]))
    above = after[1] <= y - height / 2 + 0.01 or before[1] >= y + height / 2 - 0.01
    return not above and right > x - width / 2 and left < x + width / 2


def test_an_arrow_starts_under_its_box_and_ends_on_top_of_the_other() -> None:
    layout = laid_out(3, [(0, 1), (1, 2), (0, 2)])
    for (start, end), route in layout.routes.items():
        assert route[0] == (layout.centres[start][0], layout.centres[start][1] + 15)
        assert route[-1] == (layout.centres[end][0], layout.centres[end][1] - 15)


def test_a_chain_stands_upright_with_its_parameters_at_its_side() -> None:
    chain = [(number, number + 1) for number in range(9)]
    layout = laid_out(20, [*chain, *((number, number + 10) for number in range(10))])
    middles = [layout.centres[number][0] for number in range(10)]
    assert max(middles) - min(middles) < 30
    assert all(layout.centres[number + 10][1] > layout.centres[number][1] for number in range(10))


def test_arrows_that_need_not_cross_do_not() -> None:
    # A tree whose children are given in an order in which they would cross.
    layout = laid_out(7, [(0, 2), (0, 1), (1, 6), (2, 3), (1, 5), (2, 4)])
    first, second = (layout.centres[number][0] for number in (1, 2))
    under_first = [layout.centres[number][0] for number in (5, 6)]
    under_second = [layout.centres[number][0] for number in (3, 4)]
    assert (max(under_first) < min(under_second)) == (first < second)
    assert max(under_first) < min(under_second) or max(under_second) < min(under_first)


def test_parts_that_do_not_hang_together_stand_side_by_side() -> None:
    layout = laid_out(4, [(0, 1), (2, 3)])
    assert layout.centres[0][1] == layout.centres[2][1]
    assert layout.centres[2][0] - layout.centres[0][0] >= 60


@pytest.mark.parametrize(
    "pairs", [[(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 0)], [(0, 1), (0, 1)], [(0, 0), (0, 1), (1, 2)]]
)
def test_circles_and_arrows_that_come_twice_are_drawn(pairs: Pairs) -> None:
    layout = laid_out(3, pairs)
    assert len({layout.centres[number] for number in range(3)}) == 3
    assert {pair for pair in pairs if pair[0] != pair[1]} <= set(layout.routes)


def test_the_same_graph_is_laid_out_the_same_way() -> None:
    assert laid_out(*random_graph(7)) == laid_out(*random_graph(7))
