"""A client that talks with a server over whatever carries messages, and asks for all that a server can be asked."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

PATIENCE = 30.0
"""Seconds after which an answer that does not come fails a test."""

Message = dict[str, Any]


def framed(message: Message) -> bytes:
    """A message as it goes over a stream."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def read_frames(stream: IO[bytes]) -> Iterator[str]:
    """The bodies of the messages in a stream."""
    length = 0
    while line := stream.readline():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        elif not line.strip():
            yield stream.read(length).decode()


class Conversation:
    """A session with a server; `send` takes a message, and `bodies` gives what the server says."""

    def __init__(self, send: Callable[[Message], None], bodies: Iterator[str]) -> None:
        self._send = send
        self._news: SimpleQueue[Message] = SimpleQueue()
        self._number = 0
        threading.Thread(target=self._read, args=(bodies,), daemon=True).start()

    def _read(self, bodies: Iterator[str]) -> None:
        with suppress(OSError, ValueError):  # The test has closed the stream.
            for body in bodies:
                self._news.put(json.loads(body))

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Any = None) -> Any:
        """Ask, and wait for the answer."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        answer = self.until(lambda each: each.get("id") == self._number and "method" not in each)
        assert "error" not in answer, answer
        return answer["result"]

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message of a kind; what the server asks meanwhile is answered."""
        while True:
            message = self._news.get(timeout=PATIENCE)
            if "id" in message and "method" in message:
                result = [{}] if message["method"] == "workspace/configuration" else None
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            if wanted(message):
                return message

    def visit(self, root: Path, traceback: str) -> list[str]:
        """Begin, use everything in the files of a workspace, and end; the rules that were reported, in order."""
        folder = {"uri": root.as_uri(), "name": "workspace"}
        capabilities = {"workspace": {"configuration": True, "workspaceFolders": True}}
        params = {"processId": os.getpid(), "rootUri": root.as_uri(), "workspaceFolders": [folder]}
        self.request("initialize", {**params, "capabilities": capabilities})
        self.notify("initialized", {})
        codes: list[str] = []
        for file in (root / "train.py", root / "inner" / "train.py"):
            codes += self._work_on(file)
        told = self._execute("gradpath.server.explain", traceback)
        assert "double-backward" in told["text"], told
        assert self._execute("gradpath.server.checkWorkspace")["diagnostics"] > 0
        assert self._execute("gradpath.server.rules")
        self.request("shutdown")
        self.notify("exit")
        return codes

    def _work_on(self, file: Path) -> list[str]:
        uri, text = file.as_uri(), file.read_text()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        published = self.until(
            lambda each: each.get("method") == "textDocument/publishDiagnostics" and each["params"]["uri"] == uri
        )
        line = next(number for number, line in enumerate(text.splitlines()) if line.startswith("loss ="))
        document, place = {"uri": uri}, {"line": line, "character": 0}
        here = {"start": place, "end": {"line": line + 3, "character": 0}}
        self.request("textDocument/hover", {"textDocument": document, "position": place})
        self.request("textDocument/codeLens", {"textDocument": document})
        offered = self.request(
            "textDocument/codeAction", {"textDocument": document, "range": here, "context": {"diagnostics": []}}
        )
        assert offered
        self.request("codeAction/resolve", offered[0])
        assert self._execute("gradpath.server.graph", uri, line + 1)
        assert self._execute("gradpath.server.flow", uri, None)
        self.notify("textDocument/didSave", {"textDocument": document})
        return [each["code"] for each in published["params"]["diagnostics"]]

    def _execute(self, command: str, *arguments: Any) -> Any:
        return self.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})
