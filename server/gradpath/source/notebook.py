"""Notebook files: what their code cells hold, read as leniently as people write them.

Formats 2, 3 and 4 are read, with sources as lists or strings. What is no notebook at all is refused in one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gradpath.source.cells import Cell, CellsDocument
from gradpath.source.document import Document, UnreadableSource, read_document
from gradpath.support.reading import NOTEBOOK, SOURCE, read_bytes

SUFFIX = ".ipynb"

_PYTHON = frozenset(
    {"", "python", "python2", "python3", "ipython", "ipython2", "ipython3", "xpython", "sage", "pyolite"}
)


def source_bytes(path: str) -> bytes:
    """The bytes of a file of either kind; raises OSError as `read_bytes` does."""
    return read_bytes(path, NOTEBOOK if path.endswith(SUFFIX) else SOURCE)


def read_source(path: Path, shown_as: str | None = None, *, pipes: bool = False) -> Document:
    """Read a file of either kind as `read_document` does."""
    read = read_notebook if path.suffix == SUFFIX else read_document
    return read(path, shown_as, pipes=pipes)


def read_notebook(path: Path, shown_as: str | None = None, *, pipes: bool = False) -> CellsDocument:
    """Read a notebook file as `read_document` does."""
    shown = shown_as if shown_as is not None else str(path)
    try:
        data = read_bytes(path, NOTEBOOK, pipes=pipes)
    except OSError as error:
        raise UnreadableSource(shown, error.strerror or str(error)) from error
    try:
        return notebook_of(shown, decode_notebook(data))
    except ValueError as error:
        raise UnreadableSource(shown, str(error)) from error


def decode_notebook(data: bytes) -> str:
    """The text of a notebook file, with its byte order mark if it has one; raises ValueError with one line."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: byte 0x{data[error.start]:02x} at {error.start}") from error


def notebook_of(path: str, text: str) -> CellsDocument:
    """The document of a notebook's JSON text; raises ValueError with one line if it is not a notebook.

    An empty file is a notebook without cells: editors open it as such.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return CellsDocument(path, ())
    try:
        # Lenient: a source with raw line breaks in its strings is still a source.
        data = json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a notebook: broken JSON in line {error.lineno}: {error.msg}") from error
    except RecursionError:
        raise ValueError("not a notebook: JSON nested too deeply") from None
    if not isinstance(data, Mapping):
        raise ValueError("not a notebook: its JSON is no object")
    cells = list(_cells(data))
    if not cells and not isinstance(data.get("cells"), list) and not isinstance(data.get("worksheets"), list):
        raise ValueError("not a notebook: it has no cells")
    python = _language(data) in _PYTHON
    code = (_code(number, cell) for number, cell in enumerate(cells, start=1) if python)
    return CellsDocument(path, (cell for cell in code if cell is not None))


def _cells(data: Mapping[str, Any]) -> Iterator[object]:
    """The cells of all kinds; those of format 3 are in worksheets."""
    worksheets = data.get("worksheets")
    sheets = worksheets if isinstance(worksheets, list) else []
    for holder in (data, *sheets):
        found = holder.get("cells") if isinstance(holder, Mapping) else None
        if isinstance(found, list):
            yield from found


def _code(number: int, cell: object) -> Cell | None:
    """A code cell in Python; None for any other."""
    if not isinstance(cell, Mapping) or cell.get("cell_type") != "code":
        return None
    metadata = cell.get("metadata")
    vscode = metadata.get("vscode") if isinstance(metadata, Mapping) else None
    language = vscode.get("languageId") if isinstance(vscode, Mapping) else cell.get("language")
    if isinstance(language, str) and language.lower() not in _PYTHON:
        return None
    source = next((cell[key] for key in SOURCE_KEYS if key in cell), None)
    count = next((cell[key] for key in ("execution_count", "prompt_number") if key in cell), None)
    execution = count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None
    return Cell(number, text_of(source), execution)


SOURCE_KEYS = ("source", "input", "code")
"""Where a code cell has its text: in format 4, in format 3, in format 1."""


def text_of(source: object) -> str:
    """The text of a source, which is a string or a list of strings; empty for anything else."""
    if isinstance(source, str):
        return source
    return "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else ""


def _language(data: Mapping[str, Any]) -> str:
    """The language that the notebook says it is in; empty where it says none."""
    metadata = data.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    for holder, key in (("kernelspec", "language"), ("language_info", "name")):
        inner = metadata.get(holder)
        language = inner.get(key) if isinstance(inner, Mapping) else None
        if isinstance(language, str) and language:
            return language.lower()
    return ""
