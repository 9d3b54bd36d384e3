"""The memory of the server while ten files are edited for a long time, and what it does when nobody edits any more."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from bench.client import Server
from bench.texts import functions

FILES = 10

REST = 10.0
"""Seconds after the last edit until the server is watched for as long, in which it should do nothing."""


def measure(edits: int) -> dict[str, object]:
    """Megabytes after each tenth of the edits, and at rest; and the milliseconds that the server ran at rest."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        text = functions(1000)
        row = next(i for i, line in enumerate(text.split("\n")) if "outputs = model(inputs)" in line)
        at = {"line": row, "character": 12}
        server = Server((sys.executable, "-m", "gradpath", "server"), root)
        try:
            server.initialize()
            uris = [(root / f"train_{number}.py").as_uri() for number in range(FILES)]
            for uri in uris:
                item = {"uri": uri, "languageId": "python", "version": 0, "text": text}
                server.diagnostics(uri, 0, server.notify("textDocument/didOpen", {"textDocument": item}))
            memory: list[int] = []
            for number in range(1, edits + 1):
                uri = uris[number % FILES]
                version = number
                insert = (number // FILES) % 2 == 0
                end = at if insert else {"line": row + 1, "character": 12}
                change = {"range": {"start": at, "end": end}, "text": "pass\n            " if insert else ""}
                params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
                server.diagnostics(uri, version, server.notify("textDocument/didChange", params))
                if number % max(edits // 10, 1) == 0:
                    memory.append(round(server.memory()))
            time.sleep(REST)
            before = server.processor().ran
            time.sleep(REST)
            return {
                "edits": edits,
                "files": FILES,
                "lines of each": text.count("\n"),
                "memory MB": memory,
                "memory at rest MB": round(server.memory()),
                "processor ms at rest": round(server.processor().ran - before, 1),
            }
        finally:
            server.end()
