"""Answers about a place: a value's history, the graph of a loss, and the gradient flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.analyst.messages import AskFlow, AskHover, AskName, AskPicture, AskWhy, Drawn, Told
from gradpath.lsp.documents import OpenDocument

if TYPE_CHECKING:
    from gradpath.diagnostic import Position
    from gradpath.features.graph import Picture
    from gradpath.lsp.session import Server


async def hover_in(server: Server, uri: str, position: types.Position) -> tuple[OpenDocument, Told] | None:
    """The hover at a position of a document or of a notebook's cell."""

    def prepare(document: OpenDocument) -> AskHover | None:
        place = _place(server, document, uri, position)
        if place is None:
            return None
        client = server.state.client
        diagnostics, state = server.state.documents.found_at(document.path)
        whole = client.wants_diagnostics_in_hover
        return AskHover(document.uri, document.path, place, tuple(diagnostics), state, client.markdown, whole)

    return await server.asking.find(uri, f"hover at {uri}:{position.line}:{position.character}", prepare)


async def picture_in(server: Server, uri: str, line: int) -> tuple[OpenDocument, Picture] | None:
    """The graph of the loss on a line (from 0) of a document or of a notebook's cell."""

    def prepare(document: OpenDocument) -> AskPicture | None:
        place = _place(server, document, uri, types.Position(line, 0))
        return None if place is None else AskPicture(document.uri, document.path, place.line)

    return await server.asking.find(uri, f"graph of {uri}:{line}", prepare)


async def flow_in(server: Server, uri: str, line: int | None) -> tuple[OpenDocument, Drawn] | None:
    """The gradient flow at a line (from 0) of a document or of a notebook's cell, or in all of it."""

    def prepare(document: OpenDocument) -> AskFlow | None:
        if line is None:
            return AskFlow(document.uri, document.path, None)
        place = _place(server, document, uri, types.Position(line, 0))
        return None if place is None else AskFlow(document.uri, document.path, place.line)

    return await server.asking.find(uri, f"flow at {uri}:{line}", prepare)


async def name_in(server: Server, uri: str, position: types.Position) -> str:
    """The name at a position, if it is that of a module, a parameter or an optimizer; else empty."""

    def prepare(document: OpenDocument) -> AskName | None:
        place = _place(server, document, uri, position)
        return None if place is None else AskName(document.uri, document.path, place)

    found = await server.asking.find(uri, f"name at {uri}:{position.line}:{position.character}", prepare)
    return "" if found is None else str(found[1])


async def why_in(server: Server, uri: str, position: types.Position) -> str | None:
    """What trains the name at a position, and what cuts it off."""

    def prepare(document: OpenDocument) -> AskWhy | None:
        place = _place(server, document, uri, position)
        return None if place is None else AskWhy(document.uri, document.path, place)

    found = await server.asking.find(uri, f"why at {uri}:{position.line}:{position.character}", prepare)
    return None if found is None else str(found[1])


def _place(server: Server, document: OpenDocument, uri: str, position: types.Position) -> Position | None:
    place = document.place_in(uri, types.Range(position, position), server.state.client.encoding)
    return None if place is None else place.start
