"""When a part of gradpath fails, hangs or gives up, all else is told in time, and the user hears of it once."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.harness import ENVIRONMENT, HERE, PROFILES, Editor
from tests.names.test_modules import LOOP
from tests.names.trees import with_hooked_environment

TWICE = """\
import torch

w = torch.randn(3, requires_grad=True)
y = w.exp()
y.sum().backward()
y.sum().backward()
"""
WORK = (
    "    torch.ones(3, requires_grad=True).sum().backward()\n"
    + "    n = torch.ones(1, requires_grad=True).exp()\n" * 600
)
MUCH = f"""\
import torch


def work():
{WORK}

def step():
    y = torch.randn(3, requires_grad=True).exp()
    y.sum().backward()
    y.sum().backward()


work()
"""


@pytest.fixture(params=PROFILES)
def profile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def editor(request: pytest.FixtureRequest, profile: str, tmp_path: Path) -> AsyncIterator[Editor]:
    made = Editor()
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path)}
    await made.start_io(sys.executable, str(HERE / "troubled_server.py"), request.param, env=environment)
    await made.begin(profile)
    yield made
    await made.shutdown_session()
    assert await made.errors() == ""


def messages(editor: Editor) -> list[str]:
    return [line.message.splitlines()[0] for line in editor.log_messages]


@pytest.mark.parametrize("editor", ["rule"], indirect=True)
async def test_a_rule_that_fails_costs_its_own_reports_alone(editor: Editor) -> None:
    for name in ("one", "two"):
        uri = f"file:///project/{name}.py"
        editor.open(uri, TWICE)
        found = await editor.diagnostics_of(uri)
        assert [each.code for each in found] == ["double-backward", "incomplete"]
        assert found[1].message.startswith("not fully checked: gradpath failed in its rule inplace-on-saved")
    [told] = messages(editor)
    assert told.startswith("the rule inplace-on-saved failed on the code of the module, at /project/one.py:1: Arith")
    assert "a report to attach to an issue is " in told


@pytest.mark.parametrize("editor", ["budget"], indirect=True)
async def test_what_is_too_much_is_left_out_and_the_rest_is_told(editor: Editor) -> None:
    uri = "file:///project/much.py"
    editor.open(uri, MUCH)
    too_much = "the code of the module is too much to be followed beyond this line"
    fault, hint = await editor.diagnostics_of(uri)
    assert fault.code == "double-backward"
    assert (hint.code, hint.message) == ("incomplete", f"not fully checked: {too_much}")
    assert (hint.severity, hint.code_description, hint.tags) == (types.DiagnosticSeverity.Hint, None, None)
    assert hint.range == types.Range(types.Position(613, 0), types.Position(613, len("work()")))
    editor.replace(uri, "ones(1,", "ones(2,")
    assert [found.code for found in await editor.diagnostics_of(uri)] == ["double-backward", "incomplete"]
    assert messages(editor) == [f"/project/much.py:614: not fully checked: {too_much}"]


@pytest.mark.parametrize("editor", ["budget"], indirect=True)
async def test_while_a_text_is_half_typed_no_hint_comes_and_goes(editor: Editor) -> None:
    uri = "file:///project/much.py"
    editor.open(uri, MUCH)
    assert "incomplete" in [found.code for found in await editor.diagnostics_of(uri)]
    editor.replace(uri, "work()\n", "work(\n")
    assert "incomplete" not in [found.code for found in await editor.diagnostics_of(uri)]


@pytest.mark.parametrize("editor", ["budget"], indirect=True)
async def test_a_hint_that_something_was_not_checked_has_no_actions(editor: Editor) -> None:
    uri = "file:///project/much.py"
    editor.open(uri, MUCH)
    _, hint = await editor.diagnostics_of(uri)
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), hint.range, types.CodeActionContext([hint]))
    actions = await editor.text_document_code_action_async(params)
    assert [action.title for action in actions or ()] == ["Apply all safe gradpath fixes"]


@pytest.mark.parametrize("editor", ["jedi"], indirect=True)
async def test_a_jedi_that_hangs_delays_nothing(editor: Editor, tmp_path: Path) -> None:
    text = LOOP.format(imports="from mylib.net import Net\nimport mylib.a, mylib.b, mylib.c", net="Net")
    train = with_hooked_environment(tmp_path, text)
    editor.open(train.as_uri(), f"{text}\n{TWICE}")
    assert [found.code for found in await editor.diagnostics_of(train.as_uri())] == ["double-backward"]
    await editor.log_line("jedi does not answer")
    editor.replace(train.as_uri(), "y = w.exp()", "y = w.exp() * 2")
    assert [found.code for found in await editor.diagnostics_of(train.as_uri())] == ["double-backward"]
    assert messages(editor) == ["jedi does not answer: imports that only it can find stay unknown"]
