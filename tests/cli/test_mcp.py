"""`gradpath mcp` speaks with a coding assistant's client as the Model Context Protocol wants it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gradpath

TWICE = """\
import torch

w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""
FROZEN = """\
import torch
from torch import nn

body, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
loss = head(body(torch.rand(2, 4)).detach()).sum()
loss.backward()
optimizer.step()
"""


class Client:
    """A client of a server that runs in a folder."""

    def __init__(self, folder: Path) -> None:
        program = str(Path(gradpath.__file__).with_name("__main__.py"))
        command = [sys.executable, program, "mcp"]
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._last = 0

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        self._last += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}).encode())
        answer = self.hear()
        assert answer["id"] == self._last
        return answer

    def call(self, name: str, /, **arguments: str) -> tuple[str, bool]:
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        (content,) = result["content"]
        return str(content["text"]), bool(result["isError"])


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    made = Client(tmp_path)
    hello = made.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "test"})
    assert hello["result"]["protocolVersion"] == "2025-03-26"
    made.say(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    yield made
    made.process.communicate(timeout=30)
    assert made.process.returncode == 0


def test_tools_are_listed_with_what_they_take(client: Client) -> None:
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert set(tools) == {"check", "repair", "explain", "rule", "flow", "why"}
    assert tools["why"]["inputSchema"]["required"] == ["path", "name"]


def test_a_file_and_a_text_are_checked(client: Client, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWICE)
    for arguments in ({"path": "train.py"}, {"text": TWICE, "path": "train.py"}):
        text, failed = client.call("check", **arguments)
        (found,) = json.loads(text)["diagnostics"]
        assert not failed
        assert (found["path"], found["rule"], found["range"]["start"]["line"]) == ("train.py", "double-backward", 6)
        assert found["fixes"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def test_a_traceback_a_rule_and_a_module_are_explained(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(TWICE)
    run = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd=tmp_path)
    assert "Trying to backward through the graph a second time" in run.stderr
    assert "Ways out" in client.call("explain", traceback=run.stderr)[0]
    assert client.call("rule", id="double-backward")[0].startswith("# double-backward")
    assert "double-backward" in client.call("rule")[0]
    (tmp_path / "frozen.py").write_text(FROZEN)
    assert "detach" in client.call("why", path="frozen.py", name="body")[0]


def test_what_a_safe_fix_changes_is_told_and_not_written(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(TWICE)
    text, failed = client.call("repair", path="train.py")
    assert not failed
    assert "-loss.backward()" in text.splitlines()
    assert file.read_text() == TWICE
    assert client.call("repair", text=TWICE, path="other.py")[0].startswith("--- other.py")
    assert client.call("repair", text="import torch\n") == (
        "no mistake here has a safe fix: `check` tells of the others",
        False,
    )
    assert client.call("repair", path="absent.py")[1]


async def test_the_client_of_the_official_sdk_uses_each_tool(tmp_path: Path) -> None:
    mcp, stdio = pytest.importorskip("mcp"), pytest.importorskip("mcp.client.stdio")
    (tmp_path / "train.py").write_text(TWICE)
    (tmp_path / "frozen.py").write_text(FROZEN)
    run = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True, cwd=tmp_path)
    asked = {
        "check": ({"path": "train.py"}, '"rule": "double-backward"'),
        "repair": ({"path": "train.py"}, "\n-loss.backward()\n"),
        "explain": ({"traceback": run.stderr}, "Ways out"),
        "rule": ({"id": "double-backward"}, "# double-backward"),
        "flow": ({"path": "frozen.py"}, "updates by"),
        "why": ({"path": "frozen.py", "name": "body"}, "detach"),
    }
    program = str(Path(gradpath.__file__).with_name("__main__.py"))
    server = mcp.StdioServerParameters(command=sys.executable, args=[program, "mcp"], cwd=tmp_path)
    async with stdio.stdio_client(server) as streams, mcp.ClientSession(*streams[:2]) as session:
        await session.initialize()
        assert {tool.name for tool in (await session.list_tools()).tools} == set(asked)
        for name, (arguments, told) in asked.items():
            assert told in (await session.call_tool(name, arguments)).content[0].text, name


def test_what_cannot_be_answered_is_said(client: Client) -> None:
    assert client.call("check", path="--fix")[1]
    text, failed = client.call("rule", id="no-such-rule")
    assert failed
    assert "unknown rule" in text
    assert client.ask("tools/call", name="check", arguments={"folder": "."})["error"]["code"] == -32602
    assert client.ask("tools/call", name="fix", arguments={})["error"]["code"] == -32602
    assert client.ask("resources/list")["error"]["code"] == -32601
    client.say(b"not JSON")
    assert client.hear()["error"]["code"] == -32700
    assert client.ask("ping")["result"] == {}
