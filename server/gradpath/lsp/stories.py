"""What is told of a place when somebody asks: the story of a value, and the picture of the graph behind a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.analyst.messages import AskHover, AskPicture, Told
from gradpath.lsp.documents import OpenDocument

if TYPE_CHECKING:
    from gradpath.diagnostic import Position
    from gradpath.features.graph import Picture
    from gradpath.lsp.session import Server


async def hover_in(server: Server, uri: str, position: types.Position) -> tuple[OpenDocument, Told] | None:
    """What is known at a position of a document or of a notebook's cell."""

    def prepare(document: OpenDocument) -> AskHover | None:
        place = _place(server, document, uri, position)
        if place is None:
            return None
        wanted = server.state.client.wants_diagnostics_in_hover
        diagnostics = tuple(server.state.documents.found_at(document.path)[0]) if wanted else ()
        return AskHover(document.uri, document.path, place, diagnostics, server.state.client.markdown)

    return await server.asking.find(uri, f"hover at {uri}:{position.line}:{position.character}", prepare)


async def picture_in(server: Server, uri: str, line: int) -> tuple[OpenDocument, Picture] | None:
    """The graph behind a line (from 0) of a document or of a notebook's cell."""

    def prepare(document: OpenDocument) -> AskPicture | None:
        place = _place(server, document, uri, types.Position(line, 0))
        return None if place is None else AskPicture(document.uri, document.path, place.line)

    return await server.asking.find(uri, f"graph behind {uri}:{line}", prepare)


def _place(server: Server, document: OpenDocument, uri: str, position: types.Position) -> Position | None:
    place = document.place_in(uri, types.Range(position, position), server.state.client.encoding)
    return None if place is None else place.start
