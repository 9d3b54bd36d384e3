"""The open documents: their texts, versions, and what is known of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.lsp.convert import Encoding
from gradpath.lsp.text import apply_changes, split_lines
from gradpath.lsp.uris import path_of

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.source.parse import Parsed

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


class Documents:
    """All open documents by URI. Only the thread of the event loop may touch them."""

    def __init__(self) -> None:
        self._open: dict[str, OpenDocument] = {}
        self._generations = count(1)

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(list(self._open.values()))

    def get(self, uri: str) -> OpenDocument | None:
        """The open document of a URI."""
        return self._open.get(uri)

    def at_path(self, path: str) -> OpenDocument | None:
        """The open document of a path as `path_of` gives it."""
        return next((document for document in self._open.values() if document.path == path), None)

    def open(self, item: types.TextDocumentItem) -> OpenDocument:
        """Take up a document; one that was open already is replaced."""
        self.close(item.uri)
        document = OpenDocument(
            item.uri, path_of(item.uri), item.language_id, item.version, split_lines(item.text), next(self._generations)
        )
        self._open[item.uri] = document
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
            self.renew(document)
        return document

    def close(self, uri: str) -> OpenDocument | None:
        """Forget a document; those who wait for its analysis go away empty-handed."""
        document = self._open.pop(uri, None)
        if document is not None:
            _wake(document)
        return document

    def renew(self, document: OpenDocument) -> None:
        """Begin a new generation: what was found so far is no longer current."""
        document.generation = next(self._generations)
        document.analysis = None
        document.answered = False

    def answer(self, uri: str, generation: int, analysis: Analysis | None) -> OpenDocument | None:
        """Keep the result of a check (None: it failed) if it is still current, and wake those who wait for it."""
        document = self._open.get(uri)
        if document is None or document.generation != generation:
            return None
        document.analysis = analysis
        if analysis is not None and not analysis.parsed.problems:
            document.last = analysis.parsed
        document.answered = True
        _wake(document)
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
