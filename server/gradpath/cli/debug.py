"""`gradpath debug`: what an analysis looked at, and how far it came, for those who ask why nothing is reported."""

from __future__ import annotations

import argparse
import sys

from gradpath.cli.flow import explored
from gradpath.cli.opening import opened, tell_gaps
from gradpath.cli.status import CLEAN
from gradpath.cli.terminal import style_for


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath debug`."""
    parser.add_argument(
        "place", metavar="FILE[:LINE]", help="a Python file, or a notebook (FILE[:CELL:LINE]), and a line of interest"
    )
    parser.add_argument(
        "--output-format", choices=("full", "json"), default="full", help="text, or JSON (default: full)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write what was looked at to standard output."""
    document, line = opened(arguments.place)
    analysis = explored(document)
    from gradpath.features.debug.as_json import as_json
    from gradpath.features.debug.as_text import as_text
    from gradpath.features.debug.find import debugged
    from gradpath.source.cells import CellsDocument, lines_in_cells

    found = debugged(analysis, line)
    incomplete = tell_gaps(analysis.incomplete, document)
    if arguments.output_format == "json":
        sys.stdout.write(as_json(found, document, incomplete))
    else:
        text = as_text(found, style_for(sys.stdout))
        sys.stdout.write(lines_in_cells(text, document) if isinstance(document, CellsDocument) else text)
    return CLEAN
