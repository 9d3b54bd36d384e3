"""The server with the real analysis: a faulty program is marked, explained and mended, and then runs under PyTorch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types

from tests.documents.grammar import Source
from tests.documents.pytorch import run
from tests.lsp.harness import PROFILES, REAL, Editor, server

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAM = """\
import torch
w = torch.randn(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""
LOOP = """\
import torch
w = torch.randn(3, requires_grad=True)
optimizer, batches = torch.optim.SGD([w]), [torch.rand(3), torch.rand(3)]
for x in batches:
    optimizer.zero_grad()
    loss = (w * x).sum()
    loss.backward()
    optimizer.step()
"""
GAN = """\
import torch
from torch import nn

netG, netD = nn.Linear(4, 8), nn.Linear(8, 1)
optimizerG = torch.optim.SGD(netG.parameters(), lr=0.1)
optimizerD = torch.optim.SGD(netD.parameters(), lr=0.1)
noise = torch.randn(16, 4)
fake = netG(noise)
errD = netD(torch.randn(16, 8)).mean() - netD(fake).mean()
optimizerD.zero_grad()
errD.backward()
optimizerD.step()
optimizerG.zero_grad()
errG = -netD(fake).mean()
errG.backward()
optimizerG.step()
"""
FUNCTION = """

def train(x):
    v = torch.ones(3, requires_grad=True)
    inner = (v * x).sum()
    inner.backward()
"""


@pytest_lsp.fixture(scope="module", params=PROFILES, config=server(REAL))
async def session(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    await lsp_client.begin(request.param)
    yield
    await lsp_client.shutdown_session()
    assert lsp_client.process.returncode == 0
    assert await lsp_client.errors() == ""


@pytest.fixture
def editor(session: Editor) -> Iterator[Editor]:
    yield session
    assert session.log_messages == []


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return (tmp_path / "train.py").as_uri()


def raised(program: str) -> str:
    """What a program raises under PyTorch; empty where it runs to its end."""
    found = run([Source("train.py", program, "train.py", ())], ()).raised
    return "" if found is None else found.message


async def mended(editor: Editor, uri: str, at: str) -> str:
    """The text after the preferred fix."""
    [fix] = [action for action in await editor.actions(uri, at) if action.is_preferred]
    return editor.after(uri, fix.edit)


async def test_a_second_backward_is_marked_with_its_story(editor: Editor, uri: str) -> None:
    editor.open(uri, PROGRAM)
    [found] = await editor.diagnostics_of(uri)
    assert (found.code, found.severity) == ("double-backward", types.DiagnosticSeverity.Error)
    assert found.range == types.Range(types.Position(4, 0), types.Position(4, 15))
    last_line = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(4, 8))
    hover = await editor.text_document_hover_async(last_line)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert found.message.splitlines()[0].replace("_", "") in hover.contents.value.replace("\\_", "")


async def test_only_help_that_was_tried_is_published(editor: Editor, uri: str) -> None:
    editor.open(uri, GAN)
    [found] = await editor.diagnostics_of(uri)
    [proved] = await editor.publication(
        lambda params: params.uri == uri and any("\nhelp: " in each.message for each in params.diagnostics)
    )
    assert proved.message.startswith(f"{found.message.splitlines()[0]}\nhelp: ")
    [first, *_] = [action for action in await editor.actions(uri, "errG.backward()") if action.is_preferred]
    title = first.title.removeprefix("gradpath: ")
    assert proved.message.endswith(title[:1].lower() + title[1:])
    told = [each.message for params in editor.published if params.uri == uri for each in params.diagnostics]
    assert set(told) <= {found.message, proved.message}


async def test_a_person_who_asks_is_offered_other_forms_of_a_loop(editor: Editor, uri: str) -> None:
    editor.open(uri, LOOP)
    [form] = await editor.actions(uri, "loss = ", ["refactor.rewrite"])
    assert (form.title, form.is_preferred) == ("gradpath (unsafe): Accumulate gradients over 4 micro-batches", None)
    written = editor.after(uri, form.edit)
    assert "(loss / 4).backward()" in written
    assert raised(written) == ""
    line = editor.position(uri, LOOP.index("loss = "))
    context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Automatic)
    asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), types.Range(line, line), context)
    assert not await editor.text_document_code_action_async(asked)


async def test_half_typed_code_gets_fixes_that_were_tried(editor: Editor, uri: str) -> None:
    editor.open(uri, GAN + "\nprint(errG.item()\n")
    titles = [action.title for action in await editor.actions(uri, "errG.backward()")]
    assert titles[0] == "gradpath: Detach `fake` on line 9"
    assert sum(title.startswith("gradpath: Detach") for title in titles) == 1


async def test_a_hover_tells_the_ways_out_that_were_tried(editor: Editor, uri: str) -> None:
    editor.open(uri, GAN)
    hover = await editor.hover(uri, "errG.backward()")
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    ways = [line.lstrip("- ") for line in hover.contents.value.splitlines() if line.lstrip("- ").startswith("or: ")]
    assert ways[-1] == "or: keep the graph: `retain_graph=True` on line 11"
    repairs = {action.title for action in await editor.actions(uri, "errG.backward()")}
    assert "gradpath (unsafe): Run line 8 again before line 14: `fake = netG(noise)`" in repairs


