"""What gradpath's server offers beside those of ruff, ty and basedpyright, asked of each in one run.

    PYTHONPATH=tests:server python -m bench.features --rivals ENVIRONMENT/bin        # the table of docs/comparison.md

`pip install ruff ty basedpyright` makes the environment. Each server is started twice as an editor would, once by a
client that takes diagnostics as they are published and once by one that asks for them, and is shown the same file, in
which each of them finds something. A cell says what came back, not what a capability promises.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.client import Server

TEXT = """\
import os
import torch

count: int = "three"
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
absent()
"""
"""A file in which each of them finds something: an unused import, a wrong type, a second backward, an unknown name."""

CLIENT: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "workspace": {
        "workspaceFolders": True,
        "configuration": True,
        "applyEdit": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "diagnostics": {"refreshSupport": True},
        "workspaceEdit": {"documentChanges": True},
    },
    "notebookDocument": {"synchronization": {}},
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        },
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["quickfix", "refactor", "refactor.rewrite", "source", "source.fixAll"]}
            },
            "isPreferredSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "hover": {"contentFormat": ["markdown"]},
        "completion": {"completionItem": {"documentationFormat": ["markdown"]}},
        "inlayHint": {},
        "codeLens": {},
        "semanticTokens": {"requests": {"full": True}, "tokenTypes": [], "tokenModifiers": [], "formats": ["relative"]},
    },
}


@dataclass(frozen=True)
class Tool:
    """A server, and how its command line is asked what it can do."""

    name: str
    server: Sequence[str]
    help: Sequence[str]
    ignore: str
    """How a comment that silences a line begins."""


@dataclass
class Session:
    """A server that was shown `TEXT`."""

    server: Server
    uri: str
    diagnostics: Sequence[Mapping[str, Any]]

    def ask(self, method: str, **params: object) -> Any:
        """The answer to a request about the document, or None where the server has none or refuses."""
        return self.server.request(method, {"textDocument": {"uri": self.uri}, **params})

    def actions(self) -> list[Mapping[str, Any]]:
        """The code actions for each diagnostic and for the file, with their edits."""
        found: list[Mapping[str, Any]] = []
        end = {"line": len(TEXT.splitlines()), "character": 0}
        whole = {"start": {"line": 0, "character": 0}, "end": end}
        for asked in ([each] for each in self.diagnostics):
            found += self.ask("textDocument/codeAction", range=asked[0]["range"], context={"diagnostics": asked}) or ()
        for kind in ("source.fixAll", "refactor"):
            context = {"diagnostics": [], "only": [kind]}
            found += self.ask("textDocument/codeAction", range=whole, context=context) or ()
        return [self._resolved(action) for action in found]

    def _resolved(self, action: Mapping[str, Any]) -> Mapping[str, Any]:
        if "edit" in action or "data" not in action:
            return action
        return {**action, **(self.server.request("codeAction/resolve", action) or {}), "resolved": True}


def tools(rivals: Path | None) -> list[Tool]:
    """gradpath, and those of the others that are in a folder of commands."""
    own = (sys.executable, "-P", "-m", "gradpath")
    found = [Tool("gradpath", (*own, "server"), (*own, "check", "--help"), "# gradpath: ignore[")]
    if rivals is not None:
        ruff, ty, pyright = (str(rivals / name) for name in ("ruff", "ty", "basedpyright"))
        found += [
            Tool("ruff", (ruff, "server"), (ruff, "check", "--help"), "# noqa: "),
            Tool("ty", (ty, "server"), (ty, "check", "--help"), "# ty: ignore["),
            Tool("basedpyright", (f"{pyright}-langserver", "--stdio"), (pyright, "--help"), "# pyright: ignore["),
        ]
    return found


@contextmanager
def session(tool: Tool, *, pull: bool) -> Any:
    """A server that has seen a folder with two files, one of them open; `pull` is a client that asks."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "train.py").write_text(TEXT)
        (root / "closed.py").write_text(TEXT)
        uri = (root / "train.py").as_uri()
        capabilities = CLIENT
        if pull:
            # Most clients can do both, and a server may choose; one that can only ask shows whether it is answered.
            documents = {name: each for name, each in CLIENT["textDocument"].items() if name != "publishDiagnostics"}
            capabilities = {**CLIENT, "textDocument": {**documents, "diagnostic": {"relatedDocumentSupport": True}}}
        server = Server(tool.server, root, capabilities)
        try:
            server.initialize()
            opened = {"uri": uri, "languageId": "python", "version": 1, "text": TEXT}
            server.notify("textDocument/didOpen", {"textDocument": opened})
            found: Sequence[Mapping[str, Any]] = ()
            if pull:
                answer = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
                found = (answer or {}).get("items", ())
            else:
                found = server.published(uri, patience=15.0)
            yield Session(server, uri, found)
        finally:
            server.end()


