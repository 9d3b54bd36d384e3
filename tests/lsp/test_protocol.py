"""What the server does with messages that no editor should send, and with clients that go away."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from lsprotocol import types
from websockets.asyncio.client import connect

from gradpath.lsp.frames import Frames
from tests.lsp.harness import ENVIRONMENT, PATIENCE, SCRIPTED

URI = "file:///project/train.py"
CANCELLED = -32800
METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST, NOT_INITIALIZED = -32601, -32602, -32600, -32002


class Wire:
    """A connection on which anything can be sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._frames = Frames()
        self._arrived: list[dict[str, Any]] = []

    def send(self, **message: Any) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_bytes(self, body: bytes) -> None:
        self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def message(self, **expected: Any) -> dict[str, Any]:
        """The next message that has the expected entries; those before it are dropped."""

        async def wait() -> dict[str, Any]:
            while True:
                while self._arrived:
                    message = self._arrived.pop(0)
                    if expected.items() <= message.items():
                        return message
                data = await self.reader.read(65536)
                assert data, f"the server has ended before {expected}"
                self._arrived += map(json.loads, self._frames.feed(data))

        return await asyncio.wait_for(wait(), PATIENCE)

    async def begin(self, **params: Any) -> None:
        self.send(
            id="begin", method="initialize", params={"capabilities": {}, "processId": None, "rootUri": None, **params}
        )
        await self.message(id="begin")
        self.send(method="initialized", params={})

    def open(self, text: str) -> None:
        item = {"uri": URI, "languageId": "python", "version": 1, "text": text}
        self.send(method="textDocument/didOpen", params={"textDocument": item})

    async def still_works(self) -> None:
        self.open("x = BAD")
        message = await self.message(method="textDocument/publishDiagnostics")
        assert [found["code"] for found in message["params"]["diagnostics"]] == ["made-up"]


@asynccontextmanager
async def started(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, Wire]]:
    process = await asyncio.create_subprocess_exec(
        *SCRIPTED,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process, Wire(process.stdout, process.stdin)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def stderr_of(process: asyncio.subprocess.Process) -> bytes:
    assert process.stderr is not None
    return await asyncio.wait_for(process.stderr.read(), PATIENCE)


STRANGE = (
    b"",
    b"{",
    b"\xff\xfe",
    b"null",
    b"42",
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'{"jsonrpc": "1.0", "method": "exit"}',
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": 1}',
    b'{"jsonrpc": "2.0", "id": "nobody asked", "result": 1}',
    b'{"jsonrpc": "2.0", "id": "nobody asked", "error": {"code": 1, "message": "x"}}',
    b'{"jsonrpc": "2.0", "method": 7}',
    b'{"jsonrpc": "2.0", "method": ["exit"]}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "textDocument/hover", "params": {}}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didOpen"}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"contentChanges": 1}}',
    b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "nobody asked"}}',
    b'{"jsonrpc": "2.0", "method": "$/cancelRequest"}',
    b'{"jsonrpc": "2.0", "method": "$/unknown", "params": []}',
    b'{"jsonrpc": "2.0", "method": "unknown/notification"}',
)


async def test_the_session_survives_any_message() -> None:
    async with started() as (process, wire):
        await wire.begin()
        for body in STRANGE:
            wire.send_bytes(body)
            wire.writer.write(b"noise between messages\r\n\r\n")
            await wire.still_works()
        wire.writer.close()
        assert await stderr_of(process) == b""


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"method": "unknown/request"}, METHOD_NOT_FOUND),
        ({"method": "$/unknown", "params": {"x": 1}}, METHOD_NOT_FOUND),
        ({"method": "textDocument/hover", "params": {}}, INVALID_PARAMS),
        ({"method": "textDocument/hover", "params": None}, INVALID_PARAMS),
        ({"method": "textDocument/hover"}, INVALID_PARAMS),
        ({"method": "initialize", "params": {"capabilities": {}}}, INVALID_REQUEST),
    ],
)
async def test_a_wrong_request_is_answered_with_an_error(message: dict[str, Any], code: int) -> None:
    async with started() as (_, wire):
        await wire.begin()
        wire.send(id=5, **message)
        assert (await wire.message(id=5))["error"]["code"] == code
        await wire.still_works()


