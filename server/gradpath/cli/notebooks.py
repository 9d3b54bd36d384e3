"""Notebooks between their cells and their files, which hold JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gradpath.diagnostic import Diagnostic, Range
from gradpath.source.cells import CellsDocument, in_cells
from gradpath.source.document import Document
from gradpath.source.notebook import decode_notebook, source_bytes
from gradpath.source.notebook_text import place_in_file, sources_of, with_sources
from gradpath.support.fast_dataclasses import replace


def with_cells_of(text: str, before: CellsDocument, after: CellsDocument) -> str:
    """The text of a notebook's file with the cells that differ in `after`."""
    pairs = zip(before.cells, after.cells, strict=True)
    return with_sources(text, {new.number: new.text for old, new in pairs if new.text != old.text})


def in_files(diagnostic: Diagnostic, notebooks: Mapping[str, CellsDocument]) -> Diagnostic:
    """A diagnostic whose places are those of the files on disk, for readers that know nothing of cells.

    Its words are those for cells, and its headline begins with the cell. Edits of a notebook are left out.
    """
    told = in_cells(diagnostic, notebooks)

    def place(path: str, cell: int | None, range: Range) -> Range:
        source = notebooks[path].source(cell) if cell is not None else None
        return range if cell is None or source is None else _file(path).place(cell, source, range)

    fixes = (fix for fix in told.fixes if all(edit.cell is None for edit in fix.edits))
    return replace(
        told,
        range=place(told.path, told.cell, told.range),
        labels=tuple(replace(each, range=place(each.path, each.cell, each.range)) for each in told.labels),
        message=told.message if told.cell is None else f"cell {told.cell}: {told.message}",
        fixes=tuple(fixes),
    )


@cache
def _file(path: str) -> _File:
    return _File(path)


class _File:
    """The text of a notebook's file, read where it is needed."""

    def __init__(self, path: str) -> None:
        try:
            self._document = Document(path, decode_notebook(source_bytes(path)))
            self._sources = sources_of(self._document.text)
        except (OSError, ValueError):
            self._sources = {}  # It came from standard input, or has gone: the lines are those of the cell.

    def place(self, cell: int, source: Document, range: Range) -> Range:
        raw = self._sources.get(cell)
        return range if raw is None else place_in_file(self._document, raw, source, range)
