"""The configurations that `server/EDITORS.md` tells people to copy, so that they are what the tests run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

PAGE = Path(__file__).parents[2] / "server" / "EDITORS.md"


def configurations(editor: str) -> list[str]:
    """The blocks of code below the heading of an editor, in the order of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {editor}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```\w+\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def install(folder: Path, command: tuple[str, ...]) -> str:
    """A folder for PATH, below this one, in which `gradpath server` is this command."""
    place = folder / "bin"
    place.mkdir()
    program = place / "gradpath"
    program.write_text(f'#!/bin/sh\n[ "$1" = server ] && exec {shlex.join(command)}\n')
    program.chmod(0o755)
    return str(place)
