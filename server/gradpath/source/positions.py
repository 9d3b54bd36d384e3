r"""Lines as editors and Python's parser count them, and columns in code points.

Only `\n`, `\r\n` and a lone `\r` end a line. `str.splitlines` also splits on form feeds, U+2028 and others, which
neither the Language Server Protocol nor Python's tokenizer does.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, count
from operator import add

from gradpath.support.lazy_regex import regex

_LINE_END = regex(r"\r\n?|\n")


def line_starts(text: str) -> list[int]:
    """The offset at which each line of `text` begins; there is always at least one line."""
    if "\r" not in text:
        lengths = map(len, text.split("\n")[:-1])
        return list(map(add, accumulate(lengths, initial=0), count()))  # Each line has an end besides.
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def split_lines(text: str) -> list[str]:
    """The lines of `text` without their endings."""
    return _LINE_END.split(text)


def line_end(text: str, start: int, next_start: int) -> int:
    """The offset after the last code point of the line `start:next_start`, before its line ending if it has one."""
    end = next_start
    if end > start and text[end - 1] == "\n":
        end -= 1
        if end > start and text[end - 1] == "\r":
            end -= 1
    elif end > start and text[end - 1] == "\r":
        end -= 1
    return end


def utf8_columns(line: str) -> list[int]:
    """The UTF-8 byte offset at which each code point of `line` begins, and the length in bytes as the last entry.

    A lone surrogate, which editors can send, counts three bytes, as under `surrogatepass`.
    """
    return [0, *accumulate(1 if c < "\x80" else 2 if c < "\u0800" else 3 if c < "\U00010000" else 4 for c in line)]


def column_at_byte(byte_offsets: list[int], utf8_column: int) -> int:
    """The 0-based code-point column for a UTF-8 byte column, clamped to the line; rounds down inside a character."""
    return min(max(bisect_right(byte_offsets, utf8_column) - 1, 0), len(byte_offsets) - 1)
