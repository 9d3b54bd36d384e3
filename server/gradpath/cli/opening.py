"""The one file, and the line in it, that a command is asked about."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gradpath.cli.status import UsageError
from gradpath.diagnostic import Gap, Position, Range

if TYPE_CHECKING:
    from gradpath.source.cells import CellsDocument
    from gradpath.source.document import Document


def opened(place: str) -> tuple[Document, int | None]:
    """The document of `FILE[:LINE]`, or of a notebook's `FILE[:CELL:LINE]`, and the line in its whole text."""
    from gradpath.source.cells import CellsDocument
    from gradpath.source.document import UnreadableSource
    from gradpath.source.notebook import read_source

    name, cell, line = _split(place)
    try:
        document = read_source(Path(name), name)
    except UnreadableSource as error:
        raise UsageError(f"{name}: {error.reason}") from None
    if isinstance(document, CellsDocument) and line is not None:
        line = _line_in(document, cell, line)
    if line is not None and not 1 <= line <= document.line_count:
        raise UsageError(f"{name} has no line {line}: it has {document.line_count}")
    return document, line


def tell_gaps(incomplete: Iterable[Gap], document: Document) -> tuple[Gap, ...]:
    """Say on standard error which parts of a document were not followed, and give them by cells."""
    from gradpath.render.gaps import gap_lines
    from gradpath.render.width import safe_text
    from gradpath.source.cells import gaps_in_cells

    found = tuple(gaps_in_cells(tuple(incomplete), document))
    for told in gap_lines(found):
        print(f"gradpath: {safe_text(told)}", file=sys.stderr)
    return found


def _split(place: str) -> tuple[str, int | None, int | None]:
    """A file's name, the cell of a notebook, and the line; a colon without a number after it belongs to the name."""
    match = re.fullmatch(r"(.+?\.ipynb):(?:cell )?(\d{1,9}):(\d{1,9})|(.+):(\d{1,9})", place)
    if match is None or os.path.exists(place):
        return place, None, None
    if match[1]:
        return match[1], int(match[2]), int(match[3])
    return match[4], None, int(match[5])


def _line_in(notebook: CellsDocument, cell: int | None, line: int) -> int:
    if cell is None:
        raise UsageError(f"name the cell as well: {notebook.path}:CELL:LINE")
    start = Position(line, 1)
    source, place = notebook.source(cell), notebook.in_whole(cell, Range(start, start))
    if source is None or place is None:
        raise UsageError(f"{notebook.path} has no code cell {cell}")
    if not 1 <= line <= source.line_count:
        raise UsageError(f"cell {cell} of {notebook.path} has no line {line}: it has {source.line_count}")
    return place.start.line
