"""In an editor: a change in one file shows in the files that depend on it, and a fault is told where it lies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types

from tests.lsp.harness import PATIENCE, PROFILES, REAL, Editor, server
from tests.names.trees import ran, with_hooked_environment, write

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEPT = "        self.h = torch.tanh(self.inner(x) + self.h)\n"
DETACHED = "        self.h = torch.tanh(self.inner(x) + self.h.detach())\n"
NET = f"""\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.h = torch.zeros(4)

    def forward(self, x):
{KEPT}        return self.h
"""
TRAIN = """\
import torch
from models import Net

net = Net()
for x in torch.rand(3, 4):
    loss = net(x).pow(2).mean()
    loss.backward()
"""
LOSS = """\
import torch


def total(losses):
    loss = torch.stack(losses).sum()
    loss.backward()
    loss.backward()
"""
TRAIN_WITH_LOSS = """\
import torch
from losses import total

w = torch.rand(3, requires_grad=True)
total([w.exp().sum()])
"""


@pytest_lsp.fixture(scope="module", params=PROFILES, config=server(REAL))
async def session(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    await lsp_client.begin(request.param)
    yield
    await lsp_client.shutdown_session()
    assert await lsp_client.errors() == ""


@pytest.fixture
def editor(session: Editor) -> Editor:
    session.log_messages.clear()
    return session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, {"models/__init__.py": "from .net import Net\n", "models/net.py": NET, "losses.py": LOSS})


def uris(folder: Path, *names: str) -> list[str]:
    return [(folder / name).as_uri() for name in names]


async def shown(editor: Editor, uri: str, codes: list[str]) -> list[types.Diagnostic]:
    """The diagnostics of a file once their rules are `codes`."""

    def fits(params: types.PublishDiagnosticsParams) -> bool:
        newest = next(each for each in reversed(editor.published) if each.uri == params.uri)
        return params is newest and params.uri == uri and [each.code for each in params.diagnostics] == codes

    return await editor.publication(fits)


async def test_a_fault_behind_an_import_is_told_with_a_step_in_the_other_file(editor: Editor, folder: Path) -> None:
    train, net = uris(folder, "train.py", "models/net.py")
    editor.open(train, TRAIN)
    [found] = await editor.diagnostics_of(train)
    assert (found.code, editor.covered(train, found.range)) == ("carried-graph", "loss.backward()")
    assert net in [location.uri for _, location in editor.story(found)]


async def test_a_change_of_the_model_refreshes_the_training_script(editor: Editor, folder: Path) -> None:
    train, net = uris(folder, "train.py", "models/net.py")
    editor.open(train, TRAIN)
    await shown(editor, train, ["carried-graph"])
    editor.open(net, NET)
    editor.replace(net, KEPT, DETACHED)
    await shown(editor, train, [])
    editor.replace(net, DETACHED, KEPT)
    await shown(editor, train, ["carried-graph"])


async def test_a_module_that_is_deleted_or_made_refreshes_the_training_script(editor: Editor, folder: Path) -> None:
    train, net = uris(folder, "train.py", "models/net.py")
    editor.open(train, TRAIN)
    await shown(editor, train, ["carried-graph"])
    (folder / "models/net.py").unlink()
    gone = types.FileEvent(net, types.FileChangeType.Deleted)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([gone]))
    await shown(editor, train, [])
    (folder / "models/net.py").write_text(NET, encoding="utf-8")
    made = types.FileEvent(net, types.FileChangeType.Created)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([made]))
    await shown(editor, train, ["carried-graph"])


async def test_what_the_editor_has_counts_until_it_is_closed(editor: Editor, folder: Path) -> None:
    train, net = uris(folder, "train.py", "models/net.py")
    editor.open(net, NET.replace(KEPT, DETACHED))
    editor.open(train, TRAIN)
    await shown(editor, train, [])
    editor.close(net)
    await shown(editor, train, ["carried-graph"])


async def test_a_change_on_disk_refreshes_the_training_script(editor: Editor, folder: Path) -> None:
    train, net = uris(folder, "train.py", "models/net.py")
    editor.open(train, TRAIN)
    await shown(editor, train, ["carried-graph"])
    (folder / "models/net.py").write_text(NET.replace(KEPT, DETACHED), encoding="utf-8")
    change = types.FileEvent(net, types.FileChangeType.Changed)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    await shown(editor, train, [])


async def test_a_fault_in_another_file_is_told_there_and_cleared(editor: Editor, folder: Path) -> None:
    train, losses = uris(folder, "train.py", "losses.py")
    editor.open(train, TRAIN_WITH_LOSS)
    assert await editor.diagnostics_of(train) == []
    [found] = await shown(editor, losses, ["double-backward"])
    assert found.range.start.line == 6
    editor.replace(train, "total(", "print(")
    await shown(editor, losses, [])
    editor.replace(train, "print(", "total(")
    await shown(editor, losses, ["double-backward"])
    editor.close(train)
    await shown(editor, losses, [])


async def test_a_fault_that_two_open_files_tell_of_is_told_once(editor: Editor, folder: Path) -> None:
    train, losses = uris(folder, "train.py", "losses.py")
    editor.open(train, TRAIN_WITH_LOSS)
    editor.open(losses, LOSS)
    await shown(editor, losses, ["double-backward"])
    await editor.diagnostics_of(train)
    await shown(editor, losses, ["double-backward"])
    assert [action.title for action in await editor.actions(losses, "loss.backward()\n    loss.backward()")] != []


async def test_a_comment_that_silences_what_another_file_finds_is_not_unused(editor: Editor, folder: Path) -> None:
    train, losses = uris(folder, "train.py", "losses.py")
    editor.open(losses, LOSS.rstrip("\n") + "  # gradpath: ignore[double-backward]\n")
    await shown(editor, losses, ["unused-ignore"])
    editor.open(train, TRAIN_WITH_LOSS)
    await shown(editor, losses, [])


async def test_a_fault_that_only_a_caller_shows_is_told_in_the_function(editor: Editor, folder: Path) -> None:
    [losses] = uris(folder, "losses.py")
    write(folder, {"pyproject.toml": "", "scripts/run.py": TRAIN_WITH_LOSS})
    editor.open(losses, LOSS)
    [found] = await shown(editor, losses, ["double-backward"])
    assert found.range.start.line == 6
    editor.replace(losses, "    loss.backward()\n", "")
    await shown(editor, losses, [])


async def test_a_caller_that_changes_is_looked_at_again(editor: Editor, folder: Path) -> None:
    [losses] = uris(folder, "losses.py")
    write(folder, {"pyproject.toml": "", "run.py": TRAIN_WITH_LOSS})
    editor.open(losses, LOSS)
    await shown(editor, losses, ["double-backward"])
    write(folder, {"run.py": TRAIN_WITH_LOSS.replace("total(", "print(")})
    change = types.FileEvent((folder / "run.py").as_uri(), types.FileChangeType.Changed)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    await shown(editor, losses, [])


async def test_an_import_hook_of_the_environment_is_not_executed(editor: Editor, tmp_path: Path) -> None:
    text = "from mylib.net import Net\nimport torch\nloss = torch.ones(3, requires_grad=True).exp().sum()\n"
    program = with_hooked_environment(tmp_path, text + "loss.backward()\n" * 2)
    editor.open(program.as_uri(), program.read_text())
    await shown(editor, program.as_uri(), ["double-backward"])
    editor.edit(program.as_uri(), [(0, 0, "import mylib.other\n")])
    assert [found.code for found in await editor.diagnostics_of(program.as_uri())] == ["double-backward"]
    assert not ran(program)


@pytest_lsp.fixture(config=server(REAL))
async def puller(lsp_client: Editor) -> AsyncIterator[None]:
    pulls = types.DiagnosticClientCapabilities(related_document_support=True)
    await lsp_client.begin(
        types.ClientCapabilities(text_document=types.TextDocumentClientCapabilities(diagnostic=pulls))
    )
    yield
    await lsp_client.shutdown_session()


async def pulled(editor: Editor, uri: str) -> types.RelatedFullDocumentDiagnosticReport:
    request = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
    answer = await asyncio.wait_for(editor.text_document_diagnostic_async(request), PATIENCE)
    assert isinstance(answer, types.RelatedFullDocumentDiagnosticReport)
    return answer


@pytest.mark.asyncio(loop_scope="function")
async def test_a_client_that_asks_is_told_of_the_other_file_in_the_answer(puller: Editor, folder: Path) -> None:
    train, losses = uris(folder, "train.py", "losses.py")
    puller.open(train, TRAIN_WITH_LOSS)
    answer = await pulled(puller, train)
    assert list(answer.items) == []
    assert answer.related_documents is not None
    assert [each.code for each in answer.related_documents[losses].items] == ["double-backward"]
    puller.replace(train, "total(", "print(")
    answer = await pulled(puller, train)
    assert answer.related_documents is not None
    assert list(answer.related_documents[losses].items) == []


@pytest.mark.asyncio(loop_scope="function")
async def test_a_client_that_asks_gets_new_answers_after_a_change_elsewhere(puller: Editor, folder: Path) -> None:
    train, net = uris(folder, "train.py", "models/net.py")
    puller.open(train, TRAIN)
    before = await pulled(puller, train)
    assert [each.code for each in before.items] == ["carried-graph"]
    puller.open(net, NET)
    puller.replace(net, KEPT, DETACHED)
    after = await pulled(puller, train)
    assert list(after.items) == []
    assert after.result_id != before.result_id
