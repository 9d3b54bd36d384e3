"""What the client is told of documents whose checks have ended, without being asked or when it asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.notebooks import OpenCell
from gradpath.lsp.outgoing import Outgoing
from gradpath.lsp.uris import uri_of

if TYPE_CHECKING:
    from gradpath.lsp.session import Server


class Publishing:
    """Pushes diagnostics to a client that takes them, and tells one that pulls them to ask again."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._told: dict[str, frozenset[str]] = {}
        """For each open document the paths of other files that faults were last told in because of it."""

    def outgoing(self, document: OpenDocument) -> Outgoing:
        """What turns findings about a document into protocol values."""
        return Outgoing(document, self._server.documents, self._server.client)

    def checked(self, document: OpenDocument) -> None:
        """Tell what the check of a document has found, in it and elsewhere."""
        self.renewed(document)
        if not self._server.client.pulls_diagnostics:
            self._tell_elsewhere(document)

    def renewed(self, document: OpenDocument) -> None:
        """Tell again what is known of a document."""
        if not self._server.client.pulls_diagnostics:
            self._publish(document)
        elif self._server.client.refreshes_diagnostics:
            self._server.workspace_diagnostic_refresh(None)

    def closed(self, document: OpenDocument) -> None:
        """Take back what was published for a document that is closed now, and because of it."""
        cells = document.cells
        self.clear([document.uri] if cells is None else [cell.uri for cell in cells if cell.told is not None])
        if not self._server.client.pulls_diagnostics:
            self._tell_elsewhere(document)

    def clear(self, uris: Iterable[str]) -> None:
        """Take back what was published for documents, or for cells."""
        for uri in uris if not self._server.client.pulls_diagnostics else ():
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def diagnostics(self, document: OpenDocument, path: str | None = None) -> list[types.Diagnostic]:
        """What is known of a document whose check has ended, or of another file (`path`) that it depends on."""
        outgoing = self.outgoing(document)
        found, _ = self._server.documents.found_at(document.path if path is None else path)
        return [outgoing.diagnostic(diagnostic) for diagnostic in found]

    def diagnostics_by_cell(self, document: OpenDocument) -> dict[str, list[types.Diagnostic]]:
        """What is known of an open notebook, by the URI of its cells."""
        notebook, cells = document.notebook, document.cells
        by_cell: dict[str, list[types.Diagnostic]] = {}
        if notebook is not None and cells is not None:
            outgoing = self.outgoing(document)
            for each in self._server.documents.found_at(document.path)[0]:
                number = notebook.in_cell(each.range)[0].number
                by_cell.setdefault(cells[number - 1].uri, []).append(outgoing.diagnostic(each))
        return by_cell

    def related(self, document: OpenDocument) -> Mapping[str, types.FullDocumentDiagnosticReport] | None:
        """What the answer about a document tells of files that are not open, for a client that takes that."""
        if not self._server.client.related_documents:
            return None
        paths = [path for path in self._elsewhere(document) if self._server.documents.at_path(path) is None]
        return {uri_of(path): types.FullDocumentDiagnosticReport(self.diagnostics(document, path)) for path in paths}

    def _publish(self, document: OpenDocument) -> None:
        if document.cells is not None:
            self._publish_cells(document, document.cells)
            return
        found = self.diagnostics(document)
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(document.uri, found, document.version)
        )

    def _publish_cells(self, document: OpenDocument, cells: Sequence[OpenCell]) -> None:
        """Publish for each cell of a notebook of which there is something new to tell."""
        by_cell = self.diagnostics_by_cell(document)
        for cell in cells:
            found = by_cell.get(cell.uri, [])
            if cell.told != (cell.version, found):
                cell.told = cell.version, found
                params = types.PublishDiagnosticsParams(cell.uri, found, cell.version)
                self._server.text_document_publish_diagnostics(params)

    def _tell_elsewhere(self, document: OpenDocument) -> None:
        """Publish anew for the other files that a document's check has found faults in, now or the last time."""
        for path in self._elsewhere(document):
            other = self._server.documents.at_path(path)
            if other is None:
                params = types.PublishDiagnosticsParams(uri_of(path), self.diagnostics(document, path))
                self._server.text_document_publish_diagnostics(params)
            elif other.answered:
                self._publish(other)

    def _elsewhere(self, document: OpenDocument) -> list[str]:
        """The other files in which a document's check finds faults or did so the last time that this was asked."""
        is_open = self._server.documents.get(document.uri) is document
        now = document.told_elsewhere if is_open else frozenset()
        before = self._told.pop(document.uri, frozenset())
        if now:
            self._told[document.uri] = now
        return sorted(now | before)
