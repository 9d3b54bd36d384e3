"""Which state of the files the code actions of a document are made for."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types

from gradpath.check import Analysis
from gradpath.diagnostic import Diagnostic, Level, Position, Range
from gradpath.lsp.actions import with_fixes
from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.session import Server
from gradpath.source.document import Document
from gradpath.source.parse import parse

PLACE = Range(Position(1, 1), Position(1, 2))


def opened(server: Server, name: str) -> OpenDocument:
    return server.documents.open(types.TextDocumentItem(f"file:///project/{name}", "python", 1, "x = 1\n"))


def answer(server: Server, document: OpenDocument, *found: Diagnostic, reads: tuple[str, ...] = ()) -> None:
    """End the check of a document."""
    text = Document(document.path, document.text())
    analysis = Analysis(text, parse(text), found, dependencies=frozenset(map(Path, reads)))
    server.documents.answer(document.uri, document.generation, analysis)


async def test_actions_wait_for_the_check_of_a_file_that_tells_of_the_document() -> None:
    server = Server()
    library, user = opened(server, "library.py"), opened(server, "user.py")
    fault = Diagnostic(library.path, PLACE, "double-backward", "graph", Level.ERROR, "a fault that the user shows")
    answer(server, library)
    answer(server, user, fault, reads=(library.path,))
    server.documents.renew(user)
    asked = asyncio.ensure_future(with_fixes(server, library.uri))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not asked.done()
    answer(server, user, fault, reads=(library.path,))
    found = await asyncio.wait_for(asked, 10.0)
    assert found is not None
    assert found[1].diagnostics == (fault,)
