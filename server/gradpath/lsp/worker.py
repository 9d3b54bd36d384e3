"""The one thread that checks documents: newest edit first, and nothing that is out of date."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from gradpath.records import dataclass

Cancelled = Callable[[], bool]

_STACK = 128 * 1024 * 1024
"""Bytes of address space for the stack of the thread: deeply nested code needs more than a thread is given."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do for one state of a document, which `generation` names.

    A newer job with the same `key` takes its place. `work` returns whether it came to its end.
    """

    key: str
    generation: int
    work: Callable[[Cancelled], bool]


class Worker:
    """Does the newest job of each key, one after the other, on a daemon thread.

    A job is cancelled when a newer one with its key is submitted, or when it is dropped; it is put off, and begun anew
    later, when the document that is being edited has an urgent job. On the same thread `prepare` is called first of
    all, and each of `rests` when there has been nothing to do after some work: for so many seconds, the fewest first.
    """

    def __init__(self, prepare: Callable[[], None], rests: Mapping[float, Callable[[], None]]) -> None:
        self._prepare = prepare
        self._rests = rests
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
        """Queue a job in place of any earlier one with its key."""
        with self._changed:
            self._forget(job.key)
            self._wanted[job.key] = job.generation
            if urgent:
                if self._first is not None:
                    self._later.insert(0, self._first)
                self._first = job
            else:
                self._later.append(job)
            self._changed.notify()

    def drop(self, key: str) -> None:
        """Cancel what is queued or running under a key."""
        with self._changed:
            self._forget(key)

    def stop(self) -> None:
        """Cancel everything; the thread ends as soon as the running job notices."""
        with self._changed:
            self._stopped = True
            self._wanted.clear()
            self._changed.notify()

    def _forget(self, key: str) -> None:
        self._wanted.pop(key, None)
        self._later = [job for job in self._later if job.key != key]
        if self._first is not None and self._first.key == key:
            self._first = None

    def _run(self) -> None:
        self._prepare()
        while (job := self._next()) is not None:
            finished = job.work(self._cancellation(job))
            with self._changed:
                if not finished and self._is_wanted(job):
                    self._later.insert(0, job)

    def _next(self) -> Job | None:
        with self._changed:
            passed = 0.0
            for pause, rest in self._rests.items():
                if self._changed.wait_for(self._is_called, pause - passed):
                    break
                rest()
                passed = pause
            self._changed.wait_for(self._is_called)
            if self._stopped:
                return None
            job, self._first = self._first, None
            return job if job is not None else self._later.pop(0)

    def _is_called(self) -> bool:
        return self._stopped or self._first is not None or bool(self._later)

    def _is_wanted(self, job: Job) -> bool:
        return self._wanted.get(job.key) == job.generation

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