Probe = Callable[["Session", "Session", Tool], str]
"""From a session that is pushed, one that pulls, and the tool, to what stands in the table: empty for no."""

_PROBES: dict[str, Probe] = {}


def _probe(question: str) -> Callable[[Probe], Probe]:
    def register(probe: Probe) -> Probe:
        _PROBES[question] = probe
        return probe

    return register


@_probe("diagnostics are pushed, and answered when asked for")
def _ways(pushed: Session, pulled: Session, tool: Tool) -> str:
    return " and ".join([*["pushed"] * bool(pushed.diagnostics), *["asked for"] * bool(pulled.diagnostics)])


@_probe("diagnostics of files that are not open")
def _workspace(pushed: Session, pulled: Session, tool: Tool) -> str:
    answer = pulled.server.request("workspace/diagnostic", {"previousResultIds": []}, 10.0) or {}
    commands = (pushed.server.offers.get("executeCommandProvider") or {}).get("commands", ())
    by_command = any("workspace" in command.casefold() for command in commands)
    found = any("closed.py" in item["uri"] and item.get("items") for item in answer.get("items", ()))
    return " and ".join([*["when asked for"] * found, *["by a command"] * by_command])


@_probe("places that belong to a diagnostic (`relatedInformation`)")
def _related(pushed: Session, pulled: Session, tool: Tool) -> str:
    most = max((len(each.get("relatedInformation") or ()) for each in pushed.diagnostics), default=0)
    return f"up to {most} here" if most else ""


@_probe("a link from the diagnostic to its rule")
def _link(pushed: Session, pulled: Session, tool: Tool) -> str:
    links = {(each.get("codeDescription") or {}).get("href", "").partition(":")[0] for each in pushed.diagnostics} - {
        ""
    }
    return ", ".join(sorted(links))


@_probe("tags (unused code fades)")
def _tags(pushed: Session, pulled: Session, tool: Tool) -> str:
    return "yes" if any(each.get("tags") for each in pushed.diagnostics) else ""


@_probe("quick fixes that change the program")
def _fixes(pushed: Session, pulled: Session, tool: Tool) -> str:
    found = [
        each
        for each in pushed.actions()
        if each.get("kind") == "quickfix" and not _ignores(each, tool) and _edits(each)
    ]
    if any(each.get("isPreferred") for each in found):
        return "yes, and one is preferred"
    return "yes" if found else ""


@_probe("a comment that silences the line, as a quick fix")
def _silenced(pushed: Session, pulled: Session, tool: Tool) -> str:
    return "yes" if any(_ignores(each, tool) for each in pushed.actions()) else ""


@_probe("fix all, also on save (`source.fixAll`)")
def _fix_all(pushed: Session, pulled: Session, tool: Tool) -> str:
    kinds = (pushed.server.offers.get("codeActionProvider") or {}).get("codeActionKinds", ())
    return "yes" if any(kind.startswith("source.fixAll") for kind in kinds) else ""


@_probe("hover over a variable")
def _hover(pushed: Session, pulled: Session, tool: Tool) -> str:
    return "yes" if pushed.ask("textDocument/hover", position=_at("loss =")) else ""


@_probe("inlay hints")
def _inlay(pushed: Session, pulled: Session, tool: Tool) -> str:
    return "yes" if "inlayHintProvider" in pushed.server.offers else ""


