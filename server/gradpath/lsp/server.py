"""The language server as a program."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Sequence

from gradpath.analyst.link import Link

Address = tuple[str, int]


def main(
    tcp: Address | None = None, ws: Address | None = None, *, log_file: str | None = None, analysis: Sequence[str] = ()
) -> None:
    """Serve one client, on standard input and output unless an address (host, port) is given.

    `analysis` is the command that starts an analysis process, where it is not the usual one.
    Returns after `shutdown`; raises SystemExit with status 1 where the client has gone without it, 2 where the server
    cannot listen. What is logged also goes to `log_file`, if there is one.
    """
    if status := _serve(tcp, ws, log_file, analysis):
        raise SystemExit(status)


def _serve(tcp: Address | None, ws: Address | None, log_file: str | None, command: Sequence[str]) -> int:
    # It loads the analysis while this process loads the protocol.
    analysis = Link(command)
    # The protocol's types are thousands of objects that stay for good: the collector need not look at them while they
    # are made.
    gc.disable()
    from gradpath.lsp.commands import register_commands
    from gradpath.lsp.handlers import register
    from gradpath.lsp.log import log_to_file
    from gradpath.lsp.session import Server
    from gradpath.lsp.transport import serve_stdio, serve_tcp, serve_ws

    server = Server(command, analysis)
    register(server)
    register_commands(server)
    gc.freeze()
    gc.enable()
    try:
        if log_file is not None:
            log_to_file(log_file)
        if tcp is not None:
            return asyncio.run(serve_tcp(server, *tcp))
        if ws is not None:
            return asyncio.run(serve_ws(server, *ws))
        return asyncio.run(serve_stdio(server))
    except OSError as error:
        print(f"gradpath server: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 1
    finally:
        server.checks.stop()
