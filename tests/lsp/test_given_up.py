"""A check that hangs, eats memory or dies costs its own document alone, and its process ends with the server's."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from gradpath.lsp.lifetime import is_alive, watch
from tests.lsp.harness import ENVIRONMENT, PATIENCE, SCRIPTED, Editor

SOON = 1.0
"""Seconds within which a server answers for other documents."""

BUSY = 10.0
"""How much slower the machine of a test may be: others may use it, and each process that starts takes its time."""

HANGING = ("HOLD", "SPIN")
DYING = ("EAT", "EXIT", "CRASH")
BAD, OTHER = "file:///project/bad.py", "file:///project/other.py"

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of all processes")


@pytest.fixture
async def editor() -> AsyncIterator[Editor]:
    made = await started()
    yield made
    if made.process.returncode is None:
        await made.shutdown_session()
        assert await made.errors() == ""


async def started(**params: Any) -> Editor:
    made = Editor()
    command, *arguments = SCRIPTED
    await made.start_io(command, *arguments, env=ENVIRONMENT)
    await made.begin("visual_studio_code", **params)
    # What is measured is not the start.
    made.open("file:///project/first.py", "BAD\n")
    await made.diagnostics_of("file:///project/first.py")
    return made


async def answered_soon(editor: Editor, uri: str) -> list[types.Diagnostic]:
    began = time.monotonic()
    found = await editor.diagnostics_of(uri)
    assert time.monotonic() - began < SOON * BUSY
    return found


def codes(found: list[types.Diagnostic]) -> list[object]:
    return [each.code for each in found]


@pytest.mark.parametrize("word", HANGING)
async def test_a_check_that_hangs_holds_up_no_other(editor: Editor, word: str) -> None:
    editor.open(BAD, f"{word}\nx = BAD\n")
    editor.open(OTHER, "BAD\n")
    assert codes(await answered_soon(editor, OTHER)) == ["made-up"]
    for _ in range(3):
        editor.replace(OTHER, "BAD", "BAD, BAD")
        assert set(codes(await answered_soon(editor, OTHER))) == {"made-up"}
    # It has had its chances.
    [told] = await editor.diagnostics_of(BAD)
    assert (told.code, told.severity) == ("incomplete", types.DiagnosticSeverity.Hint)
    assert told.message == "not fully checked: this file took too long"
    assert "not fully checked: this file took too long (in " in (await editor.log_line("/project/bad.py")).message
    # Nobody waits for what is not known.
    assert await editor.hover(BAD, "x") is None
    assert await editor.actions(BAD, "x") == []
    editor.replace(BAD, word, "mended")
    assert codes(await answered_soon(editor, BAD)) == ["made-up"]
    hover = await editor.hover(BAD, "BAD")
    assert hover is not None


@pytest.mark.parametrize("word", HANGING)
async def test_a_hanging_check_is_edited_away(editor: Editor, word: str) -> None:
    editor.open(BAD, f"{word}\nx = BAD\n")
    editor.open(OTHER, "BAD\n")
    await answered_soon(editor, OTHER)
    editor.replace(BAD, word, "mended")
    assert codes(await answered_soon(editor, BAD)) == ["made-up"]
    editor.replace(OTHER, "BAD", "GOOD")
    assert await answered_soon(editor, OTHER) == []


@pytest.mark.parametrize("word", DYING)
async def test_a_check_that_ends_its_process_holds_up_no_other(editor: Editor, word: str) -> None:
    editor.open(BAD, f"{word}\nx = BAD\n")
    [told] = await editor.diagnostics_of(BAD)
    reason = "this file took too much memory" if word == "EAT" else "the process that checked this file has died"
    assert (told.code, told.message) == ("incomplete", f"not fully checked: {reason}")
    editor.open(OTHER, "BAD\n")
    assert codes(await answered_soon(editor, OTHER)) == ["made-up"]
    # A save of another file is no reason to try it again.
    editor.published.clear()
    editor.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(OTHER)))
    await answered_soon(editor, OTHER)
    assert [params.uri for params in editor.published if params.uri == BAD] == []
    editor.replace(BAD, word, "mended")
    assert codes(await answered_soon(editor, BAD)) == ["made-up"]


async def test_a_notebook_whose_check_is_given_up_says_so_in_its_first_cell(editor: Editor) -> None:
    cells = {"file:///project/nb.ipynb#a": "x = BAD\n", "file:///project/nb.ipynb#b": "EXIT\n"}
    items = [types.TextDocumentItem(uri, "python", 1, text) for uri, text in cells.items()]
    notebook = types.NotebookDocument(
        "file:///project/nb.ipynb",
        "jupyter-notebook",
        1,
        [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in cells],
    )
    editor.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
    first, second = cells
    [told] = await editor.publication(lambda params: params.uri == first)
    assert (told.code, told.range.start) == ("incomplete", types.Position(0, 0))
    assert await editor.publication(lambda params: params.uri == second) == []
    identifier = types.VersionedNotebookDocumentIdentifier(version=2, uri=notebook.uri)
    text = types.NotebookDocumentCellContentChanges(
        types.VersionedTextDocumentIdentifier(version=2, uri=second),
        [types.TextDocumentContentChangeWholeDocument("mended\n")],
    )
    change = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[text]))
    editor.published.clear()
    editor.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, change))
    assert codes(await editor.publication(lambda params: params.uri == first)) == ["made-up"]


async def test_the_first_of_many_documents_is_answered_while_others_are_opened(editor: Editor) -> None:
    uris = [f"file:///project/many_{number}.py" for number in range(300)]
    for uri in uris:
        editor.open(uri, "x = BAD\n")
    began = time.monotonic()
    await editor.publication(lambda params: params.uri in uris)
    editor.replace(uris[7], "BAD", "BAD, BAD")
    assert codes(await answered_soon(editor, uris[7])) == ["made-up", "made-up"]
    assert time.monotonic() - began < 2 * SOON * BUSY
    for uri in uris:
        await editor.diagnostics_of(uri)


async def leave_properly(editor: Editor, client: subprocess.Popen[bytes]) -> None:
    await editor.shutdown_session()


async def close_the_pipe(editor: Editor, client: subprocess.Popen[bytes]) -> None:
    assert editor.process.stdin is not None
    editor.process.stdin.close()


async def die(editor: Editor, client: subprocess.Popen[bytes]) -> None:
    client.kill()
    client.wait()


async def kill_the_server(editor: Editor, client: subprocess.Popen[bytes]) -> None:
    editor.process.kill()


def children(process: int) -> list[int]:
    found = [process]
    for each in found:
        for file in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, file.read_text().split())
    return found[1:]


@linux
@pytest.mark.parametrize("word", ["HOLD", "SPIN", "WAIT", "idle"])
@pytest.mark.parametrize("leave", [leave_properly, close_the_pipe, die, kill_the_server])
async def test_no_process_outlives_its_editor(
    word: str, leave: Callable[[Editor, subprocess.Popen[bytes]], Coroutine[Any, Any, None]]
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as client:
        editor = await started(process_id=client.pid)
        editor.open(BAD, f"{word}\n")
        editor.open(OTHER, "BAD\n")
        await editor.diagnostics_of(OTHER)  # The bad one is begun again after it.
        processes = [editor.process.pid, *children(editor.process.pid)]
        assert len(processes) > 1
        ended = [threading.Event() for _ in processes]
        for process, event in zip(processes, ended, strict=True):
            watch(process, event.set)
            if not is_alive(process):  # The one that was given up may end at any time, and is then not watched.
                event.set()
        await leave(editor, client)
        for event in ended:
            assert await asyncio.get_running_loop().run_in_executor(None, event.wait, PATIENCE)
        client.kill()


@linux
async def test_a_process_that_is_killed_is_replaced(editor: Editor) -> None:
    [process] = children(editor.process.pid)
    os.kill(process, signal.SIGKILL)
    editor.open(OTHER, "BAD\n")
    assert codes(await answered_soon(editor, OTHER)) == ["made-up"]
