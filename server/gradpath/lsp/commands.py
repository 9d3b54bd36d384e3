"""The commands that the server carries out for an editor.

Names under `gradpath.server.` are for an editor's extension, which shows the answer itself. `gradpath.graph` and
`gradpath.flow` are in code lenses, `gradpath.why` in a code action: the server carries them out for clients that have
no panel of their own.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from gradpath.analyst.messages import Explain, ListRules
from gradpath.lsp.session import Server
from gradpath.lsp.stories import flow_in, picture_in, why_in
from gradpath.lsp.uris import page_of, path_of, uri_of

_LAST_LINE = 2**31 - 1
"""The highest number of a line in the protocol."""


def register_commands(server: Server) -> None:
    """Register every command; lines in their arguments count from 0, as everywhere in the protocol."""
    _register_pictures(server)
    _register_answers(server)


def _register_pictures(server: Server) -> None:
    """Register what shows graphs and tables."""

    @server.command("gradpath.server.graph")
    async def graph(uri: str, line: int) -> dict[str, str] | None:
        """The graph of the loss on a line: `title`, and `svg` that leads to URIs; null where no graph is known."""
        return await _drawn(server, uri, line)

    @server.command("gradpath.graph")
    async def show_graph(uri: str, line: int) -> None:
        """Show that picture in whatever the client opens SVG files with."""
        picture = await _drawn(server, uri, line)
        if picture is None:
            _say(server, "No graph is known at this line.")
        else:
            _show(server, f"graph-{Path(path_of(uri)).stem[:40]}-{line + 1}", picture["svg"])

    @server.command("gradpath.server.flow")
    async def flow(uri: str, line: int | None) -> dict[str, str] | None:
        """The gradient flow at a line, or in all of a document: `title`, the table as `text`, and `svg`, or null."""
        return await _flow(server, uri, line)

    @server.command("gradpath.flow")
    async def show_flow(uri: str, line: int | None) -> None:
        """Show the same in whatever the client opens SVG files with."""
        found = await _flow(server, uri, line)
        if found is None:
            _say(server, "No backward and no step is known here.")
        else:
            _show(server, f"flow-{Path(path_of(uri)).stem[:40]}-{0 if line is None else line + 1}", found["svg"])


def _register_answers(server: Server) -> None:
    """Register what answers with text and pages, and the check of the workspace."""

    @server.command("gradpath.server.why")
    async def why(uri: str, line: int, character: int) -> str | None:
        """What trains the name at a place, and what cuts it off, as a text; null where there is no name."""
        return await _why(server, uri, line, character)

    @server.command("gradpath.why")
    async def show_why(uri: str, line: int, character: int) -> None:
        """Show the same as a message."""
        text = await _why(server, uri, line, character)
        _say(server, "There is no name here." if text is None else text.rstrip())

    @server.command("gradpath.rule")
    async def show_rule(rule: str) -> None:
        """Show the page of a rule."""
        site = server.state.client.site
        page = page_of(rule, site)
        if page is not None:
            external = True if site else None
            server.window_show_document(types.ShowDocumentParams(page, external=external, take_focus=True))

    @server.command("gradpath.server.checkWorkspace")
    async def check_workspace() -> dict[str, int]:
        """Check all files of the workspace and publish what is found; the numbers of `files` and `diagnostics`."""
        return await server.following.publish()

    @server.command("gradpath.server.explain")
    async def explain(traceback: str) -> dict[str, Any]:
        """The explanation of a traceback by `gradpath explain`, in the folder that has its files.

        `found` says whether there is an error of autograd in it.
        """
        folders = tuple(path_of(each.uri) for each in server.workspace.folders.values()) or (str(Path.home()),)
        told, _ = await server.checks.ask(Explain(traceback, folders))
        if told is None:
            return {"text": "Cannot explain it: gradpath itself failed; see its log.\n", "found": False}
        return {"text": told.text, "found": told.found}

    @server.command("gradpath.server.rules")
    async def rules() -> list[dict[str, Any]]:
        """The rules with their summaries, their pages as Markdown and the URIs of these as they are written.

        `raises` are expressions for the messages of the errors that PyTorch raises.
        """
        found, _ = await server.checks.ask(ListRules())
        return [
            {"id": rule, "summary": summary, "page": page, "uri": page_of(rule), "raises": list(raises)}
            for rule, summary, page, raises in found or ()
        ]


def _say(server: Server, text: str) -> None:
    server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))


def _show(server: Server, name: str, svg: str) -> None:
    """Show a picture with another program, or say where it is."""
    file = server.pictures.write(name, svg)
    if server.state.client.shows_documents:
        server.window_show_document(types.ShowDocumentParams(uri_of(str(file)), external=True))
    else:
        _say(server, f"The picture is drawn in {file}")


def _check_number(line: int) -> None:
    if not 0 <= line <= _LAST_LINE:
        raise JsonRpcInvalidParams(f"A line is a number from 0 to {_LAST_LINE}")


async def _why(server: Server, uri: str, line: int, character: int) -> str | None:
    _check_number(line)
    _check_number(character)
    return await why_in(server, uri, types.Position(line, character))


async def _flow(server: Server, uri: str, line: int | None) -> dict[str, str] | None:
    if line is not None:
        _check_number(line)
    found = await flow_in(server, uri, line)
    if found is None:
        return None
    from gradpath.features.graph.svg import as_svg

    document, drawn = found
    svg = await asyncio.get_running_loop().run_in_executor(None, as_svg, drawn.picture, document.uri_in)
    return {"title": drawn.picture.title, "text": drawn.text, "svg": svg}


async def _drawn(server: Server, uri: str, line: int) -> dict[str, str] | None:
    _check_number(line)
    found = await picture_in(server, uri, line)
    if found is None:
        return None
    from gradpath.features.graph.svg import as_svg

    document, picture = found
    svg = await asyncio.get_running_loop().run_in_executor(None, as_svg, picture, document.uri_in)
    return {"title": picture.title, "svg": svg}
