"""How far paths get, before a fix and after it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from gradpath.analysis.incremental import Ending
from gradpath.analysis.path_regression import loses
from gradpath.fixes.lessons import taught
from gradpath.interpreter.trace import Trace

TAUGHT = taught(Trace(ast.Module([], [])))


def failing(line: int, reached: Mapping[int, int], *decided: bool) -> dict[str, tuple[Ending, ...]]:
    """The endings of a module of which one path fails on a line; `decided` is the way of a branch on line 2."""
    ways = tuple((2, each) for each in decided)
    return {"": (Ending((("a.py", "TWICE", line),), 1, 1, False, ways, reached, TAUGHT),)}


@pytest.mark.parametrize(
    ("line", "after", "is_less"),
    [
        (9, {1: 1, 2: 1, 3: 1, 8: 1, 9: 1}, False),
        (8, {1: 1, 2: 1, 3: 1, 8: 1}, True),
        (4, {1: 1, 2: 2, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1}, True),  # Run again, the function takes its other branch.
    ],
)
def test_a_path_gets_less_far_where_it_misses_a_line_that_it_came_to(
    line: int, after: Mapping[int, int], is_less: bool
) -> None:
    before = failing(9, {1: 1, 2: 1, 3: 1, 8: 1, 9: 1}, True)
    kept = {each: each for each in range(1, 10)}
    assert loses(before, failing(line, after, True), kept, lambda _old, _new: False) is is_less
