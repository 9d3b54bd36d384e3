"""`gradpath graph`: a picture of the graph behind a loss."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradpath.cli.status import CLEAN, UsageError

if TYPE_CHECKING:
    from gradpath.features.graph import Picture

_FORMATS = ("svg", "dot", "mermaid", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath graph`."""
    parser.add_argument("place", metavar="FILE[:LINE]", help="a Python file, and the line of a loss or its backward")
    parser.add_argument("--format", choices=_FORMATS, default="svg", help="what is written (default: svg)")


def run(arguments: argparse.Namespace) -> int:
    """Write the picture to standard output."""
    # Imported here so that `gradpath graph --help` answers at once.
    from gradpath.check import check
    from gradpath.features.graph.find import picture_at
    from gradpath.source.document import UnreadableSource, read_document

    name, line = _split(arguments.place)
    try:
        document = read_document(Path(name), name)
    except UnreadableSource as error:
        raise UsageError(f"{name}: {error.reason}") from None
    if line is not None and not 1 <= line <= document.line_count:
        raise UsageError(f"{name} has no line {line}: it has {document.line_count}")
    picture = picture_at(check(document), line)
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


def _split(place: str) -> tuple[str, int | None]:
    """A file's name and the line behind its last colon; a colon without a number belongs to the name."""
    match = re.fullmatch(r"(.+):(\d+)", place)
    if match is None or Path(place).exists():
        return place, None
    return match[1], int(match[2])
