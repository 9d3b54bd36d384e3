"""The width of text in terminal columns, and text that is safe to print.

Source files may hold control characters, escape sequences and bidirectional overrides. None of them reaches the
terminal: each is shown as one visible replacement character.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate

from gradpath.support.fast_dataclasses import dataclass

TAB = 4
LONGEST = 160
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_REPLACEMENT = "\ufffd"


def safe_character(character: str) -> str:
    """`character`, or a visible replacement of the same length where a terminal would act on it."""
    if " " <= character <= "~":
        return character
    if character < " ":
        return chr(0x2400 + ord(character))
    if character == "\x7f":
        return "\u2421"
    if character in _BIDI or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
        return _REPLACEMENT
    return character


def safe_text(text: str) -> str:
    """Text for one line of output: line breaks and tabs become spaces, control characters become visible."""
    return "".join(" " if character in "\t\r\n" else safe_character(character) for character in text)


def safe_start(text: str) -> str:
    """The same for a path that begins a line: no log of a continuous integration should take it for a command.

    GitHub Actions carries out lines that begin with `::`, white space aside. `./` before it leaves the path what it is.
    """
    safe = safe_text(text)
    return f"./{safe}" if safe.lstrip().startswith("::") else safe


def wrapped(text: str, width: int | None, indent: str = "") -> list[str]:
    """A text as lines of at most `width` columns, broken at spaces; lines after the first begin with `indent`.

    A word that is too long for a line stays whole.
    """
    if width is None or len(text) <= width:
        return [text]
    start = len(text) - len(text.lstrip())
    lines = [text[:start]]
    for word in text.split():
        line = lines[-1]
        if not line.strip():
            lines[-1] = line + word
        elif len(line) + 1 + len(word) > width:
            lines.append(indent + word)
        else:
            lines[-1] = f"{line} {word}"
    return lines


def character_width(character: str) -> int:
    """The terminal columns of one printable character: 0 for combining marks and joiners, 2 for wide ones."""
    if character < "\u0300":
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@dataclass(frozen=True, slots=True)
class Row:
    """A line of source as it is printed; `columns[i]` is the terminal column, from 0, of its code point `i`."""

    pieces: tuple[str, ...]
    columns: tuple[int, ...]

    @property
    def width(self) -> int:
        """The terminal columns of the whole line."""
        return self.columns[-1]

    def column(self, code_point: int) -> int:
        """The terminal column of the code point `code_point`, from 0; clamped to the line's end."""
        return self.columns[min(max(code_point, 0), len(self.columns) - 1)]

    def window(self, code_point: int, longest: int = LONGEST) -> tuple[str, int]:
        """The printed text, cut to `longest` columns around a code point, and the columns by which it moved left."""
        if self.width <= longest:
            return "".join(self.pieces).rstrip(), 0
        start = max(self.column(code_point) - longest // 3, 0)
        chosen = [
            index
            for index, column in enumerate(self.columns[:-1])
            if column >= start and self.columns[index + 1] <= start + longest - 2
        ]
        if not chosen:
            return "", start
        first, last = chosen[0], chosen[-1]
        text = "".join(self.pieces[first : last + 1])
        before = "…" if first > 0 else ""
        after = "…" if last < len(self.pieces) - 1 else ""
        return before + text + after, self.columns[first] - len(before)


def row_of(line: str) -> Row:
    """Lay out a line of source: tabs go to the next multiple of four columns."""
    pieces: list[str] = []
    widths: list[int] = []
    column = 0
    for character in line:
        if character == "\t":
            piece = " " * (TAB - column % TAB)
            width = len(piece)
        else:
            piece = safe_character(character)
            width = character_width(piece)
        pieces.append(piece)
        widths.append(width)
        column += width
    return Row(tuple(pieces), tuple(accumulate(widths, initial=0)))
