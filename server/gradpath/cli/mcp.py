"""`gradpath mcp`: commands of gradpath as tools of a coding assistant, by the Model Context Protocol.

Messages are JSON-RPC, one a line, on standard input and output. Each call is a process of its own, so that it sees the
files as they are, and may take as long as it likes without harm to the next.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import gradpath
from gradpath.cli.status import CLEAN, FOUND
from gradpath.cli.terminal import expect_program
from gradpath.support.fast_dataclasses import dataclass

_VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of the protocol in which tools are alike, the newest first."""

_PATIENCE = 120.0
"""Seconds that a call may take."""

_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602

_INSTRUCTIONS = (
    "gradpath finds PyTorch autograd mistakes by reading programs, which it never runs. Check training code after you "
    "write or change it; take the fix that is preferred, or read the page of the rule. Do not silence an error with "
    "retain_graph=True, .detach(), .clone() or .data: each may leave a model that learns nothing."
)

Arguments = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Tool:
    """The description of a tool for assistants, with the arguments and the standard input of its command.

    `silence` is what it means that the command has nothing to say, where that is no failure.
    """

    summary: str
    properties: Mapping[str, str]
    required: tuple[str, ...]
    command: Callable[[Arguments], tuple[list[str], str]]
    silence: str = ""

    def described(self, name: str) -> dict[str, Any]:
        """The tool as the protocol lists it."""
        properties = {each: {"type": "string", "description": said} for each, said in self.properties.items()}
        schema = {"type": "object", "properties": properties, "required": list(self.required)}
        hints = {"readOnlyHint": True, "openWorldHint": False}
        return {"name": name, "description": self.summary, "inputSchema": schema, "annotations": hints}


_PROGRAM = {
    "path": "a Python file, a notebook or a folder (default: the current folder)",
    "text": "a program instead of a file; `path` is then its name",
}


def _checking(*words: str) -> Callable[[Arguments], tuple[list[str], str]]:
    """The command that checks what a file, a folder or a text holds."""

    def command(given: Arguments) -> tuple[list[str], str]:
        check = ["check", "--no-cache", "--quiet", *words]
        if "text" in given:
            return [*check, f"--stdin-filename={given.get('path', 'program.py')}", "-"], given["text"]
        return [*check, "--", given.get("path", ".")], ""

    return command


_TOOLS: Mapping[str, _Tool] = {
    "check": _Tool(
        "Find autograd mistakes in PyTorch code: JSON with each mistake, its story in the order of execution, and the "
        "fixes, which were tried. An `error` raises on every run that reaches it; a `warning` names its condition.",
        _PROGRAM,
        (),
        _checking("--output-format", "json"),
    ),
    "repair": _Tool(
        "The difference that the safe fixes of all mistakes make, to be applied; nothing is written. `check` tells of "
        "the fixes that a person decides on.",
        _PROGRAM,
        (),
        _checking("--diff"),
        "no mistake here has a safe fix: `check` tells of the others",
    ),
    "explain": _Tool(
        "Explain a traceback of an autograd error: where the graph was built, freed or overwritten in "
        "the files that it names, and the ways out.",
        {"traceback": "the traceback, or a log around it"},
        ("traceback",),
        lambda given: (["explain", "-"], given["traceback"]),
    ),
    "rule": _Tool(
        "The page of a rule: what the mistake is, programs that fail and that run, the way out. Without an id: all.",
        {"id": "a rule such as double-backward"},
        (),
        lambda given: (["rule", *(["--", given["id"]] if "id" in given else [])], ""),
    ),
    "flow": _Tool(
        "Which parameters get gradients from which backward, where a way is cut, and which step updates what: a table.",
        {"path": "a Python file or a notebook; `train.py:24` for the calls on a line"},
        ("path",),
        lambda given: (["flow", "--", given["path"]], ""),
    ),
    "why": _Tool(
        "Say why a module or a parameter gets no gradient, or what trains it.",
        {"path": "a Python file or a notebook", "name": "a module, a parameter or an optimizer, such as `encoder`"},
        ("path", "name"),
        lambda given: (["why", "--", given["path"], given["name"]], ""),
    ),
}


class _Refused(Exception):
    """A request that cannot be answered: the number of the protocol, and the reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def configure(parser: argparse.ArgumentParser) -> None:
    """`gradpath mcp` takes no arguments."""
    parser.epilog = (
        'An assistant starts it by itself: {"mcpServers": {"gradpath": {"command": "gradpath", "args": ["mcp"]}}}'
    )


def run(arguments: argparse.Namespace) -> int:
    """Answer until standard input ends."""
    expect_program("a coding assistant")
    serve(sys.stdin.buffer, sys.stdout.buffer)
    return CLEAN


def serve(inlet: BinaryIO, outlet: BinaryIO) -> None:
    """Answer each line of one stream on the other."""
    for line in inlet:
        answer = _answer_to(line)
        if answer is not None:
            outlet.write(json.dumps({"jsonrpc": "2.0", **answer}).encode() + b"\n")
            outlet.flush()


def _answer_to(line: bytes) -> dict[str, Any] | None:
    """The answer to a message; None for a notification."""
    number = None
    try:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise _Refused(_PARSE_ERROR, "this is not JSON") from None
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            raise _Refused(_INVALID_REQUEST, "this is no request")
        number = message.get("id")
        if number is None:
            return None
        params = message.get("params") or {}
        if not isinstance(params, dict):
            raise _Refused(_INVALID_PARAMS, "the parameters have no names")
        return {"id": number, "result": _result(message["method"], params)}
    except _Refused as refused:
        return {"id": number, "error": {"code": refused.code, "message": str(refused)}}


def _result(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in _VERSIONS else _VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "gradpath", "version": gradpath.__version__},
                "instructions": _INSTRUCTIONS,
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [tool.described(name) for name, tool in _TOOLS.items()]}
        case "tools/call":
            return _call(params.get("name"), params.get("arguments") or {})
    raise _Refused(_NO_METHOD, f"there is no method {method}")


def _call(name: object, given: object) -> dict[str, Any]:
    tool = _TOOLS.get(name) if isinstance(name, str) else None
    if tool is None:
        raise _Refused(_INVALID_PARAMS, f"there is no tool {name}")
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise _Refused(_INVALID_PARAMS, f"the arguments of {name} are texts")
    missing = [each for each in tool.required if each not in given]
    unknown = [each for each in given if each not in tool.properties]
    if missing or unknown:
        raise _Refused(
            _INVALID_PARAMS, f"{name} takes {', '.join(tool.properties)}; not {', '.join(missing + unknown)}"
        )
    text, failed = _told(*tool.command(given), tool.silence)
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _told(words: list[str], given: str, silence: str) -> tuple[str, bool]:
    """The output of a command, and whether it failed."""
    program = str(Path(gradpath.__file__).with_name("__main__.py"))
    try:
        done = subprocess.run(
            [sys.executable, "-X", "utf8", program, *words],
            input=given.encode(errors="replace"),
            capture_output=True,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"gradpath had no answer after {_PATIENCE:.0f} seconds", True
    except (OSError, ValueError) as error:
        return f"gradpath cannot be started: {error}", True
    told = done.stdout.decode(errors="replace")
    if done.returncode in (CLEAN, FOUND) and (told.strip() or silence):
        return told if told.strip() else silence, False
    return told if told.strip() else done.stderr.decode(errors="replace"), True
