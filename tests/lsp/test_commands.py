"""The commands of the server, as an editor's extension sends them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from gradpath.lsp.uris import path_of
from gradpath.rules import RULES
from tests.lsp.harness import ENVIRONMENT, PATIENCE, REAL, Editor, server

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAM = """\
import torch
w = torch.randn(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
"""


@pytest_lsp.fixture(scope="module", config=server(REAL))
async def editor(lsp_client: Editor) -> AsyncIterator[None]:
    await lsp_client.begin("visual_studio_code")
    yield
    await lsp_client.shutdown_session()


async def execute(editor: Editor, command: str, *arguments: Any) -> Any:
    params = types.ExecuteCommandParams(command=command, arguments=list(arguments))
    return await asyncio.wait_for(editor.workspace_execute_command_async(params), PATIENCE)


async def test_the_graph_of_a_line_comes_as_a_picture(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    editor.open(uri, PROGRAM)
    picture = await execute(editor, "gradpath.server.graph", uri, 3)
    assert picture["title"] == "Graph of loss"
    boxes = ElementTree.fromstring(picture["svg"]).iter("{http://www.w3.org/2000/svg}g")
    assert {box.get("data-path") for box in boxes if box.get("data-line")} == {uri}


async def test_a_line_without_a_graph_has_no_picture(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    editor.open(uri, PROGRAM)
    assert await execute(editor, "gradpath.server.graph", uri, 0) is None


async def test_each_rule_has_a_page_to_open(editor: Editor) -> None:
    rules = await execute(editor, "gradpath.server.rules")
    assert [rule["id"] for rule in rules] == list(RULES)
    for rule in rules:
        assert Path(path_of(rule["uri"])).read_text(encoding="utf-8") == RULES[rule["id"]].page
        assert rule["page"].startswith(f"# {rule['id']}\n\n*Level: ")


async def completed(editor: Editor, uri: str, line: int) -> dict[str, str]:
    """What is offered at the end of a line, and the line as it is with it; columns count UTF-16 units."""
    text = editor.texts[uri].splitlines()[line].encode("utf-16-le")
    params = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(line, len(text) // 2))
    found = await asyncio.wait_for(editor.text_document_completion_async(params), PATIENCE)
    made = {}
    for item in found or []:
        place, new = item.text_edit.range, item.text_edit.new_text.encode("utf-16-le")
        made[item.label] = (text[: 2 * place.start.character] + new + text[2 * place.end.character :]).decode(
            "utf-16-le"
        )
    return made


async def test_the_names_of_rules_are_completed_where_a_comment_silences_them(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "silent.py").as_uri()
    editor.open(
        uri,
        "x = '\N{GRINNING FACE}'  # gradpath: ignore[double-b\n# gradpath: ignore-file[loop, carried-graph, \n"
        "y = 1  # gradpath: ignore[double-backward] and\nz = data[do\n",
    )
    first = await completed(editor, uri, 0)
    assert set(first) == set(RULES)
    assert first["double-backward"] == "x = '\N{GRINNING FACE}'  # gradpath: ignore[double-backward"
    second = await completed(editor, uri, 1)
    assert set(second) == set(RULES) - {"carried-graph"}
    assert second["detached-loss"] == "# gradpath: ignore-file[loop, carried-graph, detached-loss"
    assert await completed(editor, uri, 2) == {}
    assert await completed(editor, uri, 3) == {}


async def test_a_traceback_is_explained(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(PROGRAM + "loss.backward()\n")
    traceback = f"""\
Traceback (most recent call last):
  File "{file}", line 5, in <module>
    loss.backward()
RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have \
already been freed).
"""
    told = await execute(editor, "gradpath.server.explain", traceback)
    assert told["found"]
    assert "double-backward" in told["text"]
    assert f"{file}:5:1: error" in told["text"]
    # Only what has no space to break at is longer than a page beside the code.
    assert all(len(line) <= 80 or str(file) in line for line in told["text"].splitlines())
    assert "after they have already been freed" in " ".join(told["text"].split())
    assert not (await execute(editor, "gradpath.server.explain", "no traceback"))["found"]


@pytest.mark.parametrize(
    "arguments", [None, [], ["file:///x.py"], ["file:///x.py", -1], ["file:///x.py", 10**30], ["file:///x.py", "x"]]
)
async def test_arguments_that_make_no_sense_are_refused_without_a_word_in_the_log(
    editor: Editor, arguments: list[Any] | None
) -> None:
    editor.log_messages.clear()
    with pytest.raises(JsonRpcInvalidParams):
        await asyncio.wait_for(
            editor.workspace_execute_command_async(types.ExecuteCommandParams("gradpath.server.graph", arguments)),
            PATIENCE,
        )
    assert editor.log_messages == []


async def test_a_path_of_thousands_of_folders_is_a_path(editor: Editor) -> None:
    editor.log_messages.clear()
    uri = "file:///" + "a/" * 3000 + "x.py"
    editor.open(uri, PROGRAM + "loss.backward()\n")
    assert [found.code for found in await editor.diagnostics_of(uri)] == ["double-backward"]
    assert editor.log_messages == []


async def test_pictures_go_with_the_session(tmp_path: Path) -> None:
    session = Editor()
    command, *arguments = REAL
    await session.start_io(command, *arguments, env={**ENVIRONMENT, "TMPDIR": str(tmp_path)})
    await session.begin("visual_studio_code")
    uri = (tmp_path / "train.py").as_uri()
    session.open(uri, PROGRAM)
    for line in (2, 3, 3):
        await execute(session, "gradpath.graph", uri, line)
    pictures = sorted(tmp_path.glob("*/*.svg"))
    assert len(pictures) == 2
    assert len({picture.parent for picture in pictures}) == 1
    await session.shutdown_session()
    assert await session.errors() == ""
    assert list(tmp_path.iterdir()) == []


TRAINED = """\
import torch
from torch import nn
encoder, head = nn.Linear(2, 2), nn.Linear(2, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
loss = head(encoder(torch.ones(1, 2)).detach()).sum()
loss.backward()
optimizer.step()
"""


async def test_the_flow_of_a_document_comes_as_a_table_and_as_a_picture(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    editor.open(uri, TRAINED)
    flow = await execute(editor, "gradpath.server.flow", uri, None)
    assert flow["title"] == "Flow of train.py"
    assert "  encoder (2)  cut  |  idle\n" in flow["text"]
    boxes = ElementTree.fromstring(flow["svg"]).iter("{http://www.w3.org/2000/svg}g")
    assert {box.get("data-line") for box in boxes if box.get("data-path") == uri} == {"5", "6", "7"}
    assert "loss.backward()" not in (await execute(editor, "gradpath.server.flow", uri, 6))["text"]
    editor.open(uri, PROGRAM.replace("loss.backward()\n", ""))
    assert await execute(editor, "gradpath.server.flow", uri, None) is None


async def test_a_name_is_answered_as_the_command_line_does(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    editor.open(uri, TRAINED)
    told = await execute(editor, "gradpath.server.why", uri, 2, 1)
    assert told.startswith("`encoder` (2 parameters) gets no gradient\n")
    assert "on line 5 cuts it off" in told
    assert await execute(editor, "gradpath.server.why", uri, 0, 2) is None


async def test_a_client_without_an_extension_is_shown_the_answer(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    editor.open(uri, TRAINED)
    editor.messages.clear()
    await execute(editor, "gradpath.why", uri, 2, 1)
    assert "`encoder` (2 parameters) gets no gradient" in editor.messages[-1].message


async def offers(editor: Editor, uri: str, character: int, **context: Any) -> list[Any]:
    """What is offered in the third line; `lsprotocol` takes an action with a command for the command alone."""
    place = types.Range(types.Position(2, character), types.Position(2, character))
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(uri), place, types.CodeActionContext(diagnostics=[], **context)
    )
    return list(await asyncio.wait_for(editor.text_document_code_action_async(params), PATIENCE) or ())


async def test_who_trains_a_module_is_offered_on_its_name_where_a_person_asks(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    editor.open(uri, TRAINED)
    [action] = await offers(editor, uri, 1, trigger_kind=types.CodeActionTriggerKind.Invoked)
    assert action.title == "gradpath: What trains `encoder`?"
    assert "'gradpath.why'" in action.command
    assert await offers(editor, uri, 1, trigger_kind=types.CodeActionTriggerKind.Automatic) == []
    assert await offers(editor, uri, 1, only=[types.CodeActionKind.QuickFix]) == []
    assert await offers(editor, uri, 18) == []


async def test_a_line_above_a_backward_shows_its_graph_and_one_above_a_step_the_flow(
    editor: Editor, tmp_path: Path
) -> None:
    uri = (tmp_path / "train.py").as_uri()
    editor.open(uri, TRAINED)
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    found = await asyncio.wait_for(editor.text_document_code_lens_async(params), PATIENCE)
    shown = [(lens.command.title, lens.command.command) for lens in found or () if lens.command is not None]
    assert shown == [
        ("gradients for `head` (2)", "gradpath.graph"),
        ("updates `head` (2); `encoder` (2) gets no gradient", "gradpath.flow"),
    ]