@_probe("code lenses")
def _lenses(pushed: Session, pulled: Session, tool: Tool) -> str:
    return "yes" if pushed.ask("textDocument/codeLens") else ""


@_probe("notebooks")
def _notebooks(pushed: Session, pulled: Session, tool: Tool) -> str:
    return "yes" if "notebookDocumentSync" in pushed.server.offers else ""


@_probe("completion of rules in the silencing comment")
def _completion(pushed: Session, pulled: Session, tool: Tool) -> str:
    line = TEXT.splitlines()[-1] + "  " + tool.ignore
    change = {"uri": pushed.uri, "version": 2}
    text = TEXT.rstrip("\n") + "  " + tool.ignore + "\n"
    pushed.server.notify("textDocument/didChange", {"textDocument": change, "contentChanges": [{"text": text}]})
    place = {"line": len(TEXT.splitlines()) - 1, "character": len(line)}
    answer = pushed.ask("textDocument/completion", position=place) or ()
    items = answer.get("items", ()) if isinstance(answer, dict) else answer
    rules = {str(each.get("code")) for each in pushed.diagnostics}
    return "yes" if any(each["label"] in rules for each in items) else ""


@_probe("navigation, renaming, signatures")
def _navigation(pushed: Session, pulled: Session, tool: Tool) -> str:
    return "yes" if "definitionProvider" in pushed.server.offers else ""


@_probe("formatting")
def _formatting(pushed: Session, pulled: Session, tool: Tool) -> str:
    return "yes" if "documentFormattingProvider" in pushed.server.offers else ""


_OPTIONS = {
    "fixes from the command line": ("--fix",),
    "their difference, without writing": ("--diff",),
    "a watch": ("--watch",),
    "a baseline": ("--baseline", "--baselinefile"),
    "comments for all that is found": ("--add-noqa", "--add-ignores", "--add-ignore"),
    "one rule more or less": ("--select", "--ignore"),
    "files left out": ("--exclude",),
    "a file for the output": ("--output-file",),
    "exit 0 whatever is found": ("--exit-zero",),
    "counts of what was found": ("--statistics", "--stats"),
    "standard input": ("--stdin-filename",),
}

_FORMATS = ("json", "sarif", "github", "gitlab", "junit")


def _options(tool: Tool) -> dict[str, str]:
    words = subprocess.run(tool.help, capture_output=True, text=True, check=False).stdout
    named = set(re.findall(r"--[a-z-]+", words))
    cells = {question: "yes" if named & set(options) else "" for question, options in _OPTIONS.items()}
    formats = [each for each in _FORMATS if re.search(rf"\b{each}\b|--output{each}\b|--{each}", words)]
    return {**cells, "reports for other programs": ", ".join(formats)}


def _ignores(action: Mapping[str, Any], tool: Tool) -> bool:
    return any(tool.ignore.strip("[ ") in edit["newText"] for edit in _edits(action))


def _edits(action: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    edit = action.get("edit") or {}
    changes = [*(edit.get("changes") or {}).values(), *(each["edits"] for each in edit.get("documentChanges") or ())]
    return [each for several in changes for each in several]


def _at(text: str) -> dict[str, int]:
    line = next(number for number, each in enumerate(TEXT.splitlines()) if each.startswith(text))
    return {"line": line, "character": 1}


def measure(tool: Tool) -> dict[str, str]:
    """What each question is answered with; empty for no."""
    with session(tool, pull=False) as pushed, session(tool, pull=True) as pulled:
        return {**{question: probe(pushed, pulled, tool) for question, probe in _PROBES.items()}, **_options(tool)}


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """The answers as Markdown, a column for each tool."""
    names = list(columns)
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for question in columns[names[0]]:
        lines.append(f"| {question} | {' | '.join(columns[name][question] or 'no' for name in names)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.features")
    parser.add_argument("--rivals", type=Path, help="the folder with the commands of the other tools")
    arguments = parser.parse_args()
    print(table({tool.name: measure(tool) for tool in tools(arguments.rivals)}))


if __name__ == "__main__":
    main()
