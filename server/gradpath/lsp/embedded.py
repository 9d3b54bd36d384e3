"""The language server inside another program, such as a worker of a page: no process, no thread, no stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gradpath.analyst.inline import Inline
from gradpath.lsp.commands import register_commands
from gradpath.lsp.handlers import register
from gradpath.lsp.session import Server
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Out:
    send: Callable[[str], None]

    def write(self, data: bytes) -> None:
        self.send(data.decode())

    def close(self) -> None:
        """There is nothing to close."""


def begin(send: Callable[[str], None]) -> Callable[[str], None]:
    """Begin a session on the running event loop: `send` gets each message, and what is returned takes one."""
    server = Server(analysis=Inline())
    register(server)
    register_commands(server)
    server.begin(asyncio.get_running_loop())
    server.protocol.set_writer(_Out(send), include_headers=False)
    return lambda message: server.protocol.receive(message.encode())
