"""A client that is told of diagnostics hears of a file again when another one that it depends on has changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import pytest_lsp
from lsprotocol import types

from tests.lsp.harness import PROFILES, REAL, Editor, server

USER = "import torch\nfrom lib import grow\n\nw = torch.randn(3, requires_grad=True)\ngrow(w).sum().backward()\n"
RIGHT = "def grow(w):\n    return w.exp()\n"
WRONG = "def grow(w):\n    return w.exp().detach()\n"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_lsp.fixture(scope="module", params=PROFILES, config=server(REAL))
async def session(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    await lsp_client.begin(request.param)
    yield
    await lsp_client.shutdown_session()
    assert await lsp_client.errors() == ""
    assert lsp_client.log_messages == []


@pytest.fixture
def editor(session: Editor) -> Editor:
    """The running session, with nothing published yet."""
    session.published.clear()
    return session


@pytest_asyncio.fixture(loop_scope="module")
async def user(editor: Editor, tmp_path: Path) -> str:
    """An open file without a fault, which uses `lib.py`."""
    (tmp_path / "lib.py").write_text(RIGHT, encoding="utf-8")
    uri = (tmp_path / "user.py").as_uri()
    editor.open(uri, USER)
    assert await editor.diagnostics_of(uri) == []
    return uri


async def told(editor: Editor, uri: str, *rules: str) -> None:
    """These faults of a file are published; awaited."""
    await editor.publication(
        lambda params: params.uri == uri and [each.code for each in params.diagnostics] == [*rules]
    )


async def test_an_edit_tells_of_the_files_that_depend_on_it(editor: Editor, user: str, tmp_path: Path) -> None:
    lib = (tmp_path / "lib.py").as_uri()
    editor.open(lib, RIGHT)
    editor.replace(lib, ".exp()", ".exp().detach()")
    await told(editor, user, "detached-loss")
    editor.published.clear()
    editor.replace(lib, ".detach()", "")
    await told(editor, user)
    editor.replace(lib, ".exp()", ".exp().detach()")
    await told(editor, user, "detached-loss")
    editor.published.clear()
    editor.close(lib)  # The disk has what was there before.
    await told(editor, user)


async def test_files_that_change_on_disk_and_go_are_seen(editor: Editor, user: str, tmp_path: Path) -> None:
    lib = tmp_path / "lib.py"
    lib.write_text(WRONG, encoding="utf-8")
    changed(editor, lib, types.FileChangeType.Changed)
    await told(editor, user, "detached-loss")
    editor.published.clear()
    lib.unlink()
    changed(editor, lib, types.FileChangeType.Deleted)
    await told(editor, user)
    lib.write_text(WRONG, encoding="utf-8")
    changed(editor, lib, types.FileChangeType.Created)
    await told(editor, user, "detached-loss")


async def test_a_save_tells_of_what_has_changed_on_disk(editor: Editor, user: str, tmp_path: Path) -> None:
    """Some clients watch no files."""
    (tmp_path / "lib.py").write_text(WRONG, encoding="utf-8")
    editor.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(user)))
    await told(editor, user, "detached-loss")


async def test_settings_take_effect_at_once(editor: Editor, user: str) -> None:
    editor.replace(user, "grow(w)", "grow(w).detach()")
    await told(editor, user, "detached-loss")
    editor.published.clear()
    for settings, rules in (({"ignore": ["detached-loss"]}, []), ({"ignore": []}, ["detached-loss"])):
        editor.set_configuration(settings, section="gradpath")  # Some clients are asked for them, others send them.
        editor.workspace_did_change_configuration(types.DidChangeConfigurationParams({"gradpath": settings}))
        await told(editor, user, *rules)
        editor.published.clear()


async def test_closing_clears(editor: Editor, user: str) -> None:
    editor.replace(user, "grow(w)", "grow(w).detach()")
    await told(editor, user, "detached-loss")
    editor.published.clear()
    editor.close(user)
    await told(editor, user)


def changed(editor: Editor, path: Path, kind: types.FileChangeType) -> None:
    event = types.FileEvent(path.as_uri(), kind)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
