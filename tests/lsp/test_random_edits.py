"""Long random sessions of editing end where a cold start begins: nothing that was is left over.

The suite plays a little of it; `GRADPATH_EDITS=5000 GRADPATH_EDIT_FOLDER=...` in the environment plays that many edits
over the files of a folder.
"""

from __future__ import annotations

import ast
import asyncio
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.names.project import project_of
from gradpath.source.document import Document, UnreadableSource, read_document
from tests.lsp.harness import NOTHING, REAL, Editor, server

EDITS = int(os.environ.get("GRADPATH_EDITS", "160"))
FOLDER = Path(os.environ.get("GRADPATH_EDIT_FOLDER", Path(__file__).parents[2] / "samples"))
PACKAGES = Path(__file__).parents[1] / "cases" / "corpus"
FILES = 50
BURST = 20 if EDITS < 1_000 else 50
"""Edits that are sent without waiting for an answer."""
PATIENCE = 120.0

CODE = ["loss.backward()\n", ".detach()", "retain_graph=True", "with torch.no_grad():\n", "import torch\n", "y += 1\n"]
HALF = ["(", ")", '"""', "'", "\\", "[", "x = (", "def f(:\n", "    ", "\t", "#", "for i in range(3):\n    "]
STRANGE = ["🙂", "é = 'ü🙂'\n", "\r\n", "\n", "\r", "\x0c", "\u2028", "\ufeff", "\0", "# gradpath: ignore\n"]
TYPED = [*CODE, *HALF, *STRANGE]
BROKEN = ("<<<<<<< HEAD\nx = 1\n=======\n", "print 'step', loss\n  if x\n", "))))" * 20, '"""never closed', "🙂" * 50)
REPLACED = (
    (".backward()", ".backward(retain_graph=True)"),
    (".detach()", ""),
    (".item()", ""),
    (" + ", " - "),
    ("optimizer.step()", "pass"),
    ("optimizer.zero_grad()", "pass"),
    ("range(", "range(1 + "),
)
"""Edits after which a text still parses, most of the time, and means something else."""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_lsp.fixture(scope="module", params=["visual_studio_code", NOTHING], config=server(REAL))
async def editor(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    await lsp_client.begin(request.param)
    yield
    failed = [line.message for line in lsp_client.log_messages if line.type is types.MessageType.Error]
    await lsp_client.shutdown_session()
    assert failed == []
    assert await lsp_client.errors() == ""


class Typist:
    """Edits one document at random, and remembers how it was."""

    def __init__(self, editor: Editor, path: Path, text: str, at: random.Random) -> None:
        self.editor, self.path, self.uri, self.original, self.at = editor, path, path.as_uri(), text, at
        self.before: list[str] = []
        editor.open(self.uri, text)

    @property
    def text(self) -> str:
        return self.editor.texts[self.uri]

    def splice(self, start: int, end: int, new: str) -> None:
        self.before = [*self.before[-20:], self.text]
        self.editor.edit(self.uri, [(start, end, new)])

    def anything(self) -> None:
        """One edit of any kind."""
        acts: list[Callable[[], None]] = [self.type] * 5 + [self.delete] * 3 + [self.undo] * 3
        acts += [self.paste, self.paste_broken, self.turn_lines, self.several, self.clear, self.replace]
        self.at.choice(acts)()

    def type(self) -> None:
        place = self.at.randint(0, len(self.text))
        self.splice(place, place, self.at.choice(TYPED))

    def delete(self) -> None:
        start = self.at.randint(0, len(self.text))
        self.splice(start, min(start + self.at.choice((1, 1, 2, 30, 500)), len(self.text)), "")

    def undo(self) -> None:
        if self.before:
            text = self.before.pop(self.at.randrange(max(len(self.before) - 3, 0), len(self.before)))
            self.splice(0, len(self.text), text)

    def paste(self) -> None:
        start = self.at.randrange(len(self.original))
        place = self.at.randint(0, len(self.text))
        self.splice(place, place, self.original[start : start + self.at.randrange(400)])

    def paste_broken(self) -> None:
        place = self.at.randint(0, len(self.text))
        self.splice(place, place, self.at.choice(BROKEN))

    def turn_lines(self) -> None:
        """Mix the line endings."""
        places = [index for index, character in enumerate(self.text) if character == "\n"][:200]
        if places:
            place = self.at.choice(places)
            self.splice(place, place + 1, self.at.choice(("\r\n", "\r", "\n")))

    def several(self) -> None:
        """Several changes in one message, each of which counts in the text that the others have left."""
        length = len(self.text)
        changes = []
        for _ in range(3):
            place = self.at.randint(0, length)
            new = self.at.choice(TYPED)
            changes.append((place, place, new))
            length += len(new)
        self.before = [*self.before[-20:], self.text]
        self.editor.edit(self.uri, changes)

    def clear(self) -> None:
        self.splice(0, len(self.text), "")

    def replace(self) -> None:
        old, new = self.at.choice(REPLACED)
        places = [place for place in range(len(self.text)) if self.text.startswith(old, place)]
        if places:
            place = self.at.choice(places)
            self.splice(place, place + len(old), new)

    def settle(self) -> None:
        """Come to a text that parses, and differs from the first one."""
        text = self.original.replace("\n", "\r\n") if self.at.random() < 0.3 else self.original
        self.splice(0, len(self.text), text)
        for _ in range(self.at.randrange(6)):
            before = self.text
            self.replace()
            try:
                ast.parse(self.text)
            except (SyntaxError, ValueError):
                self.splice(0, len(self.text), before)

    async def shown(self) -> Counter[Place]:
        """The diagnostics of the newest text: rule, line and what is underlined."""
        hover = types.HoverParams(types.TextDocumentIdentifier(self.uri), types.Position(0, 0))
        try:
            # The answer comes once the newest text has been checked.
            await asyncio.wait_for(self.editor.text_document_hover_async(hover), PATIENCE)
        except asyncio.TimeoutError:
            # It tells what it is doing as it dies.
            self.editor.process.send_signal(signal.SIGABRT)
            busy = await self.editor.errors()
            pytest.fail(
                f"{self.path} is not checked after {self.editor.versions[self.uri]} edits:\n{self.text}\n{busy}"
            )
        return Counter(
            (str(each.code), each.range.start.line + 1, self.editor.covered(self.uri, each.range))
            for each in await self.editor.diagnostics_of(self.uri)
        )


Place = tuple[str, int, str]
"""A rule, a line and what is underlined."""


def cold(texts: Sequence[tuple[Path, str]], path: Path, *, trials: bool = False) -> Counter[Place]:
    """What checks of texts that know nothing of the past find in the file of a path, and the trials of the fixes."""
    found: Counter[Place] = Counter()
    for where, text in texts:
        document, project = Document(str(where), text), project_of(where)
        analysis = check(document, project=project)
        analysis = mended(analysis, project=project) if trials else analysis
        told = [each for each in analysis.diagnostics if each.path == str(path)]
        there = document if path == where or not told else read_document(path)
        found |= Counter((each.rule, each.range.start.line, there.slice(each.range)) for each in told)
    return found


async def compare(typist: Typist, texts: Sequence[tuple[Path, str]] = (), path: Path | None = None) -> None:
    """What is shown for a document is what checks of `texts` find in the file of that path, its own by default.

    The faults beyond the first, which the trials of its fixes find, may or may not have been told yet.
    """
    texts, path = texts or [(typist.path, typist.text)], path or typist.path
    shown, wanted = await typist.shown(), cold(texts, path)
    when = f"{typist.path} after {typist.editor.versions[typist.uri]} edits"
    assert shown == wanted or wanted <= shown <= cold(texts, path, trials=True), when


def programs(at: random.Random) -> list[tuple[Path, str]]:
    """Files that import torch and parse, in random order."""
    found: list[tuple[Path, str]] = []
    paths = sorted(FOLDER.rglob("*.py"))
    at.shuffle(paths)
    for path in paths:
        try:
            text = read_document(path).text
            ast.parse(text)
        except (UnreadableSource, SyntaxError, ValueError):
            continue
        if "backward()" in text and len(text) < 60_000:
            found.append((path, text))
        if len(found) == FILES:
            break
    return found


async def test_a_long_session_leaves_nothing_behind(editor: Editor) -> None:
    at = random.Random(EDITS)
    files = programs(at)
    typists = [Typist(editor, path, text, at) for path, text in files[:5]]
    waiting = files[5:]
    for number in range(0, EDITS, BURST):
        chosen = at.sample(typists, min(2, len(typists)))
        for _ in range(BURST - 6):
            at.choice(chosen).anything()
            await asyncio.sleep(0)
        for typist in chosen:
            typist.settle()
        for typist in chosen:
            await compare(typist)
        if waiting and number % (2 * BURST) == 0:
            leaving = typists.pop(at.randrange(len(typists)))
            editor.close(leaving.uri)
            path, text = waiting.pop()
            typists.append(Typist(editor, path, text, at))
    for typist in typists:
        editor.close(typist.uri)


async def test_the_files_of_a_package_stay_in_step(editor: Editor, tmp_path: Path) -> None:
    """All files of a package are edited, and some of them saved; each shows what its newest neighbours make of it."""
    at = random.Random(EDITS)
    for folder in at.sample(sorted(path.parent for path in PACKAGES.glob("*/train.py")), max(1, EDITS // 250)):
        live, apart = tmp_path / "live" / folder.name, tmp_path / "apart" / folder.name
        shutil.copytree(folder, live)
        names = sorted(path.relative_to(live) for path in live.rglob("*.py") if path.stat().st_size)
        typists = [Typist(editor, live / name, (live / name).read_text(encoding="utf-8"), at) for name in names]
        for _ in range(10):
            for _ in range(25 - 2 * len(typists)):
                at.choice(typists).anything()
            for typist in typists:
                typist.settle()
            saved = at.choice(typists)
            saved.path.write_text(saved.text, encoding="utf-8", newline="")
            event = types.FileEvent(saved.uri, types.FileChangeType.Changed)
            editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
            shutil.copytree(live, apart, dirs_exist_ok=True)
            for name, typist in zip(names, typists, strict=True):
                (apart / name).write_text(typist.text, encoding="utf-8", newline="")
            texts = [(apart / name, typist.text) for name, typist in zip(names, typists, strict=True)]
            for typist in typists:
                await typist.shown()  # What is wrong in a file may be found by the check of another one.
            for (path, _), typist in zip(texts, typists, strict=True):
                await compare(typist, texts, path)
        for typist in typists:
            editor.close(typist.uri)
