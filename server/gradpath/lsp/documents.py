"""The open documents: their texts, versions, and what is known of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.lsp.convert import Encoding, from_range
from gradpath.lsp.notebooks import OpenCell, cells_of, changed_cells, checked
from gradpath.lsp.text import apply_changes, split_lines
from gradpath.lsp.uris import path_of, uri_of
from gradpath.records import dataclass, field, replace

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.diagnostic import Diagnostic, Range
    from gradpath.reuse import Memory
    from gradpath.source.cells import Cell, CellsDocument
    from gradpath.source.parse import Parsed

UNUSED_IGNORE = "unused-ignore"
"""The rule of the hint at a suppression comment without effect."""

AWAKE = 600_000
"""Characters of the documents that keep all that is known of them, so that an edit or a question costs little."""

_BOM = "\ufeff"


@dataclass(slots=True, eq=False)
class OpenDocument:
    """A document as the client has it.

    `generation` names one state of the text and of the settings it is checked under. It is unique in the life of the
    server, so that a result for an earlier state, or for the same file opened before, cannot pass for a current one.
    """

    uri: str
    path: str
    language: str
    version: int
    lines: list[str]
    generation: int
    analysis: Analysis | None = None
    answered: bool = False
    """Whether the check of this generation has ended; `analysis` is still None where it failed."""
    edited: bool = True
    """Whether this generation came with a text from the client, which asks by itself then for what is found in it."""
    last: Parsed | None = None
    """The newest parse without problems; it helps with the text while it is half typed."""
    memory: Memory | None = None
    """What the newest finished check has left for the next one."""
    dependencies: frozenset[Path] = frozenset()
    """The other files that the newest finished check has read."""
    callers: tuple[Analysis, ...] = ()
    """The checks of files that are not open and run code of this one, once they are known."""
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    cells: list[OpenCell] | None = None
    """The cells of a notebook, which has no lines of its own."""

    @property
    def is_python(self) -> bool:
        """Whether the document is checked at all; the language counts, since a new file may not have a name yet."""
        return self.language == "python" or self.path.endswith(".py")

    def text(self) -> str:
        """The text to check.

        A byte order mark, which Python allows only in bytes, becomes a form feed: as wide, and without meaning at the
        start of a line.
        """
        text = "".join(self.lines)
        if self.path.endswith(".ipynb"):
            # jupyterlab-lsp sends a notebook as one text.
            from gradpath.source.magics import python_of

            return python_of(text)
        return "\f" + text[1:] if text.startswith(_BOM) else text

    def checked_cells(self) -> tuple[Cell, ...] | None:
        """The cells to check, where the document is a notebook."""
        return None if self.cells is None else tuple(checked(self.cells))

    @property
    def notebook(self) -> CellsDocument | None:
        """The cells as the newest analysis has them."""
        from gradpath.source.cells import CellsDocument

        found = None if self.analysis is None else self.analysis.document
        return found if isinstance(found, CellsDocument) else None

    def place_in(self, uri: str, place: types.Range, encoding: Encoding) -> Range | None:
        """A range from the client in what was analysed; None in a cell that was not. `uri` may be that of a cell."""
        if self.cells is None:
            return from_range(place, self.lines, encoding)
        number = next((number for number, cell in enumerate(self.cells, start=1) if cell.uri == uri), None)
        if number is None or self.notebook is None:
            return None
        return self.notebook.in_whole(number, from_range(place, self.cells[number - 1].lines, encoding))

    def uri_in(self, path: str) -> str:
        """The URI of a path in a picture of the document, in which its own is empty and that of a cell is `cell N`."""
        number = path.removeprefix("cell ")
        if self.cells is not None and number.isdigit() and int(number) <= len(self.cells):
            return self.cells[int(number) - 1].uri
        return uri_of(path) if path else self.uri

    @property
    def told_elsewhere(self) -> frozenset[str]:
        """The paths of other files that the check of the document says something about."""
        if self.analysis is None:
            return frozenset()
        found = (*(each.path for each in self.analysis.diagnostics), *(path for path, _ in self.analysis.used))
        return frozenset(found) - {self.path}


class Documents:
    """All open documents by URI. Only the thread of the event loop may touch them, `text_at` aside."""

    def __init__(self) -> None:
        self._open: dict[str, OpenDocument] = {}
        self._of_cells: dict[str, OpenDocument] = {}
        self._texts: dict[str, str] = {}
        self._generations = count(1)

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(list(self._open.values()))

    def get(self, uri: str) -> OpenDocument | None:
        """The open document of a URI, which may be that of a notebook's cell."""
        return self._open.get(uri) or self._of_cells.get(uri)

    def notebooks(self) -> dict[str, CellsDocument]:
        """The open notebooks that are analysed, by path."""
        found = ((document.path, document.notebook) for document in self._open.values() if document.cells is not None)
        return {path: notebook for path, notebook in found if notebook is not None}

    def at_path(self, path: str) -> OpenDocument | None:
        """The open document of a path as `path_of` gives it."""
        return next((document for document in self._open.values() if document.path == path), None)

    def text_at(self, path: Path) -> str | None:
        """The text of the open document of a path, for any thread; None where none is open."""
        return self._texts.get(str(path))

    def dependents(self, path: str) -> list[OpenDocument]:
        """The open documents whose checks have read the file of a path."""
        return [document for document in self._open.values() if Path(path) in document.dependencies]

    def found_at(self, path: str) -> tuple[list[Diagnostic], str]:
        """What is known of the file of a path, and a name for this state of knowledge.

        What its own check has found comes first, then what those of other files have; of two that say the same the
        graver one counts. A suppression that has an effect on what others have found is not unused.
        """
        own = self.at_path(path)
        others = [document for document in self._open.values() if Path(path) in document.dependencies]
        sources = others if own is None else [own, *(document for document in others if document is not own)]
        analyses = [document.analysis for document in sources if document.analysis is not None]
        if own is not None:
            analyses += own.callers
        used = {(UNUSED_IGNORE, place) for analysis in analyses for file, place in analysis.used if file == path}
        found: dict[tuple[str, Range], Diagnostic] = {}
        for analysis in analyses:
            for each in analysis.diagnostics:
                key = each.rule, each.range
                if each.path != path or key in used:
                    continue
                if key not in found or each.level.gravity > found[key].level.gravity:
                    found[key] = each
        states = [f"{document.generation}.{len(document.callers)}" for document in sources]
        return list(found.values()), "+".join(states)

    def analysis_of(self, document: OpenDocument) -> Analysis | None:
        """The analysis of a document with what those of other files have found in it."""
        if document.analysis is None:
            return None
        return replace(document.analysis, diagnostics=tuple(self.found_at(document.path)[0]))

    def open(self, item: types.TextDocumentItem) -> OpenDocument:
        """Take up a document; one that was open already is replaced."""
        self.close(item.uri)
        document = OpenDocument(
            item.uri, path_of(item.uri), item.language_id, item.version, split_lines(item.text), next(self._generations)
        )
        self._open[item.uri] = document
        self._texts[document.path] = document.text()
        return document

    def change(
        self,
        identifier: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
        encoding: Encoding,
    ) -> OpenDocument | None:
        """Apply the client's changes; None for a document that is not open."""
        document = self._open.get(identifier.uri)
        if document is not None:
            document.lines = apply_changes(document.lines, changes, encoding)
            document.version = identifier.version
            self._texts[document.path] = document.text()
            self._changed(document)
        return document

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> OpenDocument:
        """Take up a notebook; one that was open already is replaced."""
        item = params.notebook_document
        self.close(item.uri)
        document = OpenDocument(item.uri, path_of(item.uri), "python", item.version, [], next(self._generations))
        document.cells = cells_of(item.cells, params.cell_text_documents)
        self._open[item.uri] = document
        self._of_cells.update((cell.uri, document) for cell in document.cells)
        return document

    def change_notebook(
        self, params: types.DidChangeNotebookDocumentParams, encoding: Encoding
    ) -> tuple[OpenDocument, frozenset[str]] | None:
        """Apply the client's changes; also the URIs of cells that are gone. None for a notebook that is not open."""
        document = self._open.get(params.notebook_document.uri)
        if document is None or document.cells is None:
            return None
        document.version = params.notebook_document.version
        before = {cell.uri for cell in document.cells}
        if params.change.cells is not None:
            document.cells = changed_cells(document.cells, params.change.cells, encoding)
        now = {cell.uri: document for cell in document.cells}
        for uri in before - now.keys():
            self._of_cells.pop(uri, None)
        self._of_cells.update(now)
        self._changed(document)
        return document, frozenset(before - now.keys())

    def close(self, uri: str) -> OpenDocument | None:
        """Forget a document; those who wait for its analysis go away empty-handed."""
        document = self._open.pop(uri, None)
        if document is not None:
            self._texts.pop(document.path, None)
            for cell in document.cells or ():
                self._of_cells.pop(cell.uri, None)
            _wake(document)
        return document

    def _changed(self, document: OpenDocument) -> None:
        self._open[document.uri] = self._open.pop(document.uri)  # The one that was worked on last is the last one.
        self.renew(document)
        document.edited = True

    def renew(self, document: OpenDocument) -> None:
        """Begin a new generation: what was found so far is no longer current."""
        document.generation = next(self._generations)
        document.analysis = None
        document.callers = ()
        document.answered = document.edited = False

    def answer(self, uri: str, generation: int, analysis: Analysis | None) -> OpenDocument | None:
        """Keep the result of a check (None: it failed) if it is still current, and wake those who wait for it."""
        document = self._open.get(uri)
        if document is None or document.generation != generation:
            return None
        document.analysis = analysis
        if analysis is not None:
            document.dependencies = analysis.dependencies
            document.memory = analysis.memory
        if analysis is not None and not analysis.parsed.problems:
            document.last = analysis.parsed
        document.answered = True
        _wake(document)
        return document

    def rest(self) -> None:
        """Have the documents that were changed or opened longest ago keep only what was found in them."""
        left = AWAKE
        for document in reversed(list(self._open.values())):
            left -= sum(map(len, document.lines)) + sum(
                len(line) for cell in document.cells or () for line in cell.lines
            )
            if left < 0 and document.answered:
                document.analysis = None if document.analysis is None else document.analysis.findings()
                document.memory = document.last = None

    def learn(self, uri: str, generation: int, callers: tuple[Analysis, ...]) -> OpenDocument | None:
        """Keep what is seen from the callers of a document, if it is still current and there is anything."""
        document = self._open.get(uri)
        if document is None or document.generation != generation or not callers:
            return None
        document.callers = callers
        files = {Path(document.path)}
        for caller in callers:
            document.dependencies |= (caller.dependencies | {Path(caller.document.path)}) - files
        return document

    async def analysed(self, uri: str) -> OpenDocument | None:
        """The document once the check of its newest text has ended; None where it is not open, or not Python."""
        while (document := self.get(uri)) is not None and document.is_python:
            if document.answered:
                return document
            # Each waiter has a future of its own: a cancelled request cancels what it awaits.
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            document.waiting.append(future)
            await future
        return None


def _wake(document: OpenDocument) -> None:
    for future in document.waiting:
        if not future.done():
            future.set_result(None)
    document.waiting.clear()
