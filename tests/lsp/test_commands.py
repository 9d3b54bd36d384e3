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
    assert "double-backward" in told
    assert "line 4" in told or ":4" in told or "4 |" in told


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
