"""The messages that the server takes."""

from __future__ import annotations

from lsprotocol import types

from gradpath.diagnostic import MarkKind
from gradpath.lsp.actions import register_actions
from gradpath.lsp.completing import register_completion
from gradpath.lsp.session import Server
from gradpath.lsp.stories import hover_in
from gradpath.lsp.workspace import result_id

_NOTEBOOK = "notebook."
"""The prefix of a kind of action for all cells of a notebook."""

CODE_ACTION_KINDS = (
    types.CodeActionKind.QuickFix.value,
    types.CodeActionKind.RefactorRewrite.value,
    "source.fixAll.gradpath",
    f"{_NOTEBOOK}source.fixAll.gradpath",
)


def register(server: Server) -> None:
    """Register every handler; the documents themselves are synchronised in `protocol`."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.did_initialize(params)
        if server.state.client.pulls_diagnostics:
            _register_pull(server)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        server.did_start()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.did_save(params)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def did_save_notebook(params: types.DidSaveNotebookDocumentParams) -> None:
        server.did_save_notebook(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        server.did_change_files(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        server.did_change_settings(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_workspace_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.ask_for_settings()

    register_actions(server, CODE_ACTION_KINDS, _NOTEBOOK)
    register_completion(server)
    _register_marks(server)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        found = await hover_in(server, params.text_document.uri, params.position)
        return None if found is None else server.publishing.outgoing(found[0]).hover(found[1])


def _register_marks(server: Server) -> None:
    """Register what is shown beside the code: inlay hints, which are off unless asked for, and code lenses."""

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        uri = params.text_document.uri
        document = await server.state.documents.analysed(uri)
        if document is None or document.outcome is None:
            return []
        if not server.state.settings.switch("inlayHints", document.path, default=False):
            return []
        place = document.place_in(uri, params.range, server.state.client.encoding)
        outgoing = server.publishing.outgoing(document)
        return [
            types.InlayHint(outgoing.place(hint.range).end, hint.text, padding_left=True)
            for hint in document.outcome.marks
            if hint.kind is MarkKind.HINT and place is not None and place.start <= hint.range.end <= place.end
        ]

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        document = await server.state.documents.analysed(uri)
        if document is None or document.outcome is None:
            return []
        if not server.state.settings.switch("codeLens", document.path, default=True):
            return []
        outgoing = server.publishing.outgoing(document)
        return [
            types.CodeLens(place, types.Command(lens.text, shown, arguments=[uri, place.start.line]))
            for lens in document.outcome.marks
            if lens.kind is not MarkKind.HINT and outgoing.is_in(lens.range, uri)
            for place in [outgoing.place(lens.range)]
            for shown in ["gradpath.flow" if lens.kind is MarkKind.STEP else "gradpath.graph"]
        ]


def _register_pull(server: Server) -> None:
    """Register the request for diagnostics, for a client to which none are pushed."""
    options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True, identifier="gradpath")

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def diagnostic(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        document = await server.state.documents.analysed(params.text_document.uri)
        if document is None:
            return types.RelatedFullDocumentDiagnosticReport(items=[])
        _, result = server.state.documents.told_at(document.path)
        related = server.publishing.related(document)
        if params.previous_result_id == result:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=result, related_documents=related)
        by_cell = document.cells is not None
        uri = params.text_document.uri
        items = (
            server.publishing.diagnostics_by_cell(document).get(uri, [])
            if by_cell
            else server.publishing.diagnostics(document)
        )
        return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=result, related_documents=related)

    @server.feature(types.WORKSPACE_DIAGNOSTIC)
    async def workspace_diagnostic(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        known = {previous.uri: previous.value for previous in params.previous_result_ids}
        items: list[types.WorkspaceDocumentDiagnosticReport] = []
        for uri, found in (await server.files.check(params.work_done_token)).items():
            document = server.state.documents.get(uri)
            version = None if document is None else document.version
            result = result_id(found)
            if known.get(uri) == result:
                items.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, result, version))
            else:
                items.append(types.WorkspaceFullDocumentDiagnosticReport(uri, found, version, result_id=result))
        return types.WorkspaceDiagnosticReport(items)
