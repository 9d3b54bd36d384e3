"""Columns between the protocol and gradpath: the only code that knows UTF-8 and UTF-16 units.

A protocol position counts lines from 0 and columns from 0 in units of the negotiated encoding; gradpath counts both
from 1 and columns in code points. Lines end in LF, CR LF or CR, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types

from gradpath.diagnostic import Position, Range
from gradpath.support.fast_enums import Enum

LineOf = Callable[[int], str]
"""Gives a line by its 1-based number, with or without its line ending; empty where there is no such line."""


class Encoding(str, Enum):
    """The unit in which the client counts columns."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


def units(text: str, encoding: Encoding) -> int:
    """The length of a text in the client's units."""
    if encoding is Encoding.UTF32 or text.isascii():
        return len(text)
    if encoding is Encoding.UTF16:
        return len(text) + sum(character > "\uffff" for character in text)
    return len(text.encode("utf-8", "surrogatepass"))


def code_points(text: str, count: int, encoding: Encoding) -> int:
    """The number of code points in the first `count` units of a text.

    Clamped to the text; a place inside a character is moved to its start.
    """
    if encoding is Encoding.UTF32 or text.isascii():
        return min(max(count, 0), len(text))
    passed = 0
    for index, character in enumerate(text):
        passed += units(character, encoding)
        if passed > count:
            return index
    return len(text)


def without_ending(line: str) -> str:
    """A line without its line ending."""
    return line.removesuffix("\n").removesuffix("\r")


def to_position(position: Position, line_of: LineOf, encoding: Encoding) -> types.Position:
    """A position for the client; `line_of` gives the lines of its file."""
    line = without_ending(line_of(position.line))
    return types.Position(max(position.line - 1, 0), units(line[: max(position.column - 1, 0)], encoding))


def to_range(range: Range, line_of: LineOf, encoding: Encoding) -> types.Range:
    """A range for the client; `line_of` gives the lines of its file."""
    return types.Range(to_position(range.start, line_of, encoding), to_position(range.end, line_of, encoding))


def from_position(position: types.Position, lines: Sequence[str], encoding: Encoding) -> Position:
    """A position from the client, clamped to the text whose lines are given with their endings."""
    if position.line >= len(lines):
        return Position(len(lines), len(lines[-1]) + 1)
    line = without_ending(lines[position.line])
    return Position(position.line + 1, code_points(line, position.character, encoding) + 1)


def from_range(range: types.Range, lines: Sequence[str], encoding: Encoding) -> Range:
    """A range from the client, clamped to the text; one that is back to front is turned round."""
    start, end = from_position(range.start, lines, encoding), from_position(range.end, lines, encoding)
    return Range(min(start, end), max(start, end))
