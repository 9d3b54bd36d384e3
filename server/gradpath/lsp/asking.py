"""On-demand answers about a document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from gradpath.analyst.messages import Request
from gradpath.analyst.supervisor import GivenUp, Job
from gradpath.lsp.checks import Checks
from gradpath.lsp.documents import Documents, OpenDocument
from gradpath.support.fast_dataclasses import dataclass

Prepare = Callable[[OpenDocument], "Request | None"]
"""Says what is to be found out about the newest state of a document, if anything."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A question about one state of what is known of a document; the answer is None where that is out of date."""

    state: str
    answer: asyncio.Future[Any]


class Asking:
    """The questions that are open, by document and by what is asked."""

    def __init__(self, documents: Documents, checks: Checks) -> None:
        self._documents, self._checks = documents, checks
        self._questions: dict[str, dict[str, _Question]] = {}

    async def find(self, uri: str, what: str, prepare: Prepare) -> tuple[OpenDocument, Any] | None:
        """A document, and what is found out of its newest state; None where there is nothing, or where it fails.

        Who asks for the same `what` at the same time gets the same answer.
        """
        while True:
            document = await self._documents.analysed(uri)
            if document is None or document.outcome is None or document.given_up:
                return None
            questions = self._questions.setdefault(document.uri, {})
            _, state = self._documents.found_at(document.path)
            question = questions.get(what)
            if question is None or question.state != state:
                self._take_back(document.uri, what)
                request = prepare(document)
                if request is None:
                    return None
                question = questions[what] = _Question(state, asyncio.get_running_loop().create_future())
                self._submit(document, what, question, request)
            # Each request may be cancelled by itself.
            found: tuple[Any] | None = await asyncio.shield(question.answer)
            if questions.get(what) is question:
                del questions[what]
            if found is not None:
                return None if found[0] is None else (document, found[0])

    def forget(self, document: OpenDocument) -> None:
        """Drop all questions about a document that changes; those who wait for answers ask again."""
        for what in list(self._questions.get(document.uri, ())):
            self._take_back(document.uri, what)
        self._questions.pop(document.uri, None)

    def _submit(self, document: OpenDocument, what: str, question: _Question, request: Request) -> None:
        key = _key(document.uri, what)
        done = partial(_answer, question)
        self._checks.submit(Job(key, document.generation, request, done, about=key, size=document.size), urgent=True)

    def _take_back(self, uri: str, what: str) -> None:
        question = self._questions.get(uri, {}).pop(what, None)
        if question is not None:
            self._checks.withdraw(_key(uri, what))
            if not question.answer.done():
                question.answer.set_result(None)


def _key(uri: str, what: str) -> str:
    return f"{uri}#{what}"


def _answer(question: _Question, found: object, _: GivenUp | None) -> None:
    if not question.answer.done():
        question.answer.set_result((found,))
