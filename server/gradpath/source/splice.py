"""A new tree out of an old one: only the statements that an edit can have changed are parsed again."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Sequence

from gradpath.source.grammar import Unparsable, parse_text
from gradpath.source.reuse import common_prefix, common_suffix, first_line, last_line


def spliced(
    old: str, body: Sequence[ast.stmt], new: str, starts: Sequence[int]
) -> tuple[list[ast.stmt], int, int] | None:
    """The statements of `new`, given those of `old`, and which of them (from, to) are not shared with the old ones.

    Both texts are as `for_parser` gives them, and `starts` is where the lines of `new` begin. None where the statements
    between those that are shared cannot be parsed for themselves: the whole text then decides what is wrong, or what
    they belong to. Where lines have moved nothing after the edit is shared, because nodes have line numbers.
    """
    head = common_prefix(old, new)
    tail = common_suffix(old, new, min(len(old), len(new)) - head)
    low = _before(body, bisect_right(starts, head) - 1, new, starts)
    high = len(body)
    if old.count("\n", head, len(old) - tail) == new.count("\n", head, len(new) - tail):
        last_changed = bisect_right(starts, len(new) - tail)
        high = max(low, bisect_right(body, last_changed, key=first_line))
        # Statements on one line, between semicolons, stay together.
        while 0 < high < len(body) and first_line(body[high]) <= last_line(body[high - 1]):
            high += 1
    above = last_line(body[low - 1]) if low else 0
    start = starts[above] if above < len(starts) else len(new)
    end = starts[first_line(body[high]) - 1] if high < len(body) else len(new)
    try:
        # The empty lines keep the places right.
        between = parse_text("\n" * above + new[start:end])
    except Unparsable:
        return None
    return [*body[:low], *between.body, *body[high:]], low, low + len(between.body)


def _before(body: Sequence[ast.stmt], lines: int, text: str, starts: Sequence[int]) -> int:
    """The number of statements that end within the first so many lines of a text."""
    low = bisect_right(body, lines, key=last_line)
    while low:
        last = last_line(body[low - 1])
        goes_on = last < len(starts) and text.endswith("\\\n", 0, starts[last])
        if not goes_on and (low == len(body) or first_line(body[low]) > last):
            break
        low -= 1
    return low
