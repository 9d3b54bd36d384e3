"""The code cells of a notebook as one document, and every place in it as a place in a cell.

The cells are in document order, with an empty line between them, and share one state as they do in a kernel that runs
them from top to bottom.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from gradpath.diagnostic import Diagnostic, Edit, Fix, Gap, Label, Position, Range
from gradpath.source.document import Document, UnreadableSource, read_document
from gradpath.source.edits import apply_edits, difference
from gradpath.source.magics import UNKNOWN, python_of
from gradpath.source.positions import line_starts
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.lazy_regex import regex

_LINE_OF = regex(r"`[^`]*`|(?<!\.py, )\bline(\s+)(\d+)\b")
_LINE_SHOWN = 50
"""The most characters of a line that stand in a sentence."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its number among all cells of the notebook, from 1, its text, and when it was last run, if told."""

    number: int
    text: str
    execution: int | None = None


class CellsDocument(Document):
    """A notebook's code as one document; its text is Python, in which magics and commands are masked.

    `sources[i]` is the text of `cells[i]` as its reader sees it, and `first_lines[i]` the line at which it begins here.
    """

    __slots__ = ("_starts_of_cells", "cells", "first_lines", "sources")

    def __init__(self, path: str, cells: Iterable[Cell]) -> None:
        self.cells = tuple(cells)
        parts: list[str] = []
        first_lines: list[int] = []
        starts: list[int] = []
        line, offset = 1, 0
        for cell in self.cells:
            text = python_of(cell.text)
            text += "\n\n" if text and not text.endswith(("\n", "\r")) else "\n"
            first_lines.append(line)
            starts.append(offset)
            parts.append(text)
            line += len(line_starts(text)) - 1
            offset += len(text)
        super().__init__(path, "".join(parts))
        self.first_lines = tuple(first_lines)
        self.sources = tuple(Document(path, cell.text) for cell in self.cells)
        self._starts_of_cells = (*starts, offset)

    def source(self, number: int) -> Document | None:
        """The text of the cell of that number; None where it is no code cell."""
        return next((source for cell, source in self._pairs() if cell.number == number), None)

    def _pairs(self) -> Iterator[tuple[Cell, Document]]:
        return zip(self.cells, self.sources, strict=True)

    def edited(self, edits: Sequence[Edit]) -> CellsDocument | None:
        """The notebook after edits of the whole text; None where one of them cannot be made in any cell."""
        by_cell: dict[int, list[Edit]] = {}
        for edit in edits:
            found = self.edit_in_cell(edit)
            if found is None:
                return None
            by_cell.setdefault(found[0].number, []).append(found[1])
        cells = []
        for cell, source in self._pairs():
            text = apply_edits(source, by_cell.get(cell.number, ()))
            cells.append(cell if text == cell.text else replace(cell, text=text))
        return CellsDocument(self.path, cells)

    def index_at(self, line: int) -> int:
        """The index of the cell that holds a line of the whole; the empty line after a cell belongs to it."""
        return max(bisect_right(self.first_lines, line) - 1, 0)

    def bounds(self, index: int) -> tuple[int, int]:
        """The range of a cell in the whole text, with the line breaks that were added after it."""
        return self._starts_of_cells[index], self._starts_of_cells[index + 1]

    def in_cell(self, place: Range) -> tuple[Cell, Range]:
        """The cell that contains a place of the whole text, and the place in that cell."""
        index = self.index_at(place.start.line)
        return self.cells[index], Range(self._local(index, place.start), self._local(index, place.end))

    def in_whole(self, number: int, place: Range) -> Range | None:
        """The place in the whole text of a place in the cell with that number; None if there is no such cell."""
        for cell, first_line in zip(self.cells, self.first_lines, strict=True):
            if cell.number == number:
                start, end = place.start, place.end
                above = first_line - 1
                return Range(Position(start.line + above, start.column), Position(end.line + above, end.column))
        return None

    def _local(self, index: int, position: Position) -> Position:
        source = self.sources[index]
        line = position.line - self.first_lines[index] + 1
        return source.position(source.offset(Position(line, position.column)))

    def edit_in_cell(self, edit: Edit) -> tuple[Cell, Edit] | None:
        """An edit of the whole text as one of a cell; None where it would write what is masked.

        The line breaks after a cell, which only the whole text has, are left out of it.
        """
        start, end = self.offset(edit.range.start), self.offset(edit.range.end)
        index = self.index_at(edit.range.start.line)
        cell, source = self.cells[index], self.sources[index]
        first, end_of_cell = self.bounds(index)
        length, new = len(cell.text), edit.new_text
        start, end = start - first, end - first
        if end > end_of_cell - first or self.text[start + first : end + first] != (cell.text + "\n\n")[start:end]:
            return None
        if UNKNOWN in new:
            return None
        if start > length:
            start = end = length
            new = "\n" + new.removesuffix("\n")
        elif end > length:
            end = length
            if new.endswith("\n"):
                new = new[:-1]
            elif not new and start and cell.text[start - 1] == "\n":
                start -= 1
        return cell, Edit(edit.path, source.range_between(start, end), new)

    def bodies(self, tree: ast.Module) -> list[list[ast.stmt]]:
        """The statements of the tree by cell, in order; cells without any are left out."""
        found: dict[int, list[ast.stmt]] = {}
        for statement in tree.body:
            found.setdefault(self.index_at(statement.lineno), []).append(statement)
        return list(found.values())


def bodies(document: Document, tree: ast.Module) -> list[list[ast.stmt]]:
    """The bodies that run until a statement raises: the statements of each cell, or of the whole file."""
    return document.bodies(tree) if isinstance(document, CellsDocument) else [tree.body]


