"""The one thread that checks documents: newest edit first, and nothing that is out of date."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gradpath.records import dataclass

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.reuse import Memory
    from gradpath.source.cells import Cell
    from gradpath.source.document import Document
    from gradpath.source.parse import Parsed

Cancelled = Callable[[], bool]

_STACK = 128 * 1024 * 1024
"""Bytes of address space for the stack of the thread: deeply nested code needs more than a thread is given."""


@dataclass(frozen=True, slots=True)
class Job:
    """A text to check, and the generation of its document that the result is for."""

    uri: str
    path: str
    text: str
    generation: int
    last: Parsed | None
    """An earlier parse of the document that had no problems."""
    known: Analysis | None = None
    """The analysis of the text, where only what its callers know of it is left to find out."""
    cells: tuple[Cell, ...] | None = None
    """The cells of a notebook, which stand instead of the text."""
    report: Callable[[Analysis | None], None] | None = None
    """Takes the outcome where the file is not open: it is then read from disk."""
    memory: Memory | None = None
    """What an earlier check of the document has left to be reused."""

    def document(self) -> Document:
        """What to check; raises `UnreadableSource`."""
        from gradpath.source.cells import CellsDocument
        from gradpath.source.document import Document
        from gradpath.source.notebook import read_source

        if self.report is not None:
            return read_source(Path(self.path))
        return Document(self.path, self.text) if self.cells is None else CellsDocument(self.path, self.cells)


class Worker:
    """Calls `work(job, cancelled)` for the newest job of each document, one after the other, on a daemon thread.

    `work` returns whether it brought the job to its end. A job is cancelled when a newer one of its document is
    submitted, or when it is dropped; it is put off, and begun anew later, when the document that is being edited has
    an urgent job. `prepare` is called first of all, on the same thread.
    """

    def __init__(self, work: Callable[[Job, Cancelled], bool], prepare: Callable[[], None]) -> None:
        self._work = work
        self._prepare = prepare
        self._changed = threading.Condition()
        self._wanted: dict[str, int] = {}
        self._first: Job | None = None
        self._later: list[Job] = []
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; a second call does nothing."""
        if self._thread is None:
            before = threading.stack_size(_STACK)
            self._thread = threading.Thread(target=self._run, name="gradpath-worker", daemon=True)
            self._thread.start()
            threading.stack_size(before)

    def submit(self, job: Job, *, urgent: bool = True) -> None:
        """Queue a job in place of any earlier one of the same document."""
        with self._changed:
            self._forget(job.uri)
            self._wanted[job.uri] = job.generation
            if urgent:
                if self._first is not None:
                    self._later.insert(0, self._first)
                self._first = job
            else:
                self._later.append(job)
            self._changed.notify()

    def drop(self, uri: str) -> None:
        """Cancel what is queued or running for a document."""
        with self._changed:
            self._forget(uri)

    def stop(self) -> None:
        """Cancel everything; the thread ends as soon as the running job notices."""
        with self._changed:
            self._stopped = True
            self._wanted.clear()
            self._changed.notify()

    def _forget(self, uri: str) -> None:
        self._wanted.pop(uri, None)
        self._later = [job for job in self._later if job.uri != uri]
        if self._first is not None and self._first.uri == uri:
            self._first = None

    def _run(self) -> None:
        self._prepare()
        while (job := self._next()) is not None:
            finished = self._work(job, self._cancellation(job))
            with self._changed:
                if not finished and self._is_wanted(job):
                    self._later.insert(0, job)

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._first is not None or bool(self._later))
            if self._stopped:
                return None
            job, self._first = self._first, None
            return job if job is not None else self._later.pop(0)

    def _is_wanted(self, job: Job) -> bool:
        return self._wanted.get(job.uri) == job.generation

    def _cancellation(self, job: Job) -> Cancelled:
        """Whether a job is cancelled, for the one who works on it: what was true once stays true.

        The reason may go away, but a check that has stopped because of it is not complete.
        """
        noticed = False

        def is_cancelled() -> bool:
            nonlocal noticed
            noticed = noticed or self._first is not None or not self._is_wanted(job)
            return noticed

        return is_cancelled
