"""The time from the start of a process to its answer to `initialize`, beside that of a server that does nothing."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.client import Server

EMPTY = """\
from pygls.lsp.server import LanguageServer
LanguageServer("empty", "1").start_io()
"""


def measure(count: int) -> dict[str, float]:
    """Medians in milliseconds; the two servers take turns."""
    ours, empty = [], []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for _ in range(count):
            ours.append(_start((sys.executable, "-m", "gradpath", "server"), root))
            empty.append(_start((sys.executable, "-c", EMPTY), root))
    return {
        "gradpath ms": round(median(ours)),
        "empty pygls server ms": round(median(empty)),
        "ratio": round(median(ours) / median(empty), 2),
    }


def _start(command: tuple[str, ...], root: Path) -> float:
    server = Server(command, root)
    try:
        return server.initialize() * 1000
    finally:
        server.end()