async def test_nothing_is_done_before_initialize() -> None:
    async with started() as (_, wire):
        wire.open("x = BAD")
        wire.send(id=1, method="textDocument/hover", params={})
        assert (await wire.message(id=1))["error"]["code"] in (NOT_INITIALIZED, INVALID_PARAMS)
        wire.send(id=2, method="shutdown")
        assert (await wire.message(id=2))["error"]["code"] == NOT_INITIALIZED
        await wire.begin()
        await wire.still_works()


async def test_changes_of_a_document_that_was_never_opened_are_ignored() -> None:
    async with started() as (_, wire):
        await wire.begin()
        identifier = {"uri": "file:///project/other.py", "version": 2}
        wire.send(
            method="textDocument/didChange",
            params={"textDocument": identifier, "contentChanges": [{"text": "BAD"}]},
        )
        wire.send(method="textDocument/didSave", params={"textDocument": identifier})
        wire.send(method="textDocument/didClose", params={"textDocument": identifier})
        await wire.still_works()


async def test_a_change_outside_of_the_text_is_clamped() -> None:
    async with started() as (_, wire):
        await wire.begin()
        wire.open("x = 1\n")
        far = {"line": 1000, "character": 1000}
        wire.send(
            method="textDocument/didChange",
            params={
                "textDocument": {"uri": URI, "version": 2},
                "contentChanges": [{"range": {"start": far, "end": far}, "text": "BAD"}],
            },
        )
        while (params := (await wire.message(method="textDocument/publishDiagnostics"))["params"])["version"] != 2:
            pass
        assert params["diagnostics"][0]["range"]["start"] == {"line": 1, "character": 0}


async def test_a_client_without_abilities_gets_plain_answers() -> None:
    async with started() as (_, wire):
        await wire.begin()
        wire.open("CAUSE\nx = BAD  # GONE\n")
        for found in (await wire.message(method="textDocument/publishDiagnostics"))["params"]["diagnostics"]:
            assert found.keys() <= {"range", "message", "severity", "code", "source", "codeDescription"}
        place = {"textDocument": {"uri": URI}, "position": {"line": 1, "character": 4}}
        wire.send(id=1, method="textDocument/hover", params=place)
        contents = (await wire.message(id=1))["result"]["contents"]
        assert contents["kind"] == "plaintext"
        assert contents["value"].splitlines()[:2] == ["`BAD` is bad (made-up)", "1. line 1: the cause"]
        everything = {"start": place["position"], "end": place["position"]}
        wire.send(
            id=2,
            method="textDocument/codeAction",
            params={"textDocument": {"uri": URI}, "range": everything, "context": {"diagnostics": []}},
        )
        assert all(action["edit"].keys() == {"changes"} for action in (await wire.message(id=2))["result"])


async def test_a_client_that_shows_diagnostics_in_its_hover_is_told_only_what_they_do_not_hold() -> None:
    async with started() as (_, wire):
        await wire.begin(initializationOptions={"diagnosticsInHover": False})
        wire.open("CAUSE\nloss = BAD\n")
        for number, character, expected in (
            (1, 8, "made-up\nPyTorch: RuntimeError: bad\nor: say nothing"),
            (2, 1, "`loss` of a made-up model\nbuilt here\nkept"),
        ):
            place = {"textDocument": {"uri": URI}, "position": {"line": 1, "character": character}}
            wire.send(id=number, method="textDocument/hover", params=place)
            result = (await wire.message(id=number))["result"]
            assert (result and result["contents"]["value"]) == expected


async def test_a_client_may_send_the_whole_text_with_each_change() -> None:
    async with started() as (_, wire):
        await wire.begin()
        wire.open("x = BAD")
        document = {"uri": URI, "version": 2}
        wire.send(
            method="textDocument/didChange", params={"textDocument": document, "contentChanges": [{"text": "y\nBAD"}]}
        )
        message = await wire.message(method="textDocument/publishDiagnostics")
        while message["params"].get("version") != 2:
            message = await wire.message(method="textDocument/publishDiagnostics")
        assert [found["range"]["start"]["line"] for found in message["params"]["diagnostics"]] == [1]


