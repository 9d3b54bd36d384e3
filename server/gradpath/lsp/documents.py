"""The open documents: their texts, versions, and what is known of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.lsp.convert import Encoding
from gradpath.lsp.text import apply_changes, split_lines
from gradpath.lsp.uris import path_of

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.diagnostic import Diagnostic, Range
    from gradpath.source.parse import Parsed

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
    analysis: Analysis | None = None
    answered: bool = False
    """Whether the check of this generation has ended; `analysis` is still None where it failed."""
    last: Parsed | None = None
    """The newest parse without problems; it helps with the text while it is half typed."""
    dependencies: frozenset[Path] = frozenset()
    """The other files that the newest finished check has read."""
    callers: tuple[Analysis, ...] = ()
    """The checks of files that are not open and run code of this one, once they are known."""
    waiting: list[asyncio.Future[None]] = field(default_factory=list)

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
        return "\f" + text[1:] if text.startswith(_BOM) else text

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
        self._texts: dict[str, str] = {}
        self._generations = count(1)

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(list(self._open.values()))

    def get(self, uri: str) -> OpenDocument | None:
        """The open document of a URI."""
        return self._open.get(uri)

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
            self.renew(document)
        return document

    def close(self, uri: str) -> OpenDocument | None:
        """Forget a document; those who wait for its analysis go away empty-handed."""
        document = self._open.pop(uri, None)
        if document is not None:
            self._texts.pop(document.path, None)
            _wake(document)
        return document

    def renew(self, document: OpenDocument) -> None:
        """Begin a new generation: what was found so far is no longer current."""
        document.generation = next(self._generations)
        document.analysis = None
        document.callers = ()
        document.answered = False

    def answer(self, uri: str, generation: int, analysis: Analysis | None) -> OpenDocument | None:
        """Keep the result of a check (None: it failed) if it is still current, and wake those who wait for it."""
        document = self._open.get(uri)
        if document is None or document.generation != generation:
            return None
        document.analysis = analysis
        if analysis is not None:
            document.dependencies = analysis.dependencies
        if analysis is not None and not analysis.parsed.problems:
            document.last = analysis.parsed
        document.answered = True
        _wake(document)
        return document

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
        while (document := self._open.get(uri)) is not None and document.is_python:
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
