"""`gradpath flow`: which parameters get gradients from which backward, and which step updates them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gradpath.cli.opening import opened, tell_gaps
from gradpath.cli.status import CLEAN, UsageError
from gradpath.cli.terminal import style_for

if TYPE_CHECKING:
    from gradpath.analysis.check import Analysis
    from gradpath.features.flow import Flow
    from gradpath.source.document import Document

_PICTURES = ("svg", "dot", "mermaid")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath flow`."""
    parser.add_argument(
        "place", metavar="FILE[:LINE]", help="a Python file, or a notebook (FILE[:CELL:LINE]), and a line of interest"
    )
    parser.add_argument(
        "--output-format",
        choices=("full", "json", *_PICTURES),
        default="full",
        help="a table, JSON, or a picture (default: full)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the table to standard output."""
    document, line = opened(arguments.place)
    analysis = explored(document)
    from gradpath.features.flow.find import flows_of

    flows = flows_of(analysis, line)
    incomplete = tell_gaps(analysis.incomplete, document)
    if not flows:
        where = "" if line is None else f" at line {line}"
        raise UsageError(f"no backward and no step is known in {document.path}{where}")
    if arguments.output_format == "json":
        from gradpath.features.flow.as_json import as_json

        sys.stdout.write(as_json(flows, document, incomplete))
    elif arguments.output_format in _PICTURES:
        from gradpath.cli.graph import drawn
        from gradpath.features.flow.drawn import picture_of

        sys.stdout.write(drawn(picture_of(flows, document), arguments.output_format))
    else:
        sys.stdout.write(_table(flows, document))
    return CLEAN


def explored(document: Document) -> Analysis:
    """The analysis of a document with all of its paths, under the configuration of its folder."""
    from pathlib import Path

    from gradpath.analysis.check import EXPLORED, check
    from gradpath.config import find_config
    from gradpath.support.internal_errors import unlogged

    config, _ = find_config(Path(document.path).absolute().parent)
    with unlogged():
        return check(document, config, depth=EXPLORED)


def _table(flows: tuple[Flow, ...], document: Document) -> str:
    from gradpath.features.flow.table import as_table
    from gradpath.source.cells import CellsDocument, lines_in_cells

    text = as_table(flows, document.path, style_for(sys.stdout))
    return lines_in_cells(text, document) if isinstance(document, CellsDocument) else text
