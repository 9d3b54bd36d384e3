"""Which state of the files the code actions of a document are made for."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types

from gradpath.analyst.messages import AskActions, Outcome
from gradpath.analyst.supervisor import Job
from gradpath.diagnostic import Diagnostic, Level, Position, Range
from gradpath.lsp.actions import offered
from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.session import Server

PLACE = Range(Position(1, 1), Position(1, 2))


def opened(server: Server, name: str) -> OpenDocument:
    return server.state.documents.open(types.TextDocumentItem(f"file:///project/{name}", "python", 1, "x = 1\n"))


def answer(server: Server, document: OpenDocument, *found: Diagnostic, reads: tuple[str, ...] = ()) -> None:
    """End the check of a document."""
    outcome = Outcome(document.path, found, dependencies=frozenset(map(Path, reads)))
    server.state.documents.answer(document.uri, document.generation, outcome)


async def test_actions_wait_for_the_check_of_a_file_that_tells_of_the_document() -> None:
    server = Server()
    library, user = opened(server, "library.py"), opened(server, "user.py")
    fault = Diagnostic(library.path, PLACE, "double-backward", "graph", Level.ERROR, "a fault that the user shows")
    answer(server, library)
    answer(server, user, fault, reads=(library.path,))
    server.state.documents.renew(user)
    asked: list[Job] = []
    server.checks.submit = lambda job, urgent=False: asked.append(job)  # type: ignore[method-assign]
    place = types.Range(types.Position(0, 0), types.Position(0, 1))
    waiting = asyncio.ensure_future(offered(server, library.uri, place))
    for _ in range(10):
        await asyncio.sleep(0)
    assert asked == []
    answer(server, user, fault, reads=(library.path,))
    for _ in range(10):
        await asyncio.sleep(0)
    [job] = asked
    assert isinstance(job.request, AskActions)
    assert job.request.diagnostics == (fault,)
    waiting.cancel()
