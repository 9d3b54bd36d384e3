"""How soon a server answers: `initialize` beside a server that does nothing, and the diagnostics of its first file."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.client import Server
from bench.texts import functions

EMPTY = """\
from pygls.lsp.server import LanguageServer
LanguageServer("empty", "1").start_io()
"""


def measure(count: int) -> dict[str, float]:
    """Medians in milliseconds; the two servers take turns.

    The file has 1000 lines, and is opened as soon as the session has begun, or half a second later.
    """
    ours, empty, early, late = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for _ in range(count):
            answer, first = _start((sys.executable, "-m", "gradpath", "server"), root, pause=0.0)
            ours.append(answer)
            early.append(first)
            late.append(_start((sys.executable, "-m", "gradpath", "server"), root, pause=0.5)[1])
            empty.append(_start((sys.executable, "-c", EMPTY), root)[0])
    return {
        "gradpath ms": round(median(ours)),
        "empty pygls server ms": round(median(empty)),
        "ratio": round(median(ours) / median(empty), 2),
        "first diagnostics at once ms": round(median(early)),
        "first diagnostics later ms": round(median(late)),
    }


def _start(command: tuple[str, ...], root: Path, pause: float | None = None) -> tuple[float, float]:
    """Milliseconds to the answer, and from the opening of a file, `pause` seconds later, to its diagnostics."""
    server = Server(command, root)
    try:
        answer = server.initialize()
        if pause is None:
            return answer * 1000, 0.0
        time.sleep(pause)
        text, uri = functions(1000), (root / "train.py").as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        sent = server.notify("textDocument/didOpen", {"textDocument": item})
        first = server.diagnostics(uri, 1, sent)
        return answer * 1000, float("nan") if first is None else first * 1000
    finally:
        server.end()
