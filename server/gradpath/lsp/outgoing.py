"""Diagnostics, edits and actions in the protocol's terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.diagnostic import Action, ActionKind, Diagnostic, Edit, Level, Range
from gradpath.lsp.client import Client
from gradpath.lsp.convert import LineOf, to_range
from gradpath.lsp.documents import Documents, OpenDocument
from gradpath.lsp.notebooks import OpenCell
from gradpath.lsp.text import split_lines
from gradpath.lsp.uris import page_of, path_of, uri_of

if TYPE_CHECKING:
    from gradpath.analyst.messages import Lines, Outcome, Told

_SEVERITIES = {
    Level.ERROR: types.DiagnosticSeverity.Error,
    Level.WARNING: types.DiagnosticSeverity.Warning,
    Level.HINT: types.DiagnosticSeverity.Hint,
}
_FADED = frozenset({"unused-ignore"})
"""Rules that point at text which can go."""


class Outgoing:
    """Turns findings about one document into protocol values, as the client can take them.

    A finding may point into other files: their text is the open document's where there is one, else that of the
    checks, or of `told`.
    """

    def __init__(self, document: OpenDocument, documents: Documents, client: Client, told: Lines | None = None) -> None:
        self._document = document
        self._documents = documents
        self._client = client
        self._lines = told or {}
        self._is_closed = False
        self._cells: dict[tuple[str, int], Sequence[str]] = {}
        self._notebooks = documents.notebooks()
        self._is_joined = document.cells is None and document.path.endswith(".ipynb")
        """A notebook that comes as one text, as from jupyterlab-lsp: its reader sees no line of that, and no `code`."""

    @classmethod
    def of_outcome(
        cls, outcome: Outcome, document: OpenDocument | None, documents: Documents, client: Client
    ) -> Outgoing:
        """The same for a file that may be open or not: its texts are those of the check then."""
        if document is not None:
            return cls(document, documents, client)
        closed = OpenDocument(uri_of(outcome.path), outcome.path, "python", 0, [], 0)
        made = cls(closed, documents, client, outcome.lines)
        made._is_closed, made._is_joined = True, False
        if outcome.notebook is not None:
            made._notebooks = {**made._notebooks, outcome.path: outcome.notebook}
            for cell, source in zip(outcome.notebook.cells, outcome.notebook.sources, strict=True):
                made._cells[outcome.path, cell.number] = split_lines(source.text)
        return made

    def diagnostic(self, diagnostic: Diagnostic) -> types.Diagnostic:
        """A diagnostic: its message is the headline and the line of help, its story the related information."""
        if self._notebooks:
            from gradpath.source.cells import in_cells

            diagnostic = in_cells(diagnostic, self._notebooks)
        page = page_of(diagnostic.rule, self._client.site)
        related = [
            types.DiagnosticRelatedInformation(
                types.Location(self._uri(label.path, label.cell), self.range(label.path, label.range, label.cell)),
                label.message,
            )
            for label in diagnostic.labels
        ]
        fades = self._client.unnecessary_tag and diagnostic.rule in _FADED
        message = f"{diagnostic.message}\nhelp: {diagnostic.help}" if diagnostic.help else diagnostic.message
        return types.Diagnostic(
            range=self.range(diagnostic.path, diagnostic.range, diagnostic.cell),
            message=self._by_code(message) if self._is_joined else message,
            severity=_SEVERITIES[diagnostic.level],
            code=diagnostic.rule,
            code_description=types.CodeDescription(page) if page is not None else None,
            source=f"gradpath: {diagnostic.rule}" if self._is_joined else "gradpath",
            related_information=related if related and self._client.related_information else None,
            tags=[types.DiagnosticTag.Unnecessary] if fades else None,
        )

    def action(self, action: Action) -> types.CodeAction | None:
        """A code action with its edits; None where they cannot be made in the cells of a notebook."""
        if action.page:
            return self._page(action)
        edits: Sequence[Edit] | None = action.edits
        if self._notebooks:
            from gradpath.source.cells import edits_in_cells

            edits = edits_in_cells(action.edits, self._notebooks)
        if edits is None:
            return None
        return types.CodeAction(
            title=_signed(self._told(action.title), action),
            kind=action.kind.value,
            diagnostics=[self.diagnostic(diagnostic) for diagnostic in action.diagnostics],
            is_preferred=True if action.preferred else None,
            edit=self.workspace_edit(edits),
        )

    def _page(self, action: Action) -> types.CodeAction | None:
        """The action that opens a rule's page, for a client that shows documents when it is asked to."""
        if not self._client.shows_documents:
            return None
        return types.CodeAction(
            title=_signed(action.title, action),
            kind=action.kind.value,
            diagnostics=[self.diagnostic(diagnostic) for diagnostic in action.diagnostics],
            command=types.Command(action.title, "gradpath.rule", arguments=[action.page]),
        )

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Edits by file: for a client that can, tied to the version of each open document."""
        by_place: dict[tuple[str, int | None], list[types.TextEdit]] = {}
        for edit in edits:
            text_edit = types.TextEdit(self.range(edit.path, edit.range, edit.cell), edit.new_text)
            by_place.setdefault((edit.path, edit.cell), []).append(text_edit)
        if not self._client.document_changes:
            return types.WorkspaceEdit(changes={self._uri(*place): edits for place, edits in by_place.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(self._uri(*place), self._version(*place)), list(edits)
                )
                for place, edits in by_place.items()
            ]
        )

    def hover(self, told: Told) -> types.Hover:
        """A hover in Markdown, or in plain text for a client that has no Markdown."""
        kind = types.MarkupKind.Markdown if self._client.markdown else types.MarkupKind.PlainText
        contents = types.MarkupContent(kind, self._by_code(told.text) if self._is_joined else told.text)
        return types.Hover(contents, self.range(self._document.path, told.range, told.cell))

    def place(self, place: Range) -> types.Range:
        """A place of what was analysed as the client counts, in the cell where that is a notebook."""
        notebook = self._notebooks.get(self._document.path)
        if notebook is None:
            return self.range(self._document.path, place)
        cell, local = notebook.in_cell(place)
        return self.range(self._document.path, local, cell.number)

    def is_in(self, place: Range, uri: str) -> bool:
        """True if a place of the analysed text is in the document, or the cell, of a URI."""
        notebook = self._notebooks.get(self._document.path)
        cell = None if notebook is None else notebook.in_cell(place)[0].number
        return self._uri(self._document.path, cell) == uri

    def _by_code(self, text: str) -> str:
        from gradpath.source.cells import lines_by_code

        return lines_by_code(text, self._line_of(self._document.path, None))

    def _told(self, text: str) -> str:
        """A text about the document for its reader, who counts the lines of a notebook by cells."""
        notebook = self._notebooks.get(self._document.path)
        if notebook is None:
            return text
        from gradpath.source.cells import lines_in_cells

        return lines_in_cells(text, notebook)

    def range(self, path: str, range: Range, cell: int | None = None) -> types.Range:
        """A range of a file, or of a cell in it, in the client's units."""
        return to_range(range, self._line_of(path, cell), self._client.encoding)

    def _open(self, path: str, cell: int | None) -> OpenDocument | OpenCell | None:
        document = self._documents.at_path(path_of(uri_of(path))) if path != self._document.path else self._document
        if document is None or cell is None or document.cells is None:
            return document
        return document.cells[cell - 1] if cell <= len(document.cells) else None

    def _uri(self, path: str, cell: int | None = None) -> str:
        document = self._open(path, cell)
        return uri_of(path) if document is None else document.uri

    def _version(self, path: str, cell: int | None) -> int | None:
        document = self._open(path, cell)
        return None if document is None else document.version

    def _line_of(self, path: str, cell: int | None) -> LineOf:
        """The function that returns the lines of a file, or of a cell in it."""
        lines = None if cell is None else self._cells.get((path, cell))
        document = self._open(path, cell)
        if lines is None and document is not None and not (self._is_closed and document is self._document):
            lines = document.lines
        if lines is not None:
            known = lines
            return lambda number: known[number - 1] if 0 < number <= len(known) else ""
        told = self._lines.get(path, {})
        return lambda number: told[number] if number in told else self._documents.line_told(path, number)


def _signed(title: str, action: Action) -> str:
    """A title as it stands in a menu beside those of other servers; `unsafe` as in `--unsafe-fixes`."""
    if action.kind is ActionKind.FIX_ALL:
        return title  # It names gradpath, and is safe.
    return f"gradpath (unsafe): {title}" if action.unsafe else f"gradpath: {title}"