def with_text(document: Document, text: str) -> Document:
    """A document of the same kind, and with the same cells, that has another text."""
    if isinstance(document, CellsDocument):
        return document.edited(difference(document, text)) or Document(document.path, text)
    return Document(document.path, text)


def in_cells(diagnostic: Diagnostic, notebooks: Mapping[str, CellsDocument]) -> Diagnostic:
    """A diagnostic with its places, and the lines in its words, converted to those of cells if it is of a notebook.

    It says so if its story runs through cells that were last run in another order than that of the document.
    """
    if notebooks.keys().isdisjoint((diagnostic.path, *(label.path for label in diagnostic.labels))):
        return diagnostic
    home = notebooks.get(diagnostic.path)
    cell, place = (None, diagnostic.range) if home is None else home.in_cell(diagnostic.range)

    def told(text: str) -> str:
        return text if home is None or cell is None else lines_in_cells(text, home, cell)

    fixes = [_fix(fix, notebooks, told) for fix in diagnostic.fixes]
    return replace(
        diagnostic,
        range=place,
        cell=None if cell is None else cell.number,
        message=told(diagnostic.message) + _order(diagnostic, notebooks),
        labels=tuple(_label(label, notebooks, told) for label in diagnostic.labels),
        help=told(diagnostic.help),
        alternatives=tuple(map(told, diagnostic.alternatives)),
        fixes=tuple(fix for fix in fixes if fix is not None),
    )


def gaps_in_cells(gaps: Iterable[Gap], document: Document) -> tuple[Gap, ...]:
    """Gaps in a document, if it is a notebook in the cells that they lie in; one of the whole file stays as it is."""
    if not isinstance(document, CellsDocument):
        return tuple(gaps)
    return tuple(gap if gap.entry is None else _gap(gap, document) for gap in gaps)


def _gap(gap: Gap, notebook: CellsDocument) -> Gap:
    cell, place = notebook.in_cell(gap.range)
    return replace(gap, range=place, detail=lines_in_cells(gap.detail, notebook, cell), cell=cell.number)


def lines_in_cells(text: str, notebook: CellsDocument, cell: Cell | None = None) -> str:
    """A sentence for a reader of `cell`, with lines of the whole text converted to lines of cells."""

    def told(found: re.Match[str]) -> str:
        if found[2] is None:
            return found[0]
        place = Position(int(found[2]), 1)
        other, local = notebook.in_cell(Range(place, place))
        line = f"line{found[1]}{local.start.line}"
        return line if other is cell else f"{line} of cell {other.number}"

    return _LINE_OF.sub(told, text)


def lines_by_code(text: str, line_of: Callable[[int], str]) -> str:
    """A sentence with the code of lines in place of their numbers, for a reader who sees no numbers."""

    def told(found: re.Match[str]) -> str:
        code = "" if found[2] is None else line_of(int(found[2])).strip()
        if not code or "`" in code:
            return found[0]
        return f"the line{found[1]}`{code if len(code) <= _LINE_SHOWN else code[: _LINE_SHOWN - 1] + '…'}`"

    return _LINE_OF.sub(told, text)


def _label(label: Label, notebooks: Mapping[str, CellsDocument], told: Callable[[str], str]) -> Label:
    notebook = notebooks.get(label.path)
    if notebook is None:
        return replace(label, message=told(label.message))
    cell, place = notebook.in_cell(label.range)
    return replace(label, range=place, cell=cell.number, message=told(label.message))


def _fix(fix: Fix, notebooks: Mapping[str, CellsDocument], told: Callable[[str], str]) -> Fix | None:
    """A fix in terms of cells; None where one of its edits cannot be made in any cell."""
    edits = edits_in_cells(fix.edits, notebooks)
    return None if edits is None else replace(fix, title=told(fix.title), edits=edits)


def texts_of(documents: Mapping[str, Document]) -> Callable[[str, int | None], Document | None]:
    """A function from a path, and the number of a cell in it, to the text that was read there, or is there now."""

    @cache
    def text_at(path: str, cell: int | None) -> Document | None:
        known = documents.get(path)
        if cell is not None and isinstance(known, CellsDocument):
            return known.source(cell)
        try:
            return read_document(Path(path), path) if known is None else known
        except UnreadableSource:
            return None  # A label is then shown without its source.

    return text_at


def edits_in_cells(edits: Sequence[Edit], notebooks: Mapping[str, CellsDocument]) -> tuple[Edit, ...] | None:
    """Edits in terms of cells; None where one of them cannot be made in any cell."""
    made: list[Edit] = []
    for edit in edits:
        notebook = notebooks.get(edit.path)
        if notebook is None:
            made.append(edit)
            continue
        found = notebook.edit_in_cell(edit)
        if found is None:
            return None
        made.append(replace(found[1], cell=found[0].number))
    return tuple(made)


def _order(diagnostic: Diagnostic, notebooks: Mapping[str, CellsDocument]) -> str:
    """A remark if cells of the story were last run in another order than that of the document."""
    for path, notebook in notebooks.items():
        places = [diagnostic.range] if diagnostic.path == path else []
        places += [label.range for label in diagnostic.labels if label.path == path]
        indices = sorted({notebook.index_at(place.start.line) for place in places})
        run = [notebook.cells[index] for index in indices if notebook.cells[index].execution is not None]
        for before, after in pairwise(run):
            if (before.execution or 0) > (after.execution or 0):
                return f" (cell {before.number} was last run after cell {after.number})"
    return ""
