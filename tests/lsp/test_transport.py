"""Who may connect to a port of the server: editors, and no web page of another machine."""

from __future__ import annotations

import asyncio
import json

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from gradpath.lsp.transport import is_own_host, is_own_origin
from tests.lsp.harness import PATIENCE
from tests.lsp.test_protocol import Wire, listening, started

pytestmark = pytest.mark.asyncio(loop_scope="function")

POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nContent-Length: 2\r\n\r\n{}"


BEGINNINGS = (POST, b"\x16\x03\x01\x02\x00", b"{}\n", b"Contents-Length: 2\r\n\r\n{}", b"c")


async def test_tcp_turns_away_what_begins_with_no_message() -> None:
    async with started("--tcp", "127.0.0.1:0") as (process, _):
        address = await listening(process)
        _, silent = await asyncio.open_connection(*address)
        for beginning in BEGINNINGS:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(beginning)
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        wire = Wire(*await asyncio.open_connection(*address))
        await wire.begin()
        await wire.still_works()
        silent.close()


FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "http://localhost.evil.example:7658"},
    {"Origin": "null"},
    {"Host": "evil.example"},
    {"Host": "evil.example:7658", "Origin": "http://localhost"},
)


async def test_a_web_page_from_elsewhere_is_turned_away() -> None:
    async with started("--ws", "127.0.0.1:0") as (process, _):
        host, port = await listening(process)
        for headers in FOREIGN:
            with pytest.raises(InvalidStatus, match="403"):
                await connect(f"ws://{host}:{port}", additional_headers=headers)
        async with connect(f"ws://{host}:{port}", additional_headers={"Origin": "http://localhost:3000"}) as socket:
            params = {"capabilities": {}, "processId": None, "rootUri": None}
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
            answer = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))
            assert answer["result"]["serverInfo"]["name"] == "gradpath"


@pytest.mark.parametrize(
    ("header", "own"),
    [
        ("localhost:7658", True),
        ("127.0.0.1", True),
        ("[::1]:7658", True),
        ("192.168.0.7:7658", True),
        ("MyHost.lan:7658", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("evil@127.0.0.1.example", False),
        ("", False),
        ("[::1", False),
    ],
)
async def test_a_name_that_the_server_is_not_bound_to_is_not_its_host(header: str, own: bool) -> None:
    assert is_own_host(header, "myhost.lan") is own


@pytest.mark.parametrize(
    ("header", "own"),
    [
        ("http://localhost", True),
        ("https://127.0.0.1:8888", True),
        ("http://[::1]:3000", True),
        ("http://192.168.0.7", False),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("null", False),
        ("file://", False),
    ],
)
async def test_pages_of_this_machine_alone_may_connect(header: str, own: bool) -> None:
    assert is_own_origin(header) is own
