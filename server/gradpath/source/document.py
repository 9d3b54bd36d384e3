"""A source text with its path, and every conversion between offsets, positions and `ast` locations."""

from __future__ import annotations

import ast
import codecs
import io
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from gradpath.diagnostic import Position, Range
from gradpath.source.positions import column_at_byte, line_end, line_starts, utf8_columns
from gradpath.support.reading import SOURCE, read_bytes


class UnreadableSource(ValueError):
    """A file that cannot be read as Python text; `reason` is one line without the path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Document:
    """An immutable text and the path it is shown under.

    Lines and columns count from 1, columns count code points. The text keeps its own newlines.
    """

    __slots__ = ("_ascii", "_byte_offsets", "_starts", "path", "text")

    path: str
    text: str

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._starts = line_starts(text)
        self._ascii = text.isascii()
        self._byte_offsets: dict[int, list[int]] = {}

    def __repr__(self) -> str:
        return f"Document({self.path!r}, {self.line_count} lines)"

    @property
    def line_count(self) -> int:
        """The number of lines; a text that ends in a newline has an empty last line."""
        return len(self._starts)

    def line(self, number: int) -> str:
        """Line `number` (from 1) without its line ending; empty where there is no such line."""
        if not 1 <= number <= len(self._starts):
            return ""
        start, end = self._bounds(number)
        return self.text[start:end]

    def from_ast(self, lineno: int, utf8_column: int) -> Position:
        """The position of an `ast` location: `lineno` from 1, `utf8_column` in UTF-8 bytes from 0."""
        if self._ascii:
            return Position(lineno, utf8_column + 1)
        offsets = self._byte_offsets.get(lineno)
        if offsets is None:
            line = self.line(lineno)
            offsets = [] if line.isascii() else utf8_columns(line)
            self._byte_offsets[lineno] = offsets
        if not offsets:
            return Position(lineno, utf8_column + 1)
        return Position(lineno, column_at_byte(offsets, utf8_column) + 1)

    def range_of(self, node: ast.AST) -> Range:
        """The range of a node that carries a location; the whole text for one that does not, such as a module."""
        lineno = getattr(node, "lineno", None)
        if lineno is None:
            return Range(Position(1, 1), self.position(len(self.text)))
        column = getattr(node, "col_offset", 0)
        start = self.from_ast(lineno, column)
        end_lineno = getattr(node, "end_lineno", None)
        if end_lineno is None:
            return Range(start, start)
        return Range(start, self.from_ast(end_lineno, getattr(node, "end_col_offset", None) or 0))

    def offset(self, position: Position) -> int:
        """The index into `text` of a position, clamped to its line and to the text."""
        if position.line < 1:
            return 0
        if position.line > len(self._starts):
            return len(self.text)
        start, end = self._bounds(position.line)
        return min(start + max(position.column - 1, 0), end)

    def position(self, offset: int) -> Position:
        """The position of an index into `text`, clamped; inside a line ending it is the end of that line."""
        offset = min(max(offset, 0), len(self.text))
        number = self.line_at(offset)
        start, end = self._bounds(number)
        return Position(number, min(offset, end) - start + 1)

    def range_between(self, start: int, end: int) -> Range:
        """The range between two indices into `text`."""
        return Range(self.position(start), self.position(end))

    def slice(self, range: Range) -> str:
        return self.text[self.offset(range.start) : self.offset(range.end)]

    @property
    def line_starts(self) -> Sequence[int]:
        """The offset at which each line begins; line 1 has index 0."""
        return self._starts

    def line_at(self, offset: int) -> int:
        """The number of the line that holds an index into `text`."""
        return bisect_right(self._starts, offset)

    def offset_of_line(self, number: int) -> int:
        """The offset at which a line begins; the end of the text for a line after the last."""
        return self._starts[number - 1] if number <= len(self._starts) else len(self.text)

    def _bounds(self, number: int) -> tuple[int, int]:
        start = self._starts[number - 1]
        if number < len(self._starts):
            return start, line_end(self.text, start, self._starts[number])
        return start, len(self.text)


def read_document(path: Path, shown_as: str | None = None, *, pipes: bool = False) -> Document:
    """Read and decode a file; raises `UnreadableSource` with a reason of one line. `pipes` as in `read_bytes`."""
    shown = shown_as if shown_as is not None else str(path)
    try:
        data = read_bytes(path, SOURCE, pipes=pipes)
    except OSError as error:
        raise UnreadableSource(shown, error.strerror or str(error)) from error
    try:
        return Document(shown, decode_source(data))
    except ValueError as error:
        raise UnreadableSource(shown, str(error)) from error


def decode_source(data: bytes) -> str:
    """Decode Python source as Python does: byte order mark, coding cookie, else UTF-8.

    The mark is dropped and newlines stay as they are. Raises `ValueError` with one line for what is not Python text.
    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise ValueError("UTF-32 text, which Python does not read")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("UTF-16 text, which Python does not read")
    if b"\0" in data:
        raise ValueError("not Python source: it contains NUL bytes")
    try:
        encoding = _encoding_of(data)
    except (SyntaxError, LookupError) as error:
        raise ValueError(" ".join(str(error.args[0]).split())) from error
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    try:
        return data.decode(encoding)
    except LookupError as error:
        raise ValueError(f"unknown encoding: {encoding}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"not {encoding} text: byte 0x{data[error.start]:02x} in line {line}") from error


def _encoding_of(data: bytes) -> str:
    """The encoding of a source; raises SyntaxError, or LookupError since Python 3.14, where it cannot be."""
    if not data.startswith(codecs.BOM_UTF8) and not any(b"coding" in line for line in data.split(b"\n", 2)[:2]):
        return "utf-8"
    import tokenize  # Imported here because few sources say anything.

    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
