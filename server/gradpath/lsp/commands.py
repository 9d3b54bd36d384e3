"""The commands that the server carries out for an editor.

Names under `gradpath.server.` are for an editor's extension, which shows the answer itself. `gradpath.graph` stands in
code lenses: the server carries it out for clients that have no panel of their own.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from gradpath.analyst.messages import Explain, ListRules
from gradpath.lsp.session import Server
from gradpath.lsp.stories import picture_in
from gradpath.lsp.uris import page_of, path_of, uri_of

_LAST_LINE = 2**31 - 1
"""The highest number of a line in the protocol."""


def register_commands(server: Server) -> None:
    """Register every command; lines in their arguments count from 0, as everywhere in the protocol."""

    @server.command("gradpath.server.graph")
    async def graph(uri: str, line: int) -> dict[str, str] | None:
        """The graph behind a line: `title`, and `svg` that leads to URIs; null where no graph is known."""
        return await _drawn(server, uri, line)

    @server.command("gradpath.graph")
    async def show_graph(uri: str, line: int) -> None:
        """Show that picture in whatever the client opens SVG files with."""
        picture = await _drawn(server, uri, line)
        if picture is None:
            server.window_show_message(
                types.ShowMessageParams(types.MessageType.Info, "No graph is known at this line.")
            )
            return
        file = server.pictures.write(f"graph-{Path(path_of(uri)).stem[:40]}-{line + 1}", picture["svg"])
        if server.state.client.shows_documents:
            server.window_show_document(types.ShowDocumentParams(uri_of(str(file)), external=True))
        else:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"The graph is drawn in {file}"))

    @server.command("gradpath.rule")
    async def show_rule(rule: str) -> None:
        """Show the page of a rule."""
        page = page_of(rule)
        if page is not None:
            server.window_show_document(types.ShowDocumentParams(page, take_focus=True))

    @server.command("gradpath.server.checkWorkspace")
    async def check_workspace() -> dict[str, int]:
        """Check all files of the workspace and publish what is found; the numbers of `files` and `diagnostics`."""
        return await server.files.publish()

    @server.command("gradpath.server.explain")
    async def explain(traceback: str) -> str:
        """The story behind a traceback, as `gradpath explain` tells it in the first folder of the workspace."""
        folder = next((path_of(each.uri) for each in server.workspace.folders.values()), None)
        story, _ = await server.checks.ask(Explain(traceback, folder or str(Path.home())))
        return str(story or "Cannot tell: gradpath itself failed, as its log says.\n")

    @server.command("gradpath.server.rules")
    async def rules() -> list[dict[str, Any]]:
        """The rules with their summaries and the URIs of their pages."""
        found, _ = await server.checks.ask(ListRules())
        return [{"id": rule, "summary": summary, "uri": page_of(rule)} for rule, summary in found or ()]


async def _drawn(server: Server, uri: str, line: int) -> dict[str, str] | None:
    if not 0 <= line <= _LAST_LINE:
        raise JsonRpcInvalidParams(f"A line is a number from 0 to {_LAST_LINE}")
    found = await picture_in(server, uri, line)
    if found is None:
        return None
    from gradpath.features.graph.svg import as_svg

    document, picture = found
    svg = await asyncio.get_running_loop().run_in_executor(None, as_svg, picture, document.uri_in)
    return {"title": picture.title, "svg": svg}
