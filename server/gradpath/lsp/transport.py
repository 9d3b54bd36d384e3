"""The ways to a client: standard input and output, TCP, WebSocket. Each serves one client and then ends."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from gradpath.lsp.frames import LARGEST_BODY

if TYPE_CHECKING:
    from gradpath.lsp.session import Server

_CHUNK = 65536


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

    What is printed in the meantime goes nowhere: on standard output it would spoil the conversation.
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
    except (NotImplementedError, OSError):  # Windows has no such thing for pipes, and nobody has it for files.
        threading.Thread(target=read_all, name="gradpath-stdin", daemon=True).start()


async def serve_tcp(server: Server, host: str, port: int) -> int:
    """Serve the first client that connects; port 0 takes a free one. The address is printed."""
    server.begin(asyncio.get_running_loop())
    taken = asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if taken.is_set():
            writer.close()
            return
        taken.set()
        server.protocol.set_writer(writer)
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                server.feed(data)
        server.lost()

    listener = await asyncio.start_server(connected, host, port)
    async with listener:
        _announce(*listener.sockets[0].getsockname()[:2])
        return await server.finished()


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

    Port 0 takes a free one. The address is printed.
    """
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.exceptions import ConnectionClosed

    server.begin(asyncio.get_running_loop())
    taken = asyncio.Event()

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

    async with serve(connected, host, port, max_size=LARGEST_BODY) as listener:
        _announce(*next(iter(listener.sockets)).getsockname()[:2])
        return await server.finished()


def _announce(host: str, port: int) -> None:
    print(f"gradpath listens on {host}:{port}", flush=True)
