"""The ways to a client: standard input and output, TCP, WebSocket. Each serves one client and then ends.

Whatever runs on the machine can connect to a port, web pages of any origin included: who is no client is turned away
before anything of it is read as a message, and does not take the place of the client.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

from gradpath.lsp.frames import LARGEST_BODY

if TYPE_CHECKING:
    from gradpath.lsp.session import Server

_CHUNK = 65536

_HEADER = b"content-"
"""The start of each message: `Content-Length` or `Content-Type`, in any case of letters."""


class StreamOut:
    """Writes to a stream of bytes; calls `lost` when the other side has closed it."""

    def __init__(self, stream: BinaryIO, lost: Callable[[], None]) -> None:
        self._stream = stream
        self._lost = lost

    def write(self, data: bytes) -> None:
        """Write and flush."""
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError):
            self._lost()

    def close(self) -> None:
        """Leave the stream open: the process ends with it."""


async def serve_stdio(server: Server) -> int:
    """Serve on standard input and output; the exit status.

    Printed text is dropped meanwhile: on standard output it would corrupt the messages.
    """
    server.begin(asyncio.get_running_loop())
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    server.protocol.set_writer(StreamOut(output, lambda: server.finish(1)))
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (open as long as the process)
    _read(server, sys.stdin.fileno())
    return await server.finished()


def _read(server: Server, descriptor: int) -> None:
    """Feed what arrives at a descriptor to the server, as soon as it does."""
    loop = asyncio.get_running_loop()

    def read_some() -> None:
        try:
            data = os.read(descriptor, _CHUNK)
        except OSError:
            data = b""
        if data:
            server.feed(data)
        else:
            loop.remove_reader(descriptor)
            server.lost()

    def read_all() -> None:
        # Not from the stream: a thread that hangs in a buffered read would hold a lock that the interpreter needs when
        # it ends.
        with suppress(OSError):
            while data := os.read(descriptor, _CHUNK):
                server.from_thread(partial(server.feed, data))
        server.from_thread(server.lost)

    try:
        loop.add_reader(descriptor, read_some)
    except (NotImplementedError, OSError):  # Windows has no such thing for pipes, and no system has it for files.
        threading.Thread(target=read_all, name="gradpath-stdin", daemon=True).start()


async def serve_tcp(server: Server, host: str, port: int) -> int:
    """Serve the first that sends a message; port 0 takes a free one. The address is printed."""
    server.begin(asyncio.get_running_loop())
    taken = asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b""
        with suppress(ConnectionError):
            data = await _beginning(reader)
        if not data or taken.is_set():
            writer.close()
            return
        taken.set()
        server.protocol.set_writer(writer)
        with suppress(ConnectionError):
            while data:
                server.feed(data)
                data = await reader.read(_CHUNK)
        server.lost()

    listener = await asyncio.start_server(connected, host, port)
    try:
        _announce(*listener.sockets[0].getsockname()[:2])
        return await server.finished()
    finally:
        listener.close()  # As a context it would wait, from Python 3.12 on, until the client is gone, too.


async def _beginning(reader: asyncio.StreamReader) -> bytes:
    """The first bytes of a client; empty if they are not a header of a message, such as those of a browser."""
    data = b""
    while len(data) < len(_HEADER):
        more = await reader.read(_CHUNK)
        data += more
        if not more or data[: len(_HEADER)].lower() != _HEADER[: len(data)]:
            return b""
    return data


class MessagesOut:
    """Queues messages for a WebSocket, so that they leave in the order in which they were written."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        """Queue one message."""
        self.queue.put_nowait(data)

    def close(self) -> None:
        """Leave the connection open: the process ends with it."""


async def serve_ws(server: Server, host: str, port: int) -> int:
    """Serve the first client that connects by WebSocket, a message to a frame.

    Port 0 takes a free one. The address is printed. A handshake is refused that comes from a web page of another
    machine, or that was sent to a name which is not that of this one.
    """
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response

    server.begin(asyncio.get_running_loop())
    taken = asyncio.Event()

    def admit(connection: ServerConnection, request: Request) -> Response | None:
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if all(is_own_host(each, host) for each in hosts) and all(map(is_own_origin, origins)):
            return None
        return connection.respond(HTTPStatus.FORBIDDEN, "This server is for editors on this machine.\n")

    async def send(connection: ServerConnection, out: MessagesOut) -> None:
        while True:
            await connection.send((await out.queue.get()).decode(), text=True)

    async def connected(connection: ServerConnection) -> None:
        if taken.is_set():
            return
        taken.set()
        out = MessagesOut()
        server.protocol.set_writer(out, include_headers=False)
        sender = asyncio.create_task(send(connection, out))
        with suppress(ConnectionClosed):
            async for message in connection:
                server.protocol.receive(message if isinstance(message, bytes) else message.encode())
        sender.cancel()
        server.lost()

    async with serve(connected, host, port, max_size=LARGEST_BODY, process_request=admit) as listener:
        _announce(*next(iter(listener.sockets)).getsockname()[:2])
        return await server.finished()


def is_own_host(header: str, bound: str) -> bool:
    """True if a request was sent to an address, to `localhost`, or to the name that the server is bound to.

    Any other name may be one that a hostile page has let point to this machine.
    """
    name = _host_of(f"//{header}")
    return name in ("localhost", bound.lower()) or _address(name) is not None


def is_own_origin(header: str) -> bool:
    """True if a web page comes from this machine."""
    name = _host_of(header)
    address = _address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _announce(host: str, port: int) -> None:
    print(f"gradpath listens on {host}:{port}", flush=True)
