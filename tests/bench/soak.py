"""The memory of the server while ten files are edited for a long time."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.client import Server
from bench.texts import functions

FILES = 10


def measure(edits: int) -> dict[str, object]:
    """Megabytes after a tenth of the edits and after each further one."""
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
            return {"edits": edits, "files": FILES, "lines of each": text.count("\n"), "memory MB": memory}
        finally:
            server.end()
