"""`gradpath graph`: a picture of the graph of a loss."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gradpath.cli.opening import opened, tell_gaps
from gradpath.cli.status import CLEAN, UsageError

if TYPE_CHECKING:
    from gradpath.features.graph import Picture

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
    from gradpath.analysis.check import check
    from gradpath.features.graph.find import picture_at
    from gradpath.support.internal_errors import unlogged

    document, line = opened(arguments.place)
    with unlogged():
        analysis = check(document)
    picture = picture_at(analysis, line)
    tell_gaps(analysis.incomplete, document)
    if picture is None:
        where = "" if line is None else f" at line {line}"
        raise UsageError(
            f"no graph is known in {document.path}{where}: name a line with a `backward()` or one that makes a loss"
        )
    sys.stdout.write(drawn(picture, arguments.format))
    return CLEAN


def drawn(picture: Picture, form: str) -> str:
    """A picture in one of the formats."""
    from gradpath.features.graph.exports import as_dot, as_json, as_mermaid
    from gradpath.features.graph.svg import as_svg

    return {"svg": as_svg, "dot": as_dot, "mermaid": as_mermaid, "json": as_json}[form](picture)
