"""Claims that stand beside programs: users open the samples, so what is true of them is told in `claims.txt`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from gradpath.source.notebook import read_notebook

NAME = "claims.txt"
_CLAIM = re.compile(r"  (?:cell (?P<cell>\d+):)?(?P<line>\d+): (?P<claim>\S.*)")


class Misplaced(Exception):
    """A line of `claims.txt` that is none, or that is about a line that is not there."""


def annotated(file: Path) -> str:
    """The text of a program with its claims as comments at the ends of their lines; of a notebook, that of its code."""
    notebook = read_notebook(file) if file.suffix == ".ipynb" else None
    lines = (file.read_text(encoding="utf-8") if notebook is None else notebook.text).splitlines(keepends=True)
    firsts = {} if notebook is None else dict(zip((each.number for each in notebook.cells), notebook.first_lines))  # noqa: B905
    for cell, line, claim in _claims_of(file):
        row = line if notebook is None else firsts.get(cell, len(lines)) + line - 1
        if not 1 <= row <= len(lines) or not lines[row - 1].strip():
            raise Misplaced(f"{file.name} has no code on line {line}, of which {NAME} says `{claim}`")
        lines[row - 1] = f"{lines[row - 1].rstrip()}  # {claim}\n"
    return "".join(lines)


def _claims_of(file: Path) -> list[tuple[int, int, str]]:
    """The cell (0 outside of notebooks), the line and the words of each claim about a file."""
    folder = next((each for each in file.parents if (each / NAME).is_file()), None)
    return [] if folder is None else _read(folder).get(file.relative_to(folder).as_posix(), [])


@cache
def _read(folder: Path) -> dict[str, list[tuple[int, int, str]]]:
    claims: dict[str, list[tuple[int, int, str]]] = {}
    about = ""
    for line in (folder / NAME).read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = _CLAIM.fullmatch(line)
        if found is not None:
            claims[about].append((int(found["cell"] or 0), int(found["line"]), found["claim"]))
        elif (folder / line).is_file():
            about = line
            claims[about] = []
        else:
            raise Misplaced(f"{folder / NAME}: neither a claim nor a file: {line!r}")
    return claims
