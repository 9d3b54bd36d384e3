"""Strings that lost a quote: each swallows code up to the next string, and turns that one's text into code.

From there on all strings and code may be exchanged. So where a statement holds a string over several lines with what
looks like a definition in it, and does not parse or is followed by something that does not, it is tried whether less is
broken if the string ends before the definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gradpath.source.grammar import Unparsable, parse_text
from gradpath.source.logical import Lines, LogicalLine, logical_lines, torn_before, width
from gradpath.source.repair import header_trial, is_header

_DEFINITION = re.compile(r"\n([ \t]*)(?:@[\w.]+|(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:])")
_MOST_ENDED = 8
_MOST_TRIED = 16
_LINES_COMPARED = 200


def end_swallowing_strings(lines: Lines, found: Sequence[LogicalLine]) -> list[LogicalLine]:
    """The logical lines, but with an end for each string that seems to have lost its own."""
    found = list(found)
    ended = tried = index = 0
    while index < len(found) and ended < _MOST_ENDED and tried < _MOST_TRIED:
        line = found[index]
        definition = _swallowed_definition(lines, line) if line.last > line.first else None
        index += 1
        if definition is None:
            continue
        itself = _reads(lines, line)
        if itself and (index == len(found) or _reads(lines, found[index])):
            continue
        tried += 1
        instead = logical_lines(lines, definition)
        until = line.last + _LINES_COMPARED
        as_it_is, otherwise = _broken(lines, found[index:], until), _broken(lines, instead, until)
        if otherwise < as_it_is or (otherwise == as_it_is and not itself):
            ended += 1
            found[index - 1 :] = [torn_before(lines, line, lines.start_of(definition)), *instead]
    return found


def _swallowed_definition(lines: Lines, line: LogicalLine) -> int | None:
    """The line of the first definition within a statement that stands no further in than the statement itself."""
    start, end = lines.start_of(line.first), lines.start_of(line.last + 1)
    for match in _DEFINITION.finditer(lines.text, start, end):
        if width(match[1]) <= line.indent:
            return lines.number_at(match.start() + 1)
    return None


def _reads(lines: Lines, line: LogicalLine) -> bool:
    """Whether a logical line parses by itself."""
    if line.torn:
        return False
    code = lines.text[lines.start_of(line.first) : lines.start_of(line.last) + line.code_end]
    if is_header(line, code):
        code = header_trial(line, code)
    elif line.indent:
        code = f"if 1:\n{code}"
    try:
        parse_text(code)
    except Unparsable:
        return False
    return True


def _broken(lines: Lines, found: Iterable[LogicalLine], until: int) -> int:
    """How many lines, up to the line `until`, belong to logical lines that do not parse."""
    broken = 0
    for line in found:
        if line.first > until:
            break
        if not _reads(lines, line):
            broken += min(line.last, until) - line.first + 1
    return broken
