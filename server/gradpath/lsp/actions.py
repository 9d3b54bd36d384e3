"""Code actions: what an editor offers to do about a fault, with edits that are known to help."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.worker import Cancelled
from gradpath.records import replace

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.config import Config
    from gradpath.features.code_actions import Action
    from gradpath.lsp.session import Server
    from gradpath.names.project import Project

logger = logging.getLogger(__name__)


def register_actions(server: Server, kinds: tuple[str, ...], notebook: str) -> None:
    """Register code actions of these kinds; `notebook` stands before a kind that is for all cells of a notebook."""
    options = types.CodeActionOptions(code_action_kinds=list(kinds), resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        # What the client echoes in `context.diagnostics` is not looked at: some clients drop `source` and `data`.
        found = await with_fixes(server, params.text_document.uri)
        if found is None:
            return []
        document, _ = found
        offered = []
        for action, made in _offered(server, *found, params.text_document.uri, params.range):
            # In a notebook the action for everything goes by two names: it mends all cells, and this one among them.
            kind = action.kind.value
            names = [kind] if document.cells is None else [kind, notebook + kind]
            name = next((name for name in names if _is_wanted(name, params.context.only)), None)
            if name is None:
                continue
            made.kind = name
            if server.client.resolves_edits and made.edit is not None:
                made.edit = None
                made.data = {
                    "uri": params.text_document.uri,
                    "state": server.documents.found_at(document.path)[1],
                    "range": server.protocol._converter.unstructure(params.range),
                }
            offered.append(made)
        return offered

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(params: types.CodeAction) -> types.CodeAction:
        data = params.data
        if params.edit is not None or not isinstance(data, dict):
            return params
        found = await with_fixes(server, str(data.get("uri")))
        if found is None or server.documents.found_at(found[0].path)[1] != data.get("state"):
            return params  # The document has changed: the client asks for actions again.
        place = server.protocol._converter.structure(data.get("range"), types.Range)
        for action, made in _offered(server, *found, str(data.get("uri")), place):
            if made.title == params.title and str(params.kind).endswith(action.kind.value):
                params.edit = made.edit
                break
        return params


async def with_fixes(server: Server, uri: str) -> tuple[OpenDocument, Analysis] | None:
    """A document and its newest analysis with the fixes that hold; None where it is not open, or not Python."""
    document = await server.documents.analysed(uri)
    if document is None:
        return None
    # What the client shows in a file may have been found by the check of another one, which is due again.
    for other in server.documents.dependents(document.path):
        await server.documents.analysed(other.uri)
    analysis = server.documents.analysis_of(document)
    if analysis is None:
        return None
    if not any(fix.edits for each in analysis.diagnostics for fix in each.fixes):
        return document, analysis
    return await server.asking.find(uri, "fixes", lambda _: _tried, keep=True)


def _tried(analysis: Analysis, config: Config, project: Project | None, cancelled: Cancelled) -> Analysis:
    """The analysis with its fixes put on trial; on the worker's thread."""
    from gradpath.mending import mended

    try:
        return replace(mended(analysis, config, cancelled=cancelled, project=project), traces=())
    except Exception:
        logger.exception("The fixes for %s cannot be tried", analysis.document.path)
        return analysis


def _offered(
    server: Server, document: OpenDocument, analysis: Analysis, uri: str, range: types.Range
) -> list[tuple[Action, types.CodeAction]]:
    from gradpath.features.code_actions import actions_at

    place = document.place_in(uri, range, server.client.encoding)
    if place is None:
        return []
    outgoing = server.publishing.outgoing(document)
    pairs = [(action, outgoing.action(action)) for action in actions_at(analysis, place)]
    return [(action, made) for action, made in pairs if made is not None]


def _is_wanted(kind: str, only: Any) -> bool:
    """Whether a kind is one of those that the client asks for, or below one of them."""
    if only is None:
        return True
    names = [name.value if isinstance(name, types.CodeActionKind) else name for name in only]
    return any(name == "" or kind == name or kind.startswith(f"{name}.") for name in names)
