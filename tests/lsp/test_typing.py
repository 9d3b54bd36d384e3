"""A training loop is typed key by key into a file whose model comes from another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_lsp
from lsprotocol import types

from tests.lsp.harness import PATIENCE, REAL, Editor, server

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.body(x)
"""
FILLER = "".join(f"\n\ndef report_{number}(value):\n    print('epoch', {number}, value)\n" for number in range(75))
HEAD = f"""\
import torch
import torch.nn.functional as F

from net import Net
{FILLER}

model = Net(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOOP = """\
for step in range(10):
    logits = model(torch.randn(5, 3))
    loss = F.cross_entropy(logits, torch.randint(0, 2, (5,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""
AGAIN = "    loss.backward()\n"


@pytest_lsp.fixture(config=server(REAL))
async def editor(lsp_client: Editor) -> AsyncIterator[None]:
    await lsp_client.begin("visual_studio_code")
    yield
    await lsp_client.shutdown_session()
    assert await lsp_client.errors() == ""
    assert lsp_client.log_messages == []


async def test_a_report_comes_with_the_mistake_and_goes_with_it(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET, encoding="utf-8")
    (tmp_path / "train.py").write_text(HEAD, encoding="utf-8")
    uri = (tmp_path / "train.py").as_uri()
    editor.open(uri, HEAD)
    assert await editor.diagnostics_of(uri) == []

    for key in LOOP:
        typed(editor, uri, key)
        assert graver(await editor.diagnostics_of(uri)) == [], editor.texts[uri][-60:]
    at = editor.texts[uri].index(AGAIN) + len(AGAIN)
    editor.edit(uri, [(at, at, "\n")])
    for count, key in enumerate(AGAIN.rstrip()):
        editor.edit(uri, [(at + count, at + count, key)])
        told = graver(await editor.diagnostics_of(uri))
        assert told == ["double-backward"] * (count >= AGAIN.index(")")), AGAIN[: count + 1]

    found = await editor.diagnostics_of(uri)
    assert editor.covered(uri, found[0].range) == "loss.backward()"
    hover = await asyncio.wait_for(
        editor.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), editor.position(uri, at + AGAIN.index("loss")))
        ),
        PATIENCE,
    )
    assert hover is not None
    lenses = await asyncio.wait_for(
        editor.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri))), PATIENCE
    )
    assert len(lenses or ()) == 1  # The second one raises.
    fixes = [action for action in await editor.actions(uri, AGAIN + "    optimizer") if action.edit is not None]
    assert fixes

    for count in range(len(AGAIN), 0, -1):
        editor.edit(uri, [(at + count - 1, at + count, "")])
    assert graver(await editor.diagnostics_of(uri)) == []
    assert editor.texts[uri] == HEAD + LOOP


async def test_a_class_that_is_half_typed_in_another_file_is_no_reason_for_a_report(
    editor: Editor, tmp_path: Path
) -> None:
    for name, text in (("net.py", NET), ("train.py", HEAD + LOOP)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    net, uri = (tmp_path / "net.py").as_uri(), (tmp_path / "train.py").as_uri()
    for each, text in ((net, NET), (uri, HEAD + LOOP)):
        editor.open(each, text)
        assert await editor.diagnostics_of(each) == []

    line = "        return self.body(x)\n"
    start = NET.index(line)
    editor.replace(net, line, "")
    await editor.diagnostics_of(net)
    editor.published.clear()
    for count, key in enumerate(line):
        editor.edit(net, [(start + count, start + count, key)])
        await editor.diagnostics_of(net)
    await editor.publication(lambda params: params.uri == uri)
    for published in editor.published:
        assert graver(published.diagnostics) == []


def typed(editor: Editor, uri: str, key: str) -> None:
    end = len(editor.texts[uri])
    editor.edit(uri, [(end, end, key)])


def graver(diagnostics: list[types.Diagnostic]) -> list[object]:
    """What an editor underlines, hints left out."""
    grave = (types.DiagnosticSeverity.Error, types.DiagnosticSeverity.Warning)
    return [each.code for each in diagnostics if each.severity in grave]
