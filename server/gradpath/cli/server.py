"""`gradpath server`: the language server, on standard input and output unless told otherwise."""

from __future__ import annotations

import argparse

from gradpath.cli.status import CLEAN
from gradpath.cli.terminal import expect_program

_LOOPBACK = "127.0.0.1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath server`."""
    channel = parser.add_mutually_exclusive_group()
    channel.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    channel.add_argument("--tcp", type=_address, metavar="HOST:PORT", help="listen on a TCP port")
    channel.add_argument("--ws", type=_address, metavar="HOST:PORT", help="listen for WebSocket connections")
    parser.add_argument("--log-file", metavar="FILE", help="write what is logged to a file as well")
    # Every workspace is treated alike since nothing of one is executed; editors may still pass the word.
    parser.add_argument("--untrusted", action="store_true", help=argparse.SUPPRESS)
    # Clients built on vscode-languageclient name their process, which `initialize` does, too.
    parser.add_argument("--clientProcessId", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client is gone."""
    # Imported here so that `gradpath server --help` answers at once.
    from gradpath.lsp.server import main

    if not (arguments.tcp or arguments.ws):
        expect_program("an editor")
    main(tcp=arguments.tcp, ws=arguments.ws, log_file=arguments.log_file)
    return CLEAN


def _address(text: str) -> tuple[str, int]:
    """HOST:PORT, or a port alone, which then listens on loopback; IPv6 hosts are in brackets."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]") or _LOOPBACK, int(port)
