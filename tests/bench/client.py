"""A client that times a language server over stdio, as an editor sees it."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import gradpath

CAPABILITIES = {
    "textDocument": {"publishDiagnostics": {"versionSupport": True, "relatedInformation": True}},
    "workspace": {"workspaceFolders": True},
}


def environment() -> dict[str, str]:
    """What the processes find around them: this gradpath, whose bytecode Python may keep as it does when installed."""
    found = {**os.environ, "PYTHONPATH": str(Path(gradpath.__file__).parents[1])}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


@dataclass(frozen=True)
class Processor:
    """Milliseconds that the threads of a process ran, and that they waited for a processor because others ran."""

    ran: float
    waited: float


class Server:
    """A running server. Times are `time.perf_counter` seconds, taken when a message has been read whole."""

    def __init__(self, command: Sequence[str], root: Path, capabilities: Mapping[str, Any] = CAPABILITIES) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            cwd=root,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.offers: dict[str, Any] = {}
        """What the server said that it can do, and what it registered since."""
        self._root = root
        self._capabilities = capabilities
        self._number = 0
        self._messages: Queue[tuple[float, dict[str, Any]]] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def initialize(self) -> float:
        """Begin the session; the seconds from the start of the process to the answer."""
        folder = {"uri": self._root.as_uri(), "name": "bench"}
        params = {
            "processId": os.getpid(),
            "rootUri": folder["uri"],
            "capabilities": self._capabilities,
            "workspaceFolders": [folder],
        }
        when, result = self._request("initialize", params, 60.0)
        self.offers = dict(result["capabilities"])
        self.notify("initialized", {})
        return when - self.started

    def request(self, method: str, params: object, patience: float = 30.0) -> Any:
        """The result of a request; None where the server has none, refuses, or takes longer than `patience` seconds."""
        return self._request(method, params, patience)[1]

    def _request(self, method: str, params: object, patience: float) -> tuple[float, Any]:
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        for when, message in self._arriving(patience):
            if message.get("id") == self._number and "method" not in message:
                return when, message.get("result")
        return time.perf_counter(), None

    def notify(self, method: str, params: object) -> float:
        """Send a notification; when it was sent."""
        when = time.perf_counter()
        self.send({"method": method, "params": params})
        return when

    def diagnostics(self, uri: str, version: int, since: float, patience: float = 60.0) -> float | None:
        """Seconds until the diagnostics of a version; of any later publication, where the server gives no versions."""
        answer = self.answer({uri: version}, patience)
        return None if answer is None else answer[0] - since

    def answer(self, versions: dict[str, int], patience: float) -> tuple[float, str] | None:
        """When the diagnostics of one of some documents came, for these versions or later ones, and its URI."""
        for when, message in self._arriving(patience):
            if message.get("method") == "textDocument/publishDiagnostics":
                uri = message["params"]["uri"]
                if uri in versions and message["params"].get("version", versions[uri]) >= versions[uri]:
                    return when, uri
        return None

    def published(self, uri: str, patience: float) -> list[dict[str, Any]]:
        """The first diagnostics of a document that are not none, or none if they do not come."""
        for _, message in self._arriving(patience):
            params = message.get("params")
            told = message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == uri
            if told and params["diagnostics"]:
                return list(params["diagnostics"])
        return []

    def _arriving(self, patience: float) -> Iterator[tuple[float, dict[str, Any]]]:
        """What the server sends within `patience` seconds; its requests are answered as a plain editor would."""
        end = time.perf_counter() + patience
        while (left := end - time.perf_counter()) > 0:
            try:
                when, message = self._messages.get(timeout=left)
            except Empty:
                return
            if "id" in message and "method" in message:
                self.send({"id": message["id"], "result": self._answer(message["method"], message.get("params"))})
            yield when, message

    def _answer(self, method: str, params: Any) -> object:
        if method == "client/registerCapability":
            self.offers.update({each["method"]: each.get("registerOptions") or {} for each in params["registrations"]})
        return [{} for _ in params["items"]] if method == "workspace/configuration" else None

    def drain(self) -> None:
        """Forget what has arrived and was not asked for."""
        while not self._messages.empty():
            self._messages.get()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def memory(self) -> float:
        """The megabytes that the server holds; 0 where the system does not say."""
        return sum(memory_of(process) for process in family(self.process.pid))

    def processor(self) -> Processor:
        """How long the threads of the server have run so far; the system may not say."""
        found = Processor(0.0, 0.0)
        for process in family(self.process.pid):
            for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
                try:
                    ran, waited, _ = map(int, file.read_text().split())
                except (OSError, ValueError):
                    continue  # The thread has ended.
                found = Processor(found.ran + ran / 1e6, found.waited + waited / 1e6)
        return found

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            length = 0
            while line.strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                line = stream.readline()
            body = stream.read(length)
            self._messages.put((time.perf_counter(), json.loads(body)))


def family(process: int) -> list[int]:
    """A process and those that it has started: some servers are started by a program of their own."""
    found = [process]
    for each in found:
        for file in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, file.read_text().split())
            except (OSError, ValueError):
                continue
    return found


def memory_of(process: int) -> float:
    """The megabytes that one process holds; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)
