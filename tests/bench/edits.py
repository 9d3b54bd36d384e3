"""The time from a keystroke to the diagnostics of the new text, for gradpath and for other servers."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from bench.client import Server
from bench.texts import functions

PATIENCE = 20.0


ECHO = """\
from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("echo", "1")


def told(uri, version):
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, [], version))


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def opened(params):
    told(params.text_document.uri, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def changed(params):
    told(params.text_document.uri, params.text_document.version)


server.start_io()
"""
"""A server that checks nothing: what the way there and back costs on this machine."""


def commands(rivals: Path | None) -> Mapping[str, Sequence[str]]:
    """The servers that are there; `rivals` is the `bin` folder of an environment with pyright, pylsp and ruff."""
    found: dict[str, Sequence[str]] = {
        "gradpath": (sys.executable, "-m", "gradpath", "server"),
        "echo (checks nothing)": (sys.executable, "-c", ECHO),
    }
    if rivals is not None:
        others = {
            "pyright": (str(rivals / "pyright-python-langserver"), "--stdio"),
            "pylsp": (str(rivals / "pylsp"),),
            "ruff": (str(rivals / "ruff"), "server"),
        }
        found.update({name: command for name, command in others.items() if Path(command[0]).exists()})
    return found


def measure(lines: int, count: int, rivals: Path | None) -> dict[str, dict[str, object]]:
    """For each server the milliseconds to the first diagnostics, and what each kind of edit takes."""
    return {name: _measure(command, functions(lines), count) for name, command in commands(rivals).items()}


def places(text: str) -> dict[str, int]:
    """The lines (from 0) that are edited, at their ends."""
    rows = text.split("\n")
    half = len(rows) // 2
    comment = next(i for i, row in enumerate(rows) if i > half and "# the gradients" in row)
    loop = next(i for i, row in enumerate(rows) if i > half and "outputs = model(inputs)" in row)
    return {"comment": comment, "loop": loop, "import": 0, "half typed": loop, "new line": loop}


def _measure(command: Sequence[str], text: str, count: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.py"
        path.write_text(text, encoding="utf-8")
        uri = path.as_uri()
        server = Server(command, Path(folder))
        try:
            found: dict[str, object] = {"initialize ms": round(server.initialize() * 1000)}
            item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
            sent = server.notify("textDocument/didOpen", {"textDocument": item})
            first = server.diagnostics(uri, 1, sent, 60.0)
            found["first diagnostics ms"] = None if first is None else round(first * 1000)
            version = 1
            for name, row in places(text).items():
                times: list[Edit] = []
                column = len(text.split("\n")[row])
                for number in range(count):
                    server.drain()
                    version += 1
                    # Something is put at the end of the line, and taken away the next time.
                    at = {"line": row, "character": column}
                    end = _behind(at, _TYPED[name]) if number % 2 else at
                    change = {"range": {"start": at, "end": end}, "text": "" if number % 2 else _TYPED[name]}
                    identifier = {"uri": uri, "version": version}
                    before = server.processor()
                    sent = server.notify(
                        "textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]}
                    )
                    took = server.diagnostics(uri, version, sent, PATIENCE)
                    if took is None:
                        break
                    after = server.processor()
                    times.append(Edit(took * 1000, after.ran - before.ran, after.waited - before.waited))
                found[name] = _summary(times)
            found["memory MB"] = round(server.memory())
            return found
        finally:
            server.end()


_TYPED = {
    "comment": "x",
    "loop": ".relu()",
    "import": ", os",
    "half typed": ".relu(",
    "new line": "\n            pass",
}


@dataclass(frozen=True)
class Edit:
    """Milliseconds from an edit to its diagnostics, and those that the server ran or waited for a processor."""

    took: float
    ran: float
    waited: float


def _behind(place: dict[str, int], text: str) -> dict[str, int]:
    *above, last = text.split("\n")
    return {"line": place["line"] + len(above), "character": len(last) + (0 if above else place["character"])}


def _summary(times: list[Edit]) -> dict[str, float] | None:
    if len(times) < 2:
        return None
    took = [each.took for each in times]
    return {
        "median ms": round(median(took), 1),
        "95th percentile ms": round(quantiles(took, n=20)[-1], 1),
        "least ms": round(min(took), 1),
        "processor ms": round(median(each.ran for each in times), 1),
        "processor 95th percentile ms": round(quantiles([each.ran for each in times], n=20)[-1], 1),
        "waited for a processor ms": round(median(each.waited for each in times), 1),
    }
