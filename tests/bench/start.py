"""How soon a server answers: `initialize` beside a server that does nothing, and the diagnostics of its first file."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.client import Server
from bench.texts import functions

EMPTY = """\
from pygls.lsp.server import LanguageServer
LanguageServer("empty", "1").start_io()
"""

GRADPATH = (sys.executable, "-m", "gradpath", "server")
NOTHING = (sys.executable, "-c", EMPTY)


@dataclass(frozen=True)
class Start:
    """Milliseconds by the clock, and those that the server's threads ran, for the answer and the first diagnostics."""

    answer: float
    answer_ran: float
    first: float = 0.0
    first_ran: float = 0.0


def measure(count: int) -> dict[str, float]:
    """Medians in milliseconds, and of the ratios of pairs; the servers take turns, after a round that does not count.

    The file has 1000 lines, and is opened as soon as the session has begun, or half a second later.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        rounds = [
            (_start(GRADPATH, root, pause=0.0), _start(NOTHING, root), _start(GRADPATH, root, pause=0.5))
            for _ in range(count + 1)
        ][1:]
    pairs = [(ours, empty) for ours, empty, _ in rounds]
    return {
        "gradpath ms": round(median(ours.answer for ours, _ in pairs)),
        "empty pygls server ms": round(median(empty.answer for _, empty in pairs)),
        "ratio": round(median(ours.answer / empty.answer for ours, empty in pairs), 2),
        "processor ratio": round(median(ours.answer_ran / empty.answer_ran for ours, empty in pairs), 2),
        "first diagnostics at once ms": round(median(early.first for early, _, _ in rounds)),
        "first diagnostics at once processor ms": round(median(early.first_ran for early, _, _ in rounds)),
        "first diagnostics later ms": round(median(late.first for _, _, late in rounds)),
        "first diagnostics later processor ms": round(median(late.first_ran for _, _, late in rounds)),
    }


def _start(command: Sequence[str], root: Path, pause: float | None = None) -> Start:
    """Start a server; open a file `pause` seconds after its answer, or none."""
    server = Server(command, root)
    try:
        answer = server.initialize() * 1000
        ran = server.processor().ran
        if pause is None:
            return Start(answer, ran)
        time.sleep(pause)
        text, uri = functions(1000), (root / "train.py").as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        before = server.processor().ran
        sent = server.notify("textDocument/didOpen", {"textDocument": item})
        first = server.diagnostics(uri, 1, sent)
        took = float("nan") if first is None else first * 1000
        return Start(answer, ran, took, server.processor().ran - before)
    finally:
        server.end()
