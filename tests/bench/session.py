"""The command: play an editor for a long time, compare what the server says with cold runs, and watch its memory.

    PYTHONPATH=tests:server python -m bench.session --minutes 30 [--seed 1]

Plain files and notebooks are edited, closed and opened again, configurations change, requests are asked and cancelled,
and the workspace is checked, all at random.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty
from typing import Any

from bench.client import Server
from gradpath.analysis.check import check
from gradpath.config import find_config
from gradpath.names.files import TREES
from gradpath.names.project import project_of
from gradpath.rules import NAMES
from gradpath.source.cells import Cell, CellsDocument
from gradpath.source.document import Document

SAMPLES = Path(__file__).parents[2] / "samples"
FILES = 10
NOTEBOOKS = 2
PATIENCE = 60.0
"""Seconds after which a request counts as not answered."""

SETTLED = 300.0
"""Seconds after which the memory should stay as it is."""

TYPED = (
    "loss.backward()\n",
    ".detach()",
    "retain_graph=True",
    "import torch\n",
    "y += 1\n",
    "(",
    '"""',
    "# 🙂\n",
    "    ",
)
CONFIGURATIONS = ("", 'ignore = ["double-backward"]\n', 'levels = {double-backward = "hint"}\n', "select = 5\n")
ASKED = ("textDocument/hover", "textDocument/codeAction", "textDocument/codeLens")