async def test_the_story_of_a_value_is_told_wherever_edits_have_moved_it(editor: Editor, uri: str) -> None:
    editor.open(uri, PROGRAM.replace("loss.backward()\n", "", 1) + FUNCTION)
    for above in ("# one line\n", "import os\n\n\n", "x = (\n"):
        editor.edit(uri, [(0, 0, above)])
        for name in ("loss", "inner"):
            line = editor.texts[uri][: editor.texts[uri].index(f"{name} =")].count("\n") + 1
            hover = await editor.hover(uri, f"{name} =")
            assert hover is not None, above
            assert isinstance(hover.contents, types.MarkupContent)
            assert f"built on line {line}" in hover.contents.value
        request = types.CodeLensParams(types.TextDocumentIdentifier(uri))
        lenses = await editor.text_document_code_lens_async(request)
        assert [editor.covered(uri, lens.range) for lens in lenses or ()] == ["loss.backward()", "inner.backward()"]


async def test_its_story_leads_from_the_graph_to_the_call_that_frees_it(editor: Editor, uri: str) -> None:
    editor.open(uri, PROGRAM)
    [found] = await editor.diagnostics_of(uri)
    places = [(place.uri, place.range.start.line) for _, place in editor.story(found)]
    assert places[:2] == [(uri, 2), (uri, 3)]


async def test_its_fix_runs(editor: Editor, uri: str) -> None:
    editor.open(uri, PROGRAM)
    text = await mended(editor, uri, "loss.backward()\nloss.backward()")
    assert "backward through the graph a second time" in raised(PROGRAM)
    assert raised(text) == ""
    editor.edit(uri, [(0, len(PROGRAM), text)])
    assert await editor.diagnostics_of(uri) == []


@pytest.mark.parametrize(
    "text",
    [
        PROGRAM.replace("\n", "\r\n"),
        PROGRAM.replace("\n", "\r"),
        PROGRAM.replace("loss.backward()", "'😀中é'; loss.backward()"),
        "\f\n# \u2028\x85\n" + PROGRAM,
    ],
    ids=["windows", "old macintosh", "emoji", "other separators"],
)
async def test_marks_and_fixes_lie_right(editor: Editor, uri: str, text: str) -> None:
    editor.open(uri, text)
    [found] = await editor.diagnostics_of(uri)
    assert editor.covered(uri, found.range) == "loss.backward()"
    second = text.rindex("loss.backward()")
    span = types.Range(editor.position(uri, second), editor.position(uri, second))
    assert found.range.start == span.start
    request = types.CodeActionParams(types.TextDocumentIdentifier(uri), span, types.CodeActionContext([]))
    answer = await editor.text_document_code_action_async(request)
    [fix] = [each for each in answer or () if isinstance(each, types.CodeAction) and "retain_graph" in each.title]
    kept = text.replace("loss.backward()", "loss.backward(retain_graph=True)", 1)
    assert editor.after(uri, (await editor.resolved(fix)).edit) == kept


async def test_a_suppression_comment_silences_it_at_once(editor: Editor, uri: str) -> None:
    editor.open(uri, PROGRAM)
    actions = await editor.actions(uri, "loss.backward()\nloss.backward()")
    [ignore] = [action for action in actions if action.title == "gradpath: Ignore double-backward on this line"]
    text = editor.after(uri, ignore.edit)
    assert text.splitlines()[4] == "loss.backward()  # gradpath: ignore[double-backward]"
    editor.edit(uri, [(0, len(PROGRAM), text)])
    assert await editor.diagnostics_of(uri) == []


async def test_the_fault_stays_while_code_is_half_typed(editor: Editor, uri: str) -> None:
    editor.open(uri, PROGRAM)
    await editor.diagnostics_of(uri)
    editor.edit(uri, [(len(PROGRAM), len(PROGRAM), "for x in range(\n")])
    assert "double-backward" in [found.code for found in await editor.diagnostics_of(uri)]


async def test_a_fix_that_does_not_help_is_not_offered(editor: Editor, uri: str) -> None:
    """The step in between has changed what the second call needs: keeping the graph would fail in another way."""
    program = (
        "import torch\nw = torch.rand(3, requires_grad=True)\noptimizer = torch.optim.SGD([w], lr=0.1)\n"
        "h = w.exp().pow(2) * w\nh.sum().backward()\noptimizer.step()\nh.mean().backward()\n"
    )
    editor.open(uri, program)
    await editor.diagnostics_of(uri)
    offered = await editor.actions(uri, "h.mean().backward()", ["quickfix"])
    assert not [action.title for action in offered if "retain_graph" in action.title]


async def test_all_of_one_rule_are_mended_together(editor: Editor, uri: str) -> None:
    program = (
        "import torch\nw = torch.rand(3, requires_grad=True)\n"
        "def first():\n    loss = w.exp().sum()\n    loss.backward()\n    loss.backward()\n"
        "def second():\n    loss = w.sin().sum()\n    loss.backward()\n    loss.backward()\n"
    )
    editor.open(uri, program)
    found = await editor.diagnostics_of(uri)
    assert len(found) == 2
    [action] = [
        each
        for each in await editor.actions(uri, "    loss.backward()\n    loss.backward()", ["quickfix"])
        if each.title == "gradpath: Fix all double-backward in this file"
    ]
    after = editor.after(uri, action.edit)
    assert after.count("loss.backward()") == 2
