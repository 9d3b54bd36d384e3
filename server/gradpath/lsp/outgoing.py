"""Diagnostics, edits and actions in the protocol's terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.diagnostic import Diagnostic, Edit, Level, Range
from gradpath.lsp.client import Client
from gradpath.lsp.convert import to_range
from gradpath.lsp.documents import Documents, OpenDocument
from gradpath.lsp.text import split_lines
from gradpath.lsp.uris import page_of, path_of, uri_of

if TYPE_CHECKING:
    from gradpath.features.code_actions import Action
    from gradpath.features.hover import Hover

_SEVERITIES = {
    Level.ERROR: types.DiagnosticSeverity.Error,
    Level.WARNING: types.DiagnosticSeverity.Warning,
    Level.HINT: types.DiagnosticSeverity.Hint,
}
_FADED = frozenset({"unused-ignore"})
"""Rules that point at text which can go."""


class Outgoing:
    """Turns findings about one document into protocol values, as the client can take them.

    A finding may point into other files: their text is the open document's where there is one, else that on disk, read
    once.
    """

    def __init__(self, document: OpenDocument, documents: Documents, client: Client) -> None:
        self._document = document
        self._documents = documents
        self._client = client
        self._lines: dict[str, Sequence[str]] = {document.path: document.lines}

    def diagnostic(self, diagnostic: Diagnostic) -> types.Diagnostic:
        """A diagnostic: its message is the headline and the line of help, its story the related information."""
        page = page_of(diagnostic.rule)
        related = [
            types.DiagnosticRelatedInformation(
                types.Location(self._uri(label.path), self.range(label.path, label.range)), label.message
            )
            for label in diagnostic.labels
        ]
        fades = self._client.unnecessary_tag and diagnostic.rule in _FADED
        return types.Diagnostic(
            range=self.range(diagnostic.path, diagnostic.range),
            message=f"{diagnostic.message}\nhelp: {diagnostic.help}" if diagnostic.help else diagnostic.message,
            severity=_SEVERITIES[diagnostic.level],
            code=diagnostic.rule,
            code_description=types.CodeDescription(page) if page is not None else None,
            source="gradpath",
            related_information=related if related and self._client.related_information else None,
            tags=[types.DiagnosticTag.Unnecessary] if fades else None,
        )

    def action(self, action: Action) -> types.CodeAction:
        """A code action with its edits."""
        return types.CodeAction(
            title=action.title,
            kind=action.kind.value,
            diagnostics=[self.diagnostic(diagnostic) for diagnostic in action.diagnostics],
            is_preferred=True if action.preferred else None,
            edit=self.workspace_edit(action.edits),
        )

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Edits by file: for a client that can, tied to the version of each open document."""
        by_path: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            text_edit = types.TextEdit(self.range(edit.path, edit.range), edit.new_text)
            by_path.setdefault(edit.path, []).append(text_edit)
        if not self._client.document_changes:
            return types.WorkspaceEdit(changes={self._uri(path): edits for path, edits in by_path.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(self._uri(path), self._version(path)), list(edits)
                )
                for path, edits in by_path.items()
            ]
        )

    def hover(self, hover: Hover) -> types.Hover:
        """A hover in Markdown, or in plain text for a client that has no Markdown."""
        from gradpath.features.hover import as_markdown, as_text

        if self._client.markdown:
            contents = types.MarkupContent(types.MarkupKind.Markdown, as_markdown(hover))
        else:
            contents = types.MarkupContent(types.MarkupKind.PlainText, as_text(hover))
        return types.Hover(contents, self.range(self._document.path, hover.range))

    def range(self, path: str, range: Range) -> types.Range:
        """A range of a file in the client's units."""
        lines = self._lines_of(path)
        return to_range(
            range, lambda number: lines[number - 1] if 0 < number <= len(lines) else "", self._client.encoding
        )

    def _open(self, path: str) -> OpenDocument | None:
        if path == self._document.path:
            return self._document
        return self._documents.at_path(path_of(uri_of(path)))

    def _uri(self, path: str) -> str:
        document = self._open(path)
        return uri_of(path) if document is None else document.uri

    def _version(self, path: str) -> int | None:
        document = self._open(path)
        return None if document is None else document.version

    def _lines_of(self, path: str) -> Sequence[str]:
        if path not in self._lines:
            document = self._open(path)
            self._lines[path] = _lines_on_disk(path) if document is None else document.lines
        return self._lines[path]


def _lines_on_disk(path: str) -> Sequence[str]:
    from gradpath.source.document import UnreadableSource, read_document

    try:
        return split_lines(read_document(Path(path)).text)
    except UnreadableSource:
        return ()
