"""Diagnostics of checked documents, pushed to the client or pulled by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from gradpath.features.gap_hints import gap_hints
from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.notebooks import OpenCell
from gradpath.lsp.outgoing import Outgoing
from gradpath.lsp.state import State
from gradpath.lsp.uris import uri_of

if TYPE_CHECKING:
    from gradpath.diagnostic import Diagnostic, Mark


class Publishing:
    """Pushes diagnostics to a client that takes them, and asks one that pulls them to request them again."""

    def __init__(self, state: State, server: LanguageServer) -> None:
        self._state, self._server = state, server
        self._documents = state.documents
        self._told: dict[str, frozenset[str]] = {}
        """For each open document the paths of other files in which faults were last published because of it."""
        self._known: dict[str, list[Diagnostic]] = {}
        """The diagnostics that a pulling client could have got so far, by path, if any."""
        self._marks: dict[str, tuple[Mark, ...]] = {}
        """The marks that could have been shown for each open document so far."""

    def outgoing(self, document: OpenDocument) -> Outgoing:
        """The converter of findings about a document to protocol values."""
        return Outgoing(document, self._documents, self._state.client)

    def checked(self, document: OpenDocument) -> None:
        """Tell what the check of a document has found, in it and elsewhere."""
        if not self._state.client.pulls_diagnostics:
            self._publish(document)
            self._tell_elsewhere(document)
        elif self._has_news({document.path, *document.told_elsewhere}, document.path if document.edited else None):
            self.refresh()
        marks = () if document.outcome is None else document.outcome.marks
        if self._marks.get(document.uri, ()) != marks and not document.edited:
            self.refresh_marks()
        self._marks[document.uri] = marks

    def renewed(self, document: OpenDocument) -> None:
        """Tell again what is known of a document, which is more than its check has found."""
        if not self._state.client.pulls_diagnostics:
            self._publish(document)
        elif self._has_news({document.path}):
            self.refresh()

    def closed(self, document: OpenDocument) -> None:
        """Take back what was published for a document that is closed now, and because of it."""
        cells = document.cells
        self._marks.pop(document.uri, None)
        self.clear([document.uri] if cells is None else [cell.uri for cell in cells if cell.told is not None])
        if not self._state.client.pulls_diagnostics:
            self._tell_elsewhere(document)
        elif self._has_news({document.path}, document.path):
            self.refresh()

    def refresh(self) -> None:
        """Ask a client that pulls diagnostics to request them again, if it can."""
        if self._state.client.pulls_diagnostics and self._state.client.refreshes_diagnostics:
            self._server.workspace_diagnostic_refresh(None)

    def refresh_marks(self) -> None:
        """Ask the client to request marks again, if it can."""
        if self._state.client.refreshes_hints:
            self._server.workspace_inlay_hint_refresh(None)
        if self._state.client.refreshes_lenses:
            self._server.workspace_code_lens_refresh(None)

    def clear(self, uris: Iterable[str]) -> None:
        """Take back what was published for documents, or for cells."""
        for uri in uris if not self._state.client.pulls_diagnostics else ():
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def diagnostics(self, document: OpenDocument, path: str | None = None) -> list[types.Diagnostic]:
        """The findings in a document whose check has ended, or in another file (`path`) that it depends on."""
        outgoing = self.outgoing(document)
        return [outgoing.diagnostic(each) for each in self._told_at(document.path if path is None else path)]

    def diagnostics_by_cell(self, document: OpenDocument) -> dict[str, list[types.Diagnostic]]:
        """The findings in an open notebook, by the URI of its cells."""
        notebook, cells = document.notebook, document.cells
        by_cell: dict[str, list[types.Diagnostic]] = {}
        if notebook is None:
            # Its check was given up, which is reported where the code begins.
            first = next((cell.uri for cell in cells or () if cell.is_python), None)
            return {} if first is None else {first: self.diagnostics(document)}
        if cells is not None:
            outgoing = self.outgoing(document)
            for each in self._told_at(document.path):
                number = notebook.in_cell(each.range)[0].number
                by_cell.setdefault(cells[number - 1].uri, []).append(outgoing.diagnostic(each))
        return by_cell

    def related(self, document: OpenDocument) -> Mapping[str, types.FullDocumentDiagnosticReport] | None:
        """The part about files that are not open in the answer about a document, for a client that takes that."""
        if not self._state.client.related_documents:
            return None
        paths = [path for path in self._elsewhere(document) if self._documents.at_path(path) is None]
        return {uri_of(path): types.FullDocumentDiagnosticReport(self.diagnostics(document, path)) for path in paths}

    def _told_at(self, path: str) -> list[Diagnostic]:
        """The findings in a file, and its unchecked parts if it is open."""
        found, _ = self._documents.told_at(path)
        own = self._documents.at_path(path)
        outcome = None if own is None else own.outcome
        return found if outcome is None else [*found, *gap_hints(outcome.incomplete, parses=outcome.parses)]

    def _has_news(self, paths: Set[str], asked: str | None = None) -> bool:
        """True if a client would get something new for these files, or for those of earlier answers.

        Files that are `asked` for anyway do not count.
        """
        is_new = False
        for path in {*paths, *self._known}:
            other = self._documents.at_path(path)
            if other is not None and not other.answered:
                continue  # It is being checked.
            found = self._told_at(path)
            is_new |= path != asked and found != self._known.get(path, [])
            self._known[path] = found
        self._known = {path: found for path, found in self._known.items() if found}
        return is_new

    def _publish(self, document: OpenDocument) -> None:
        if document.cells is not None:
            self._publish_cells(document, document.cells)
            return
        found = self.diagnostics(document)
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(document.uri, found, document.version)
        )

    def _publish_cells(self, document: OpenDocument, cells: Sequence[OpenCell]) -> None:
        """Publish for each cell of a notebook that has changed findings."""
        by_cell = self.diagnostics_by_cell(document)
        for cell in cells:
            found = by_cell.get(cell.uri, [])
            if cell.told != (cell.version, found):
                cell.told = cell.version, found
                params = types.PublishDiagnosticsParams(cell.uri, found, cell.version)
                self._server.text_document_publish_diagnostics(params)

    def _tell_elsewhere(self, document: OpenDocument) -> None:
        """Publish again for the other files that a document's check has found faults in, now or the last time."""
        for path in self._elsewhere(document):
            other = self._documents.at_path(path)
            if other is None:
                params = types.PublishDiagnosticsParams(uri_of(path), self.diagnostics(document, path))
                self._server.text_document_publish_diagnostics(params)
            elif other.answered:
                self._publish(other)

    def _elsewhere(self, document: OpenDocument) -> list[str]:
        """The other files in which a document's check finds faults or did so the last time that this was asked."""
        is_open = self._documents.get(document.uri) is document
        now = document.told_elsewhere if is_open else frozenset()
        before = self._told.pop(document.uri, frozenset())
        if now:
            self._told[document.uri] = now
        return sorted(now | before)
