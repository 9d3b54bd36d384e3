"""What is found out about a document only when somebody asks for it, on the worker's thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.worker import Cancelled, Job
from gradpath.records import dataclass

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.config import Config
    from gradpath.lsp.session import Server
    from gradpath.names.project import Project

logger = logging.getLogger(__name__)

T = TypeVar("T")

Work = Callable[["Analysis", "Config", "Project | None", Cancelled], "T | None"]
"""Finds something out about an analysis, on the worker's thread."""

Prepare = Callable[[OpenDocument], "Work[T] | None"]
"""Says, on the thread of the event loop, what is to be found out about the newest state of a document, if anything."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A question about one state of what is known of a document; the answer is None where that is out of date."""

    state: str
    answer: asyncio.Future[Any]


class Asking:
    """The questions that are open or whose answers are kept, by document and by what is asked."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._questions: dict[str, dict[str, _Question]] = {}

    async def find(
        self, uri: str, what: str, prepare: Prepare[T], *, keep: bool = False
    ) -> tuple[OpenDocument, T] | None:
        """A document, and what is found out of its newest analysis; None where there is nothing, or where it fails.

        Who asks for the same `what` at the same time gets the same answer, and later on too if that is to be kept.
        """
        while True:
            document = await self._server.documents.analysed(uri)
            analysis = None if document is None else self._server.documents.analysis_of(document)
            if document is None or analysis is None:
                return None
            questions = self._questions.setdefault(document.uri, {})
            _, state = self._server.documents.found_at(document.path)
            question = questions.get(what)
            if question is None or question.state != state:
                self._take_back(document.uri, what)
                work = prepare(document)
                if work is None:
                    return None
                question = questions[what] = _Question(state, asyncio.get_running_loop().create_future())
                self._submit(document, analysis, what, question, work)
            # Each request may be cancelled by itself.
            found: tuple[T | None] | None = await asyncio.shield(question.answer)
            if not keep and questions.get(what) is question:
                del questions[what]
            if found is not None:
                return None if found[0] is None else (document, found[0])

    async def explain(self, traceback: str, folder: Path) -> str:
        """The story behind a traceback whose files are looked for in a folder; it belongs to no document."""
        server = self._server
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        key = f"explain#{id(answer)}"

        def run(cancelled: Cancelled) -> bool:
            from gradpath.features.explanation import explained

            try:
                story = explained(traceback, folder, cancelled)
            except Exception:
                logger.exception("A traceback cannot be explained")
                story = "Cannot tell: gradpath itself failed, as its log says.\n"
            if cancelled():
                return False
            server.from_thread(lambda: None if answer.done() else answer.set_result(story))
            return True

        server.checks.submit(Job(key, 0, run), urgent=True)
        try:
            return await answer
        finally:
            server.checks.withdraw(key)

    def forget(self, document: OpenDocument) -> None:
        """Drop all questions about a document that changes; those who wait for answers ask again."""
        for what in list(self._questions.get(document.uri, ())):
            self._take_back(document.uri, what)
        self._questions.pop(document.uri, None)

    def _submit(
        self, document: OpenDocument, analysis: Analysis, what: str, question: _Question, work: Work[T]
    ) -> None:
        server, path = self._server, document.path

        def run(cancelled: Cancelled) -> bool:
            found: T | None = None
            try:
                config, project = server.configurations.of(path), server.checks.project_of(path)
                found = work(analysis, config, project, cancelled)
            except Exception:
                logger.exception("The %s of %s cannot be told", what, path)
            if cancelled():
                return False
            server.from_thread(lambda: _answer(question, (found,)))
            return True

        server.checks.submit(Job(_key(document.uri, what), document.generation, run), urgent=True)

    def _take_back(self, uri: str, what: str) -> None:
        question = self._questions.get(uri, {}).pop(what, None)
        if question is not None:
            self._server.checks.withdraw(_key(uri, what))
            _answer(question, None)


def _key(uri: str, what: str) -> str:
    return f"{uri}#{what}"


def _answer(question: _Question, found: tuple[object] | None) -> None:
    if not question.answer.done():
        question.answer.set_result(found)