async def test_a_client_that_only_pulls_gets_nothing_pushed() -> None:
    async with started() as (_, wire):
        await wire.begin(capabilities={"textDocument": {"diagnostic": {"relatedInformation": True}}})
        wire.open("CAUSE\nx = BAD")
        wire.send(id=1, method="textDocument/diagnostic", params={"textDocument": {"uri": URI}})
        report = (await wire.message())["result"]
        assert (report["kind"], len(report["items"])) == ("full", 1)
        assert len(report["items"][0]["relatedInformation"]) == 2
        params = {"textDocument": {"uri": URI}, "previousResultId": report["resultId"]}
        wire.send(id=2, method="textDocument/diagnostic", params=params)
        assert (await wire.message())["result"]["kind"] == "unchanged"
        wire.send(method="textDocument/didClose", params={"textDocument": {"uri": URI}})
        wire.send(id=3, method="textDocument/diagnostic", params=params)
        assert (await wire.message())["result"]["items"] == []


async def test_a_shutdown_ends_what_is_still_asked() -> None:
    async with started() as (process, wire):
        await wire.begin()
        wire.open("WAIT")
        place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
        for number in (1, 2):
            wire.send(id=number, method="textDocument/hover", params=place)
        wire.send(id=3, method="shutdown")
        wire.send(id=4, method="textDocument/hover", params=place)
        answers = {}
        while len(answers) < 4:
            answer = await wire.message()
            answers[answer.get("id")] = answer
        assert answers[3]["result"] is None
        assert [answers[number]["error"]["code"] for number in (1, 2, 4)] == [CANCELLED, CANCELLED, INVALID_REQUEST]
        wire.send(method="exit")
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


async def test_exit_without_shutdown_is_a_failure() -> None:
    async with started() as (process, wire):
        await wire.begin()
        wire.send(method="exit")
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 1


@pytest.mark.parametrize("text", ["x = BAD", "WAIT"], ids=["idle", "busy"])
async def test_the_server_ends_when_the_client_closes_the_connection(text: str) -> None:
    async with started() as (process, wire):
        await wire.begin()
        wire.open(text)
        wire.writer.close()
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 1
        assert await stderr_of(process) == b""


async def test_the_server_ends_when_the_process_of_the_client_is_gone() -> None:
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    async with started() as (process, wire):
        # The connection stays open: a grandchild can hold it although the editor has crashed.
        await wire.begin(processId=client.pid)
        await wire.still_works()
        assert process.returncode is None
        client.send_signal(signal.SIGTERM)
        await client.wait()
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 1


async def test_a_process_that_cannot_be_seen_is_not_missed() -> None:
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    async with started() as (_, wire):
        await wire.begin(processId=gone.pid)
        await wire.still_works()


async def listening(process: asyncio.subprocess.Process) -> tuple[str, int]:
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode()
    match = re.fullmatch(r"gradpath listens on (127\.0\.0\.1):(\d+)\n", line)
    assert match is not None, line
    return match[1], int(match[2])


async def test_a_client_can_connect_by_tcp() -> None:
    async with started("--tcp", "127.0.0.1:0") as (process, _):
        wire = Wire(*await asyncio.open_connection(*await listening(process)))
        await wire.begin()
        await wire.still_works()
        wire.send(id=1, method="shutdown")
        await wire.message(id=1)
        wire.send(method="exit")
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        wire.writer.close()


async def test_the_server_ends_with_its_tcp_client() -> None:
    async with started("--tcp", "127.0.0.1:0") as (process, _):
        wire = Wire(*await asyncio.open_connection(*await listening(process)))
        await wire.begin()
        wire.writer.close()
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 1


async def test_a_client_can_connect_by_web_socket() -> None:
    async with started("--ws", "127.0.0.1:0") as (process, _):
        host, port = await listening(process)
        async with connect(f"ws://{host}:{port}") as socket:

            async def ask(method: str, params: Any) -> Any:
                await socket.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
                while (answer := json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))).get("id") != method:
                    pass
                return answer["result"]

            answer = await ask(types.INITIALIZE, {"capabilities": {}, "processId": None, "rootUri": None})
            assert answer["serverInfo"]["name"] == "gradpath"
            assert await ask(types.SHUTDOWN, None) is None
            await socket.send(json.dumps({"jsonrpc": "2.0", "method": types.EXIT}))
            assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


async def test_a_port_that_is_taken_is_one_clear_line() -> None:
    async with started("--tcp", "127.0.0.1:0") as (process, _):
        _, port = await listening(process)
        async with started("--tcp", f"127.0.0.1:{port}") as (second, _):
            assert await asyncio.wait_for(second.wait(), PATIENCE) == 2
            assert re.fullmatch(rb"gradpath server: .*in use.*\n", await stderr_of(second))
