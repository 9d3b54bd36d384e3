"""The text of an open document as a list of lines, and the client's edits applied to it."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from gradpath.lsp.convert import Encoding, from_range
from gradpath.support.lazy_regex import regex

_LINE = regex(r"[^\r\n]*(?:\r\n?|\n|\Z)")


def split_lines(text: str) -> list[str]:
    """The lines of a text with their endings; the last one has none, and may be empty."""
    lines = _LINE.findall(text)
    if len(lines) > 1 and not lines[-2].endswith(("\r", "\n")):
        lines.pop()  # `\Z` has matched twice: after the last line, and once more with nothing before it.
    return lines


def apply_changes(
    lines: list[str], changes: Sequence[types.TextDocumentContentChangeEvent], encoding: Encoding
) -> list[str]:
    """The lines after the changes of one `didChange`, each of which refers to the text that its forerunners left."""
    for change in changes:
        match change:
            case types.TextDocumentContentChangePartial():
                lines = _spliced(lines, change, encoding)
            case _:
                lines = split_lines(change.text)
    return lines


def _spliced(lines: list[str], change: types.TextDocumentContentChangePartial, encoding: Encoding) -> list[str]:
    place = from_range(change.range, lines, encoding)
    # A neighbouring line is split again as well, because an edit can join `\r` and `\n` or part them.
    first, last = max(place.start.line - 2, 0), min(place.end.line + 1, len(lines))
    head = "".join(lines[first : place.start.line - 1]) + lines[place.start.line - 1][: place.start.column - 1]
    tail = lines[place.end.line - 1][place.end.column - 1 :] + "".join(lines[place.end.line : last])
    middle = split_lines(head + change.text + tail)
    if last < len(lines) and not middle[-1]:
        middle.pop()  # The rest is no longer the end of the text, so no empty line precedes it.
    return [*lines[:first], *middle, *lines[last:]]
