"""The server inside another program says what it says over a stream, and starts no process and no thread."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from gradpath.analysis import trials
from gradpath.lsp.embedded import begin

SECOND = """\
import torch

w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""
URI = "file:///nowhere/train.py"
LINKS: tuple[tuple[dict[str, object], str], ...] = (
    ({}, "/rules/double_backward.md"),
    ({"documentation": "https://x.org/"}, "https://x.org/rules/double-backward.html"),
)


class Editor:
    """Says messages and waits for others."""

    def __init__(self) -> None:
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._tell = begin(lambda text: self._said.put_nowait(json.loads(text)))

    def notify(self, method: str, params: object) -> None:
        self._tell(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    async def ask(self, method: str, params: object) -> Any:
        self._tell(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        return (await self.hear(lambda message: message.get("id") == 1 and "method" not in message))["result"]

    async def hear(self, wanted: Any) -> dict[str, Any]:
        while not wanted(message := await asyncio.wait_for(self._said.get(), 60)):
            pass
        return message

    async def diagnostics(self) -> list[dict[str, Any]]:
        message = await self.hear(lambda message: message.get("method") == "textDocument/publishDiagnostics")
        return list(message["params"]["diagnostics"])


async def opened(text: str, **options: object) -> Editor:
    """An editor that has opened a program."""
    editor = Editor()
    capabilities = {"textDocument": {"publishDiagnostics": {"relatedInformation": True, "versionSupport": True}}}
    begin = {"processId": None, "rootUri": None, "capabilities": capabilities, "initializationOptions": options}
    await editor.ask("initialize", begin)
    editor.notify("initialized", {})
    document = {"uri": URI, "languageId": "python", "version": 1, "text": text}
    editor.notify("textDocument/didOpen", {"textDocument": document})
    return editor


async def test_an_edit_is_checked_between_two_trials_of_fixes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check is a turn: what comes in is heard before the next one, and what was tried is not tried again."""
    editor = await opened(SECOND)
    (found,) = await editor.diagnostics()
    tried: list[str] = []
    check = trials.check
    edit = {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": SECOND + "# more\n"}]}

    def checked(document: Any, *arguments: Any, **options: Any) -> Any:
        tried.append(document.text)
        if len(tried) == 2:
            asyncio.get_running_loop().call_soon(editor.notify, "textDocument/didChange", edit)
        return check(document, *arguments, **options)

    monkeypatch.setattr(trials, "check", checked)
    place = {"textDocument": {"uri": URI}, "range": found["range"], "context": {"diagnostics": []}}
    asking = asyncio.ensure_future(editor.ask("textDocument/codeAction", place))
    while not any("# more" in text for text in tried):
        await asyncio.sleep(0.01)
    before = next(number for number, text in enumerate(tried) if "# more" in text)
    assert before <= 3
    assert any("retain_graph" in action["title"] for action in await asking)
    assert len(tried[before:]) == len(set(tried[before:])) > 2


async def test_a_rule_is_linked_to_the_site_that_an_editor_names() -> None:
    for options, page in LINKS:
        (found,) = await (await opened(SECOND, **options)).diagnostics()
        assert found["codeDescription"]["href"].endswith(page)


async def test_a_program_is_checked_told_of_drawn_and_mended() -> None:
    threads = threading.active_count()
    editor = await opened(SECOND)
    (found,) = await editor.diagnostics()
    assert found["code"] == "double-backward"
    assert found["relatedInformation"]
    place = {"textDocument": {"uri": URI}, "range": found["range"]}
    actions = await editor.ask("textDocument/codeAction", {**place, "context": {"diagnostics": []}})
    assert any("retain_graph" in action["title"] for action in actions)
    told = await editor.ask("textDocument/hover", {**place, "position": found["range"]["start"]})
    assert "PyTorch: RuntimeError" in told["contents"]["value"]
    arguments = {"command": "gradpath.server.graph", "arguments": [URI, 4]}
    drawn = await editor.ask("workspace/executeCommand", arguments)
    assert drawn["svg"].startswith("<svg")
    change = {
        "textDocument": {"uri": URI, "version": 2},
        "contentChanges": [{"text": SECOND.replace("d()\nl", "d()\n# l")}],
    }
    editor.notify("textDocument/didChange", change)
    assert await editor.diagnostics() == []
    # A picture is turned into text on a thread of asyncio's own, where there are any.
    others = [each for each in threading.enumerate() if not each.name.startswith("asyncio_")]
    assert len(others) <= threads
