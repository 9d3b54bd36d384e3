"""`gradpath graph`: a picture of the graph behind a loss."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradpath.cli.status import CLEAN, UsageError
from gradpath.diagnostic import Position, Range

if TYPE_CHECKING:
    from gradpath.features.graph import Picture
    from gradpath.source.cells import CellsDocument

_FORMATS = ("svg", "dot", "mermaid", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath graph`."""
    parser.add_argument(
        "place", metavar="FILE[:LINE]", help="a Python file, or a notebook (FILE[:CELL:LINE]), and the line of a loss"
    )
    parser.add_argument("--format", choices=_FORMATS, default="svg", help="what is written (default: svg)")


def run(arguments: argparse.Namespace) -> int:
    """Write the picture to standard output."""
    # Imported here so that `gradpath graph --help` answers at once.
    from gradpath.check import check
    from gradpath.failures import unlogged
    from gradpath.features.graph.find import picture_at
    from gradpath.render.gaps import gap_lines
    from gradpath.render.width import safe_text
    from gradpath.source.cells import CellsDocument, gaps_in_cells
    from gradpath.source.document import UnreadableSource
    from gradpath.source.notebook import read_source

    name, cell, line = _split(arguments.place)
    try:
        document = read_source(Path(name), name)
    except UnreadableSource as error:
        raise UsageError(f"{name}: {error.reason}") from None
    if isinstance(document, CellsDocument) and line is not None:
        line = _line_in(document, cell, line)
    if line is not None and not 1 <= line <= document.line_count:
        raise UsageError(f"{name} has no line {line}: it has {document.line_count}")
    with unlogged():
        analysis = check(document)
    picture = picture_at(analysis, line)
    for told in gap_lines(gaps_in_cells(analysis.incomplete, document)):
        print(f"gradpath: {safe_text(told)}", file=sys.stderr)
    if picture is None:
        where = "" if line is None else f" at line {line}"
        raise UsageError(
            f"no graph is known in {name}{where}: name a line with a `backward()` or one that makes a loss"
        )
    sys.stdout.write(_drawn(picture, arguments.format))
    return CLEAN


def _drawn(picture: Picture, form: str) -> str:
    match form:
        case "svg":
            from gradpath.features.graph.svg import as_svg

            return as_svg(picture)
        case "dot":
            from gradpath.features.graph.dot import as_dot

            return as_dot(picture)
        case "mermaid":
            from gradpath.features.graph.mermaid import as_mermaid

            return as_mermaid(picture)
    from gradpath.features.graph.as_json import as_json

    return as_json(picture)


def _split(place: str) -> tuple[str, int | None, int | None]:
    """A file's name, the cell of a notebook, and the line; a colon without a number behind it belongs to the name."""
    match = re.fullmatch(r"(.+?\.ipynb):(?:cell )?(\d{1,9}):(\d{1,9})|(.+):(\d{1,9})", place)
    if match is None or Path(place).exists():
        return place, None, None
    if match[1]:
        return match[1], int(match[2]), int(match[3])
    return match[4], None, int(match[5])


def _line_in(notebook: CellsDocument, cell: int | None, line: int) -> int:
    """The line of a cell as one of the whole notebook."""
    if cell is None:
        raise UsageError(f"name the cell as well: {notebook.path}:CELL:LINE")
    start = Position(line, 1)
    source, place = notebook.source(cell), notebook.in_whole(cell, Range(start, start))
    if source is None or place is None:
        raise UsageError(f"{notebook.path} has no code cell {cell}")
    if not 1 <= line <= source.line_count:
        raise UsageError(f"cell {cell} of {notebook.path} has no line {line}: it has {source.line_count}")
    return place.start.line
