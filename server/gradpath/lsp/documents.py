"""The open documents: their texts, versions, and what is known of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.analyst.messages import Opened, Outcome
from gradpath.lsp.convert import Encoding, from_range
from gradpath.lsp.notebooks import OpenCell, cells_of, changed_cells, checked
from gradpath.lsp.text import apply_changes, split_lines
from gradpath.lsp.uris import path_of, uri_of
from gradpath.support.fast_dataclasses import dataclass, field

if TYPE_CHECKING:
    from gradpath.diagnostic import Diagnostic, Range
    from gradpath.source.cells import CellsDocument

UNUSED_IGNORE = "unused-ignore"
"""The rule of the hint at a suppression comment without effect."""

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
    outcome: Outcome | None = None
    answered: bool = False
    """Whether the check of this generation has ended; `outcome` is still None where it failed."""
    given_up: bool = False
    """Whether the check of this text had to be stopped before it found anything: there is nothing to be asked then."""
    edited: bool = True
    """Whether this generation came with a text from the client, which asks by itself then for what is found in it."""
    dependencies: frozenset[Path] = frozenset()
    """The other files that the newest finished check has read."""
    callers: tuple[Outcome, ...] = ()
    """The checks of files that are not open and run code of this one, once they are known."""
    tried: tuple[str, tuple[Diagnostic, ...]] | None = None
    """The findings in it with the advice that holds, once it was tried, and the state that they are of."""
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    cells: list[OpenCell] | None = None
    """The cells of a notebook, which has no lines of its own."""

    @property
    def is_python(self) -> bool:
        """True if the document is checked at all; the language counts, since a new file may not have a name yet."""
        return self.language == "python" or self.path.endswith(".py")

    @property
    def size(self) -> int:
        """The number of characters to check."""
        return sum(map(len, self.lines)) + sum(len(line) for cell in self.cells or () for line in cell.lines)

    def opened(self) -> Opened:
        """The text to check, or the cells, for the analysis process.

        A byte order mark, which Python allows only in bytes, becomes a form feed: as wide, and without meaning at the
        start of a line.
        """
        text = "".join(self.lines)
        text = "\f" + text[1:] if text.startswith(_BOM) else text
        return Opened(self.uri, self.path, text, None if self.cells is None else tuple(checked(self.cells)))

    @property
    def notebook(self) -> CellsDocument | None:
        """The cells as the newest check has them."""
        return None if self.outcome is None else self.outcome.notebook

    def place_in(self, uri: str, place: types.Range, encoding: Encoding) -> Range | None:
        """A range from the client in the analysed text; None in a cell without analysis. `uri` may be a cell's."""
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
        if self.outcome is None:
            return frozenset()
        found = (*(each.path for each in self.outcome.diagnostics), *(path for path, _ in self.outcome.used))
        return frozenset(found) - {self.path}


class Documents:
    """All open documents by URI. Only the thread of the event loop may touch them."""

    def __init__(self) -> None:
        self._open: dict[str, OpenDocument] = {}
        self._of_cells: dict[str, OpenDocument] = {}
        self._at_path: dict[str, OpenDocument] = {}
        self._readers: dict[Path, dict[str, OpenDocument]] = {}
        """The documents whose checks have read a file, by their URIs."""
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
        return self._at_path.get(path)

    def dependents(self, path: str) -> list[OpenDocument]:
        """The open documents whose checks have read the file of a path."""
        return list(self._readers.get(Path(path), {}).values())

    def line_told(self, path: str, number: int) -> str:
        """A line (from 1) of a file that is not open, as the checks that speak of it have seen it; else empty."""
        for document in self.dependents(path):
            for outcome in (document.outcome, *document.callers):
                line = None if outcome is None else outcome.lines.get(path, {}).get(number)
                if line is not None:
                    return line
        return ""

    def found_at(self, path: str) -> tuple[list[Diagnostic], str]:
        """The findings in the file of a path, and a name for this state of them.

        The findings of its own check come first, then those of other files; of two that say the same the graver one
        counts. A suppression that has an effect on the findings of others is not unused.
        """
        own = self.at_path(path)
        others = self.dependents(path)
        sources = others if own is None else [own, *(document for document in others if document is not own)]
        outcomes = [document.outcome for document in sources if document.outcome is not None]
        if own is not None:
            outcomes += own.callers
        used = {(UNUSED_IGNORE, place) for outcome in outcomes for file, place in outcome.used if file == path}
        found: dict[tuple[str, Range], Diagnostic] = {}
        for outcome in outcomes:
            for each in outcome.diagnostics:
                key = each.rule, each.range
                if each.path != path or key in used:
                    continue
                if key not in found or each.level.gravity > found[key].level.gravity:
                    found[key] = each
        states = [f"{document.generation}.{len(document.callers)}" for document in sources]
        return list(found.values()), "+".join(states)

    def told_at(self, path: str) -> tuple[list[Diagnostic], str]:
        """The same as they are told: with the advice that holds, once that is known."""
        found, state = self.found_at(path)
        own = self.at_path(path)
        tried = None if own is None else own.tried
        return (list(tried[1]), f"{state}.tried") if tried is not None and tried[0] == state else (found, state)

    def open(self, item: types.TextDocumentItem) -> OpenDocument:
        """Take up a document; one that was open already is replaced."""
        self.close(item.uri)
        document = OpenDocument(
            item.uri, path_of(item.uri), item.language_id, item.version, split_lines(item.text), next(self._generations)
        )
        self._open[item.uri] = self._at_path[document.path] = document
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
            self._changed(document)
        return document

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> OpenDocument:
        """Take up a notebook; one that was open already is replaced."""
        item = params.notebook_document
        self.close(item.uri)
        document = OpenDocument(item.uri, path_of(item.uri), "python", item.version, [], next(self._generations))
        document.cells = cells_of(item.cells, params.cell_text_documents)
        self._open[item.uri] = self._at_path[document.path] = document
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
            self._depend(document, frozenset())
            self._at_path.pop(document.path, None)
            # The same file may be open under another URI.
            self._at_path.update((each.path, each) for each in self._open.values() if each.path == document.path)
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
        document.outcome = None
        document.callers = ()
        document.tried = None
        document.answered = document.edited = document.given_up = False

    def answer(
        self, uri: str, generation: int, outcome: Outcome | None, *, given_up: bool = False
    ) -> OpenDocument | None:
        """Keep the result of a check (None: it failed) if it is still current, and wake those who wait for it."""
        document = self._open.get(uri)
        if document is None or document.generation != generation:
            return None
        document.outcome, document.given_up = outcome, given_up
        if outcome is not None and not given_up:
            self._depend(document, outcome.dependencies)
        document.answered = True
        _wake(document)
        return document

    def learn(self, uri: str, generation: int, callers: tuple[Outcome, ...]) -> OpenDocument | None:
        """Keep what is seen from the callers of a document, if it is still current and there is anything."""
        document = self._open.get(uri)
        if document is None or document.generation != generation or not callers:
            return None
        document.callers = callers
        files = {Path(document.path)}
        read = frozenset(path for caller in callers for path in (*caller.dependencies, Path(caller.path)))
        self._depend(document, document.dependencies | (read - files))
        return document

    def _depend(self, document: OpenDocument, dependencies: frozenset[Path]) -> None:
        """Note which files the checks of a document have read."""
        for path in document.dependencies - dependencies:
            readers = self._readers.get(path, {})
            readers.pop(document.uri, None)
            if not readers:
                self._readers.pop(path, None)
        for path in dependencies:
            self._readers.setdefault(path, {})[document.uri] = document
        document.dependencies = dependencies

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
