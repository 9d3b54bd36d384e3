"""Which fixes of a document hold: found out on the worker's thread when somebody asks for code actions."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.worker import Job
from gradpath.records import replace

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.features.code_actions import Action
    from gradpath.lsp.session import Server

logger = logging.getLogger(__name__)

_FIXES = "#fixes"
"""What the URI of a document ends in for the job that tries its fixes."""


class Mending:
    """The analyses whose fixes have been tried, by URI, each for one state of what is known of its document."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: dict[str, tuple[str, Analysis]] = {}
        self._waiting: dict[str, tuple[str, asyncio.Future[Analysis | None]]] = {}

    async def of(self, uri: str) -> tuple[OpenDocument, Analysis] | None:
        """A document and its newest analysis with the fixes that hold; None where it is not open, or not Python."""
        while True:
            document = await self._server.documents.analysed(uri)
            analysis = None if document is None else self._server.documents.analysis_of(document)
            if document is None or analysis is None:
                return None
            if not any(fix.edits for each in analysis.diagnostics for fix in each.fixes):
                return document, analysis
            tried = await self._tried(document, analysis)
            if tried is not None:
                return document, tried

    async def _tried(self, document: OpenDocument, analysis: Analysis) -> Analysis | None:
        """The analysis once its fixes have been tried; None where the document changes before that."""
        _, state = self._server.documents.found_at(document.path)
        known = self._known.get(document.uri)
        if known is not None and known[0] == state:
            return known[1]
        waiting = self._waiting.get(document.uri)
        if waiting is None or waiting[0] != state:
            self.forget(document)
            future: asyncio.Future[Analysis | None] = asyncio.get_running_loop().create_future()
            waiting = self._waiting[document.uri] = state, future

            def learn(tried: Analysis | None) -> None:
                if not future.done():
                    if tried is not None:
                        self._known[document.uri] = state, tried
                    self._waiting.pop(document.uri, None)
                    future.set_result(analysis if tried is None else tried)

            job = Job(document.uri + _FIXES, document.path, "", document.generation, None)
            self._server.submit(replace(job, known=analysis, report=learn), urgent=True)
        # Each request may be cancelled by itself.
        return await asyncio.shield(waiting[1])

    def forget(self, document: OpenDocument) -> None:
        """Drop what is known of a document's fixes, and let those who wait for it ask again."""
        self._known.pop(document.uri, None)
        waiting = self._waiting.pop(document.uri, None)
        if waiting is not None:
            self._server.drop(document.uri + _FIXES)
            if not waiting[1].done():
                waiting[1].set_result(None)


def try_fixes(server: Server, job: Job, cancelled: Any) -> bool:
    """Try the fixes of a job's analysis; on the worker's thread. Whether that came to its end."""
    from gradpath.mending import mended

    tried: Analysis | None = None
    try:
        if job.known is not None:
            config, project = server.configurations.of(job.path), server.project_of(job)
            tried = mended(job.known, config, cancelled=cancelled, project=project)
    except Exception:
        logger.exception("The fixes for %s cannot be tried", job.path)
    if cancelled():
        return False
    report = job.report
    if report is not None:
        server.from_thread(lambda: report(tried))
    return True


def register_actions(server: Server, kinds: tuple[str, ...], notebook: str) -> None:
    """Register code actions of these kinds; `notebook` stands before a kind that is for all cells of a notebook."""
    options = types.CodeActionOptions(code_action_kinds=list(kinds), resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        # What the client echoes in `context.diagnostics` is not looked at: some clients drop `source` and `data`.
        found = await server.mending.of(params.text_document.uri)
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
        found = await server.mending.of(str(data.get("uri")))
        if found is None or server.documents.found_at(found[0].path)[1] != data.get("state"):
            return params  # The document has changed: the client asks for actions again.
        place = server.protocol._converter.structure(data.get("range"), types.Range)
        for action, made in _offered(server, *found, str(data.get("uri")), place):
            if made.title == params.title and str(params.kind).endswith(action.kind.value):
                params.edit = made.edit
                break
        return params


def _offered(
    server: Server, document: OpenDocument, analysis: Analysis, uri: str, range: types.Range
) -> list[tuple[Action, types.CodeAction]]:
    from gradpath.features.code_actions import actions_at

    place = document.place_in(uri, range, server.client.encoding)
    if place is None:
        return []
    outgoing = server.outgoing(document)
    pairs = [(action, outgoing.action(action)) for action in actions_at(analysis, place)]
    return [(action, made) for action, made in pairs if made is not None]


def _is_wanted(kind: str, only: Any) -> bool:
    """Whether a kind is one of those that the client asks for, or below one of them."""
    if only is None:
        return True
    names = [name.value if isinstance(name, types.CodeActionKind) else name for name in only]
    return any(name == "" or kind == name or kind.startswith(f"{name}.") for name in names)
