"""Completion of the names of rules, in the one place where a person writes them: `# gradpath: ignore[...]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.analyst.messages import ListRules
from gradpath.lsp.convert import from_range
from gradpath.support.lazy_regex import regex

if TYPE_CHECKING:
    from gradpath.lsp.session import Server

_BEGUN = regex(r"#[ \t]*gradpath:[ \t]*ignore(?:-file)?[ \t]*\[(?P<names>[^\]#]*)$")


def register_completion(server: Server) -> None:
    """Register completion; everywhere but in such a comment there is nothing to complete."""
    options = types.CompletionOptions(trigger_characters=["[", ","])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, options)
    async def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        begun = _BEGUN.search(_before(server, params.text_document.uri, params.position))
        if begun is None:
            return []
        *listed, partial = (name.strip() for name in begun["names"].split(","))
        rules, _ = await server.checks.ask(ListRules())
        end = params.position
        place = types.Range(types.Position(end.line, end.character - len(partial)), end)
        return [
            types.CompletionItem(
                rule, kind=types.CompletionItemKind.EnumMember, detail=summary, text_edit=types.TextEdit(place, rule)
            )
            for rule, summary, *_ in rules or ()
            if rule not in listed
        ]


def _before(server: Server, uri: str, position: types.Position) -> str:
    """The text of a line of a document, or of a cell, before a position."""
    document = server.state.documents.get(uri)
    if document is None:
        return ""
    cells = {cell.uri: cell.lines for cell in document.cells or ()}
    lines = cells.get(uri, document.lines)
    if position.line >= len(lines):
        return ""
    start = from_range(types.Range(position, position), lines, server.state.client.encoding).start
    return lines[position.line][: start.column - 1]
