"""Strings that lost a quote: each swallows code up to the next string, and turns that one's text into code.

From there on all strings and code may be exchanged. So where a statement holds a string over several lines with what
looks like a definition in it, and does not parse or is soon followed by something that does not, it is tried whether
less is broken if the string ends before the definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradpath.source.grammar import Unparsable, parse_text
from gradpath.source.logical import Lines, LogicalLine, logical_lines, torn_before, width
from gradpath.source.repair import header_trial, is_header
from gradpath.support.lazy_regex import regex

_DEFINITION = regex(r"\n([ \t]*)(?:@[\w.]+|(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:])")
_MOST_ENDED = 8
_MOST_TRIED = 16
_LINES_COMPARED = 200
_FOLLOWING = 4


def end_swallowing_strings(lines: Lines, found: Sequence[LogicalLine]) -> list[LogicalLine]:
    """The logical lines, but with an end for each string that seems to have lost its own."""
    found = list(found)
    ended = tried = 0
    index = -1
    while index + 1 < len(found) and ended < _MOST_ENDED and tried < _MOST_TRIED:
        index += 1
        definition = _swallowed_definition(lines, found[index])
        if definition is None:
            continue
        following = range(index + 1, min(index + 1 + _FOLLOWING, len(found)))
        broken = [number for number in following if not _reads(lines, found[number])]
        itself = not _reads(lines, found[index])
        if not broken and not itself:
            continue
        tried += 1
        until = min(found[index].last + _LINES_COMPARED, lines.count)
        as_it_is = _broken(lines, found[index + 1 :], until)
        ended_here = _broken(lines, logical_lines(lines, definition, until), until)
        # The next statement may have lost the quote instead: then less is broken if that one's string is ended.
        ended_later = min((_broken_if_ended(lines, found, index, number, until) for number in broken), default=as_it_is)
        if ended_here <= ended_later and (ended_here < as_it_is or (itself and ended_here == as_it_is)):
            ended += 1
            torn = torn_before(lines, found[index], lines.start_of(definition))
            found[index:] = [torn, *logical_lines(lines, definition)]
    return found


def _broken_if_ended(lines: Lines, found: Sequence[LogicalLine], index: int, number: int, until: int) -> int:
    """The number of broken lines after the statement `index` if the string of the statement `number` is ended."""
    definition = _swallowed_definition(lines, found[number])
    before = _broken(lines, found[index + 1 : number], until)
    if definition is None or definition > until:
        return before + _broken(lines, found[number:], until)
    return before + 1 + _broken(lines, logical_lines(lines, definition, until), until)


def _swallowed_definition(lines: Lines, line: LogicalLine) -> int | None:
    """The line of the first definition within a statement that is indented no further than the statement itself."""
    if line.last == line.first:
        return None
    start, end = lines.start_of(line.first), lines.start_of(line.last + 1)
    for match in _DEFINITION.finditer(lines.text, start, end):
        if width(match[1]) <= line.indent:
            return lines.number_at(match.start() + 1)
    return None


def _reads(lines: Lines, line: LogicalLine) -> bool:
    """True if a logical line parses by itself."""
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
    """The number of lines, up to the line `until`, of logical lines that do not parse."""
    broken = 0
    for line in found:
        if line.first > until:
            break
        if not _reads(lines, line):
            broken += min(line.last, until) - line.first + 1
    return broken
