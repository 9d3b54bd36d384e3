"""The destination of the output: a terminal with color, or a file or pipe without."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

from gradpath.cli.status import UsageError
from gradpath.render.style import Style
from gradpath.render.width import safe_text

_BAR = 30
_PATIENCE = 1.0
_MANY = 20
_NARROWEST = 40


def style_for(stream: TextIO) -> Style:
    """Colour and lines that fit on a terminal; elsewhere neither, so that programs read whole lines.

    `NO_COLOR` (any text) turns colour off, `FORCE_COLOR` turns it on, `TERM=dumb` has none.
    """
    terminal = stream.isatty()
    colour = bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")
    width = max(columns(), _NARROWEST) if terminal else None
    return Style(colour and not os.environ.get("NO_COLOR"), width)


def columns() -> int:
    """The width of the terminal; `COLUMNS` overrides it, and `shutil`, which asks the same, is slow to load."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size().columns or 80
    except OSError:
        return 80


def standard_input(what: str) -> bytes:
    """All of standard input, which is empty where it is closed; on a terminal, where it waits, it asks for `what`."""
    if sys.stdin is None:
        return b""
    if sys.stdin.isatty():
        end = "Ctrl+Z and Enter" if os.name == "nt" else "Ctrl+D"
        print(f"gradpath: paste {what}, then press {end} on an empty line", file=sys.stderr, flush=True)
    return sys.stdin.buffer.read()


def expect_program(who: str) -> None:
    """Make sure that there is something on standard input; a person at a terminal is told `who` should be there."""
    if sys.stdin is None:
        raise UsageError("standard input is closed")
    if sys.stdin.isatty():
        print(f"gradpath: waiting for the messages of {who}; Ctrl+C ends it", file=sys.stderr, flush=True)


def complain(path: str, message: str) -> None:
    """Say on standard error, in one line, what is wrong with a file."""
    print(f"gradpath: {safe_text(path)}: {safe_text(message)}", file=sys.stderr)


class Progress:
    """A bar on standard error for work that is long; silent where that is no terminal, or the work is quick."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._total = total
        self._done = 0
        self._shown = False
        self._start = time.monotonic()
        self._wanted = not quiet and total >= _MANY and sys.stderr.isatty()

    def step(self) -> None:
        """One more file is done."""
        self._done += 1
        if self._wanted and time.monotonic() - self._start > _PATIENCE:
            filled = _BAR * self._done // self._total
            bar = "#" * filled + "." * (_BAR - filled)
            sys.stderr.write(f"\r[{bar}] {self._done}/{self._total} files")
            sys.stderr.flush()
            self._shown = True

    def close(self) -> None:
        """Wipe the bar."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
