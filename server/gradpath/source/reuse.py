"""The unchanged parts of an edited text: the lines around the edit, and their statements in the last good tree."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradpath.source.logical import Lines
from gradpath.source.nodes import statements
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The statements before and after an edit, and the lines of the new text from `first` to `last` between them.

    The statements `after` have the locations of the old text: `moved` lines further up or down than in the new one.
    `starts` are the lines of the new text between `first` and `last` where a statement is known to begin.
    """

    before: Sequence[ast.stmt]
    after: Sequence[ast.stmt]
    first: int
    last: int
    moved: int
    starts: Sequence[int]


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    return min((statement.lineno, *(decorator.lineno for decorator in decorators)))


def last_line(statement: ast.stmt) -> int:
    """The line on which a statement ends."""
    return statement.end_lineno or statement.lineno


def unchanged(old: Lines, body: Sequence[ast.stmt], new: Lines, more_before: int = 0, more_after: int = 0) -> Unchanged:
    """Compare two texts, `body` being the old one's statements.

    `more_before` and `more_after` are numbers of statements next to the edit that are not taken as unchanged.
    """
    head = common_prefix(old.text, new.text)
    tail = common_suffix(old.text, new.text, min(len(old.text), len(new.text)) - head)
    same_above = new.number_at(head) - 1
    same_below = new.text.count("\n", len(new.text) - tail)
    moved = new.count - old.count
    low = 0
    while low < len(body) and last_line(body[low]) <= same_above:
        low += 1
    high = len(body)
    while high > low and first_line(body[high - 1]) > old.count - same_below:
        high -= 1
    low, high = max(0, low - more_before), min(len(body), high + more_after)
    # Statements on one line, between semicolons, stay together.
    while 0 < low < len(body) and first_line(body[low]) <= last_line(body[low - 1]):
        low -= 1
    while 0 < high < len(body) and first_line(body[high]) <= last_line(body[high - 1]):
        high += 1
    starts = set()
    for statement in statements(body[low:high]):
        line = first_line(statement)
        if not old.text[(start := old.start_of(line)) : start + statement.col_offset].strip():
            if line <= same_above:
                starts.add(line)
            elif line > old.count - same_below:
                starts.add(line + moved)
    return Unchanged(
        before=body[:low],
        after=body[high:],
        first=last_line(body[low - 1]) + 1 if low else 1,
        last=first_line(body[high]) - 1 + moved if high < len(body) else new.count,
        moved=moved,
        starts=sorted(starts),
    )


def common_prefix(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(one: str, other: str, most: int) -> int:
    """The length of the common suffix of two texts, at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
