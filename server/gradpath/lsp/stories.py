"""What is told of a place when somebody asks: the story of a value, and the picture of the graph behind a line.

Both need the paths that lead to the place, which are run again for that on the worker's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.lsp.asking import Work
from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.worker import Cancelled

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.config import Config
    from gradpath.diagnostic import Position
    from gradpath.features.graph import Picture
    from gradpath.features.hover import Hover
    from gradpath.lsp.session import Server
    from gradpath.names.project import Project


async def hover_in(server: Server, uri: str, position: types.Position) -> tuple[OpenDocument, Hover] | None:
    """What is known at a position of a document or of a notebook's cell."""

    def prepare(document: OpenDocument) -> Work[Hover] | None:
        place = _place(server, document, uri, position)
        if place is None:
            return None

        def hover(analysis: Analysis, config: Config, project: Project | None, cancelled: Cancelled) -> Hover | None:
            from gradpath.check import with_traces
            from gradpath.features.hover import hover_at

            traced = with_traces(analysis, place.line, config, cancelled=cancelled, project=project)
            return hover_at(traced, place, diagnostics=server.client.wants_diagnostics_in_hover)

        return hover

    return await server.asking.find(uri, f"hover at {uri}:{position.line}:{position.character}", prepare)


async def picture_in(server: Server, uri: str, line: int) -> tuple[OpenDocument, Picture] | None:
    """The graph behind a line (from 0) of a document or of a notebook's cell."""

    def prepare(document: OpenDocument) -> Work[Picture] | None:
        place = _place(server, document, uri, types.Position(line, 0))
        if place is None:
            return None

        def draw(analysis: Analysis, config: Config, project: Project | None, cancelled: Cancelled) -> Picture | None:
            from gradpath.check import with_traces
            from gradpath.features.graph.find import picture_at

            traced = with_traces(analysis, place.line, config, cancelled=cancelled, project=project)
            return picture_at(traced, place.line)

        return draw

    return await server.asking.find(uri, f"graph behind {uri}:{line}", prepare)


def _place(server: Server, document: OpenDocument, uri: str, position: types.Position) -> Position | None:
    place = document.place_in(uri, types.Range(position, position), server.client.encoding)
    return None if place is None else place.start
