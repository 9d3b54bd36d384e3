"""The cells of an open notebook as the client has them, and its changes applied to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.lsp.convert import Encoding
from gradpath.lsp.text import apply_changes, split_lines
from gradpath.support.fast_dataclasses import dataclass, field

if TYPE_CHECKING:
    from gradpath.source.cells import Cell


@dataclass(slots=True, eq=False)
class OpenCell:
    """A cell of any kind; each is a text document of its own to the client."""

    uri: str
    is_code: bool
    execution: int | None
    language: str = ""
    version: int = 0
    lines: list[str] = field(default_factory=lambda: [""])
    told: tuple[int, list[types.Diagnostic]] | None = None
    """The version that diagnostics were last published for, and these."""

    @property
    def is_python(self) -> bool:
        """True if the cell is checked."""
        return self.is_code and self.language == "python"


def cells_of(cells: Sequence[types.NotebookCell], texts: Sequence[types.TextDocumentItem]) -> list[OpenCell]:
    """The cells of a notebook that is opened."""
    opened = [_cell(cell) for cell in cells]
    _fill(opened, texts)
    return opened


def changed_cells(
    cells: list[OpenCell], change: types.NotebookDocumentCellChanges, encoding: Encoding
) -> list[OpenCell]:
    """The cells after a change of their order, then of their metadata, then of their texts."""
    if change.structure is not None:
        known = {cell.uri: cell for cell in cells}
        array = change.structure.array
        start = min(max(array.start, 0), len(cells))
        new = [_cell(cell, known.get(cell.document)) for cell in array.cells or ()]
        cells = [*cells[:start], *new, *cells[start + array.delete_count :]]
        _fill(cells, change.structure.did_open or ())
    by_uri = {cell.uri: cell for cell in cells}
    for data in change.data or ():
        if data.document in by_uri:
            _cell(data, by_uri[data.document])
    for edit in change.text_content or ():
        cell = by_uri.get(edit.document.uri)
        if cell is not None:
            cell.lines = apply_changes(cell.lines, edit.changes, encoding)
            cell.version = edit.document.version
    return cells


def checked(cells: Sequence[OpenCell]) -> Iterator[Cell]:
    """The Python cells as the analysis takes them, numbered among all."""
    from gradpath.source.cells import Cell

    for number, cell in enumerate(cells, start=1):
        if cell.is_python:
            yield Cell(number, "".join(cell.lines), cell.execution)


def _cell(cell: types.NotebookCell, known: OpenCell | None = None) -> OpenCell:
    """The metadata of a cell; its known text stays."""
    is_code = cell.kind == types.NotebookCellKind.Code
    summary = cell.execution_summary
    execution = summary.execution_order if summary is not None else None
    if known is None:
        return OpenCell(cell.document, is_code, execution)
    known.is_code, known.execution = is_code, execution
    return known


def _fill(cells: Sequence[OpenCell], texts: Sequence[types.TextDocumentItem]) -> None:
    by_uri = {cell.uri: cell for cell in cells}
    for text in texts:
        cell = by_uri.get(text.uri)
        if cell is not None:
            cell.language, cell.version, cell.lines = text.language_id, text.version, split_lines(text.text)