class Session:
    """A server, the documents that are open in it, and what it has said."""

    def __init__(self, root: Path, at: random.Random) -> None:
        self.root, self.at = root, at
        self.server = Server((sys.executable, "-m", "gradpath", "server"), root)
        self.server.initialize()
        self.texts: dict[str, str] = {}
        self.originals: dict[str, str] = {}
        self.cells: dict[str, list[str]] = {}
        self.versions: dict[str, int] = {}
        self.told: dict[str, tuple[int | None, list[dict[str, Any]]]] = {}
        self.asked: dict[int, float] = {}
        self.number = 1000
        self.slow = self.operations = self.compared = 0
        self.different: list[str] = []
        self.logged: list[str] = []

    # The conversation

    def ask(self, method: str, params: object) -> int:
        self.number += 1
        self.asked[self.number] = time.monotonic()
        self.server.send({"id": self.number, "method": method, "params": params})
        return self.number

    def hear(self, done: Callable[[], bool]) -> bool:
        """Take what arrives until something is done; whether it was in time."""
        end = time.monotonic() + PATIENCE
        while not done():
            try:
                _, message = self.server._messages.get(timeout=max(end - time.monotonic(), 0.01))
            except Empty:
                return False
            self._take(message)
        return True

    def _take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            self.asked.pop(message["id"], None)
        elif "id" in message:
            answer = [{}] * len(params.get("items", ())) if method == "workspace/configuration" else None
            self.server.send({"id": message["id"], "result": answer})
        elif method == "textDocument/publishDiagnostics":
            self.told[params["uri"]] = params.get("version"), params["diagnostics"]
        elif method == "window/logMessage" and params["type"] == 1:
            self.logged.append(params["message"])

    # Documents

    def open(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self.originals.setdefault(uri, text)
        self.versions[uri] = self.versions.get(uri, 0) + 1
        item = {"uri": uri, "languageId": "python", "version": self.versions[uri], "text": text}
        self.server.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        identifier = {"uri": uri, "version": self.versions[uri]}
        self.server.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [{"text": text}]})

    def open_notebook(self, uri: str, cells: Sequence[str]) -> None:
        self.cells[uri] = list(cells)
        self.versions[uri] = 1
        names = [f"{uri}#{number}" for number in range(len(cells))]
        self.originals.update(zip(names, cells, strict=True))
        self.versions.update(dict.fromkeys(names, 1))
        notebook = {
            "uri": uri,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 2, "document": name} for name in names],
        }
        texts = [
            {"uri": name, "languageId": "python", "version": 1, "text": text}
            for name, text in zip(names, cells, strict=True)
        ]
        self.server.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": texts})

    def change_cell(self, uri: str, index: int, text: str) -> None:
        self.cells[uri][index] = text
        name = f"{uri}#{index}"
        self.versions[uri] += 1
        self.versions[name] += 1
        content = {"document": {"uri": name, "version": self.versions[name]}, "changes": [{"text": text}]}
        self.server.notify(
            "notebookDocument/didChange",
            {
                "notebookDocument": {"uri": uri, "version": self.versions[uri]},
                "change": {"cells": {"textContent": [content]}},
            },
        )

    # What an editor does

    def act(self) -> None:
        acts: list[Callable[[], None]] = [self.type] * 12 + [self.type_in_a_cell] * 3 + [self.restore] * 3
        acts += [self.ask_something] * 6 + [self.reopen, self.save, self.configure, self.check_workspace]
        self.operations += 1
        self.at.choice(acts)()

    def type(self) -> None:
        uri = self.at.choice(list(self.texts))
        text = self.texts[uri]
        place = self.at.randint(0, len(text))
        end = min(len(text), place + self.at.choice((0, 0, 0, 1, 40)))
        self.change(uri, text[:place] + self.at.choice(TYPED) + text[end:])

    def restore(self) -> None:
        uri = self.at.choice(list(self.texts))
        self.change(uri, self.originals[uri])

    def type_in_a_cell(self) -> None:
        uri = self.at.choice(list(self.cells))
        index = self.at.randrange(len(self.cells[uri]))
        text = self.cells[uri][index]
        self.change_cell(uri, index, "" if len(text) > 2000 else text + self.at.choice(TYPED))

    def ask_something(self) -> None:
        uri = self.at.choice(list(self.texts))
        place = {"line": self.at.randrange(60), "character": self.at.randrange(20)}
        params: dict[str, object] = {"textDocument": {"uri": uri}, "position": place}
        params |= {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
        number = self.ask(self.at.choice(ASKED), params)
        if self.at.random() < 0.3:
            self.server.notify("$/cancelRequest", {"id": number})

    def reopen(self) -> None:
        uri = self.at.choice(list(self.texts))
        self.server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        self.open(uri, self.originals[uri])

    def save(self) -> None:
        uri = self.at.choice(list(self.texts))
        self.server.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def configure(self) -> None:
        file = self.root / "gradpath.toml"
        file.write_text(self.at.choice(CONFIGURATIONS), encoding="utf-8")
        changes = [{"uri": file.as_uri(), "type": 2}]
        self.server.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def check_workspace(self) -> None:
        params = {"command": "gradpath.server.checkWorkspace", "arguments": []}
        numbers = [self.ask("workspace/executeCommand", params) for _ in range(self.at.choice((1, 2, 3)))]
        if self.at.random() < 0.5:
            self.server.notify("$/cancelRequest", {"id": self.at.choice(numbers)})

    # What it should say

    def compare(self) -> None:
        """What is told of a file, and of a notebook, is what a check that knows nothing of the past finds.

        In a text that does not parse the past counts: what is half typed is read with the help of what stood there.
        """
        uri = self.at.choice(list(self.texts))
        self.change(uri, self.texts[uri] + "\n" if parses(self.texts[uri]) else self.originals[uri] + "\n")
        if not self.hear(lambda: self.told.get(uri, (None, []))[0] == self.versions[uri]):
            self.different.append(f"{uri}: no answer")
            return
        path = self.root / uri.rpartition("/")[2]
        found = [(each["code"], each["range"]["start"]["line"] + 1) for each in self.told[uri][1]]
        self._compare(uri, found, Document(str(path), self.texts[uri]), self.told[uri][1])
        notebook = self.at.choice(list(self.cells))
        for index, text in enumerate(self.cells[notebook]):
            if not parses(text):
                self.change_cell(notebook, index, self.originals[f"{notebook}#{index}"])
        last = len(self.cells[notebook]) - 1
        self.change_cell(notebook, last, self.cells[notebook][last] + "\n")
        name = f"{notebook}#{last}"
        if not self.hear(lambda: self.told.get(name, (None, []))[0] == self.versions[name]):
            self.different.append(f"{notebook}: no answer")
            return
        document = CellsDocument(
            str(self.root / notebook.rpartition("/")[2]),
            [Cell(number, text) for number, text in enumerate(self.cells[notebook], 1)],
        )
        cells: list[tuple[str, int]] = []
        said: list[dict[str, Any]] = []
        for index, first in enumerate(document.first_lines):
            told = self.told.get(f"{notebook}#{index}", (None, []))[1]
            cells += [(each["code"], each["range"]["start"]["line"] + first) for each in told]
            said += told
        self._compare(notebook, cells, document, said)

    def _compare(
        self, uri: str, found: list[tuple[str, int]], document: Document, told: Sequence[dict[str, Any]]
    ) -> None:
        TREES.clear()
        path = Path(document.path)
        config, _ = find_config(path.parent, NAMES)
        analysis = check(document, config, project=project_of(path, config.python))
        wanted = [(each.rule, each.range.start.line) for each in analysis.diagnostics if each.path == document.path]
        self.compared += 1
        if sorted(each for each in found if each[0] != "incomplete") != sorted(wanted):
            given_up = [each["message"] for each in told if each["code"] == "incomplete"]
            self.different.append(
                f"{uri}: {sorted(found)} {given_up} instead of {sorted(wanted)}, in {document.text!r}"
            )


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def play(minutes: float, seed: int) -> dict[str, object]:
    """The figures of a session of so many minutes."""
    at = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        sources = sorted([*(SAMPLES / "faulty").glob("*.py"), *(SAMPLES / "right").glob("*.py")])
        texts = [path.read_text(encoding="utf-8") for path in at.sample(sources, FILES + NOTEBOOKS)]
        for number, text in enumerate(texts):
            (root / f"program_{number}.py").write_text(text, encoding="utf-8")
        session = Session(root, at)
        try:
            for number, text in enumerate(texts[:FILES]):
                session.open((root / f"program_{number}.py").as_uri(), text)
            for number, text in enumerate(texts[FILES:]):
                lines = text.splitlines(keepends=True)
                tops = [0, *(number for number, line in enumerate(lines) if line[:1].isidentifier())]
                first, second = tops[len(tops) // 3], tops[2 * len(tops) // 3]
                cells = ["".join(part) for part in (lines[:first], lines[first:second], lines[second:])]
                session.open_notebook((root / f"notebook_{number}.ipynb").as_uri(), cells)
            began = time.monotonic()
            memory: list[tuple[float, float]] = []
            while (passed := time.monotonic() - began) < 60 * minutes:
                for _ in range(at.randrange(1, 25)):
                    session.act()
                session.compare()
                memory.append((passed, session.server.memory()))
            in_time = session.hear(lambda: not session.asked)
            settled = [held for when, held in memory if when >= min(SETTLED, 30 * minutes)]
            tenth = max(len(settled) // 10, 1)
            first, last = sum(settled[:tenth]) / tenth, sum(settled[-tenth:]) / tenth
            return {
                "minutes": minutes,
                "seed": seed,
                "operations": session.operations,
                "compared": session.compared,
                "different": session.different,
                "not answered": 0 if in_time else len(session.asked),
                "errors logged": session.logged,
                "memory MB once settled, then, most": [round(first), round(last), round(max(settled))],
                "memory grew by %": round(100 * (last / first - 1), 1),
                "load": os.getloadavg(),
            }
        finally:
            session.server.end()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.session")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(json.dumps(play(arguments.minutes, arguments.seed), indent=2))


if __name__ == "__main__":
    main()
