"""A client that asks is told to ask again when something it does not know of has changed what it would hear."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types

from tests.lsp.harness import PATIENCE, REAL, REFRESHES, Editor, server

USER = "import torch\nfrom lib import grow\n\nw = torch.randn(3, requires_grad=True)\ngrow(w).sum().backward()\n"
RIGHT = "def grow(w):\n    return w.exp()\n"
WRONG = "def grow(w):\n    return w.exp().detach()\n"

PULLS = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
ABLE = types.WorkspaceClientCapabilities(
    diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
    inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
    code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
)


@pytest_lsp.fixture(config=server(REAL))
async def editor(lsp_client: Editor) -> AsyncIterator[None]:
    yield
    await lsp_client.shutdown_session()
    assert await lsp_client.errors() == ""
    assert lsp_client.log_messages == []


@pytest.fixture
def user(tmp_path: Path) -> str:
    (tmp_path / "lib.py").write_text(RIGHT, encoding="utf-8")
    return (tmp_path / "user.py").as_uri()


@pytest.fixture
def lib(tmp_path: Path) -> str:
    return (tmp_path / "lib.py").as_uri()


async def begin(editor: Editor, *, refreshes: bool = True) -> None:
    workspace = ABLE if refreshes else None
    await editor.begin(types.ClientCapabilities(text_document=PULLS, workspace=workspace))


async def pulled(editor: Editor, uri: str) -> list[object]:
    """What a client hears that asks; it comes behind all that the server has sent because of the check."""
    request = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
    answer = await asyncio.wait_for(editor.text_document_diagnostic_async(request), PATIENCE)
    assert isinstance(answer, types.RelatedFullDocumentDiagnosticReport)
    return [found.code for found in answer.items]


async def test_an_edit_refreshes_the_files_that_depend_on_it(editor: Editor, user: str, lib: str) -> None:
    await begin(editor)
    editor.open(user, USER)
    editor.open(lib, RIGHT)
    assert (await pulled(editor, user), await pulled(editor, lib)) == ([], [])
    editor.replace(lib, ".exp()", ".exp().detach()")
    await editor.refreshes(1, more=True)
    assert await pulled(editor, user) == ["detached-loss"]
    editor.close(lib)  # The disk has what was there before.
    await editor.refreshes(2, more=True)  # A proved advice of the first time is news as well.
    assert await pulled(editor, user) == []


async def test_a_change_on_disk_refreshes_everything(editor: Editor, user: str, lib: str, tmp_path: Path) -> None:
    await begin(editor)
    editor.open(user, USER)
    assert await pulled(editor, user) == []
    (tmp_path / "lib.py").write_text(WRONG, encoding="utf-8")
    event = types.FileEvent(lib, types.FileChangeType.Changed)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    assert await pulled(editor, user) == ["detached-loss"]
    assert set(editor.refreshed) == set(REFRESHES)


async def test_what_tells_nothing_new_refreshes_nothing(editor: Editor, user: str, lib: str) -> None:
    await begin(editor)
    editor.open(user, USER)
    editor.open(lib, RIGHT)
    editor.replace(lib, "def", "# a line\ndef")
    editor.replace(user, "grow(w)", "grow(w).detach()")  # The client asks by itself for what it edits.
    assert await pulled(editor, user) == ["detached-loss"]
    editor.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(user)))
    assert (await pulled(editor, user), await pulled(editor, lib)) == (["detached-loss"], [])
    assert editor.refreshed == {}


async def test_what_a_caller_shows_is_asked_for_once_it_is_known(editor: Editor, tmp_path: Path, lib: str) -> None:
    await begin(editor)
    twice = (
        "import torch\ndef twice(all):\n    loss = torch.stack(all).sum()\n    loss.backward()\n    loss.backward()\n"
    )
    caller = USER.replace("grow(w).sum().backward()", "twice([w.exp().sum()])").replace("grow", "twice")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "caller.py").write_text(caller, encoding="utf-8")
    editor.open(lib, twice)
    assert await pulled(editor, lib) == []
    await editor.refreshes(1, (types.WORKSPACE_DIAGNOSTIC_REFRESH,), more=True)  # A proved advice is news as well.
    assert await pulled(editor, lib) == ["double-backward"]


async def test_a_client_that_cannot_is_not_told_to_ask_again(editor: Editor, user: str, lib: str) -> None:
    await begin(editor, refreshes=False)
    editor.open(user, USER)
    editor.open(lib, RIGHT)
    editor.replace(lib, ".exp()", ".exp().detach()")
    assert await pulled(editor, lib) == []
    assert await pulled(editor, user) == ["detached-loss"]
    assert editor.refreshed == {}


async def test_settings_refresh_everything(editor: Editor, user: str) -> None:
    await begin(editor)
    editor.open(user, USER.replace("grow(w)", "grow(w).detach()"))
    assert await pulled(editor, user) == ["detached-loss"]
    settings = types.DidChangeConfigurationParams({"gradpath": {"ignore": ["detached-loss"]}})
    editor.workspace_did_change_configuration(settings)
    assert await pulled(editor, user) == []
    assert set(editor.refreshed) == set(REFRESHES)
