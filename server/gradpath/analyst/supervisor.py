"""Gives work to an analysis process, one piece after the other, and gives up what does not end.

A check may hang where nothing in its process can stop it. So the server never waits for one: work that is called back
and does not give way, and work that takes longer than it may, ends together with its process, and another process goes
on. That one is started as soon as work looks as if it might hang, because a start takes as long as a user notices.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradpath.analyst.link import Link
from gradpath.analyst.messages import (
    Cancel,
    Complained,
    Done,
    Ending,
    Found,
    Grown,
    Logged,
    Message,
    News,
    Ready,
    Request,
    Work,
)
from gradpath.diagnostic import GapKind
from gradpath.support.fast_dataclasses import dataclass, field

logger = logging.getLogger(__name__)

GRACE = 0.3
"""Seconds that work may take to give way."""

PER_CHARACTER = 1e-6
"""Seconds by which that is longer for each character of the text: the parser of Python cannot be interrupted."""

TIME = 10.0
"""Seconds that work may take before it is asked to end with what it has."""

TIME_PER_CHARACTER = 2e-5
"""Seconds by which that is longer for each character of the text."""

OVERTIME = 1.5
"""Seconds that it may take to do so."""

SUSPICIOUS = 1.0
"""Seconds after which work looks as if it might hang: another process is started then, and kept in reserve."""

RESERVE = 60.0
"""Seconds that a process is kept in reserve for which there has been no use."""

START = 60.0
"""Seconds that a process may take to start; the machine may be busy."""

STARTS = 3
"""Processes in a row that may end before they have done anything."""

STRIKES = 2
"""How often work may have to be stopped together with its process before it is given up."""

STILL = 1.0
"""Seconds without anything urgent after which work is begun that has once been stopped so; each time twice as many."""

STILLEST = 16.0
"""Seconds that it waits at most."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Why some work has no answer, or not the whole one; `place` is where gradpath stood, where that is known."""

    kind: GapKind
    place: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do for one state of a document, which `generation` names.

    A newer job with the same `key` takes its place. `done` gets the answer, and why it is not complete if it is not.
    `about` is what is to blame if it hangs; `size` is how many characters it is about.
    """

    key: str
    generation: int
    request: Request
    done: Callable[[Any, GivenUp | None], None]
    about: str = ""
    size: int = 0

    @property
    def seconds(self) -> float:
        """The time that it may take."""
        return TIME + self.size * TIME_PER_CHARACTER

    @property
    def grace(self) -> float:
        """The time that it may take to stop."""
        return GRACE + self.size * PER_CHARACTER


@dataclass(slots=True, eq=False)
class _Running:
    """The job that is being done; `recalled` says that it was asked to give way."""

    job: Job
    number: int
    recalled: bool = False
    timers: list[asyncio.TimerHandle] = field(default_factory=list)


_SHORT = {Ending.OUT_OF_TIME: GivenUp(GapKind.TIME), Ending.OUT_OF_MEMORY: GivenUp(GapKind.MEMORY)}


class Supervisor:
    """Does the newest job of each key, urgent ones first. Belongs to the thread of the event loop.

    A job is cancelled when a newer one with its key is submitted, or when it is dropped; it is put off, and begun again
    later, when an urgent one comes. `greeting` are the messages that bring a new process up to date; `heard` gets what
    a process tells without being asked. `first` is a process that has been started already.
    """

    def __init__(
        self,
        greeting: Callable[[], Iterable[Message]],
        heard: Callable[[News], None],
        command: Sequence[str] = (),
        first: Link | None = None,
    ) -> None:
        self._greeting = greeting
        self._heard = heard
        self._command = command
        self._wanted: dict[str, int] = {}
        self._first: Job | None = None
        self._later: list[Job] = []
        self._waiting: dict[str, tuple[Job, asyncio.TimerHandle]] = {}
        self._strikes: dict[str, int] = {}
        self._stops: dict[str, int] = {}
        """How often the work for a document was stopped since it last ended; strikes are of one state of it."""
        self._last_urgent = 0.0
        self._running: _Running | None = None
        self._number = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._link = first
        self._reserve: Link | None = None
        self._failures = 0
        self._stopped = False

    def start(self) -> None:
        """Begin to work, on the running event loop; a second call does nothing."""
        if self._loop is not None or self._stopped:
            return
        self._loop = asyncio.get_running_loop()
        if self._link is None:
            self._start_another()
        else:
            self._attach(self._link)
            self._greet(self._link)

    def kill(self) -> None:
        """End all processes, from any thread, because this one is about to end."""
        for link in (self._link, self._reserve):
            if link is not None:
                link.end()

    def stop(self) -> None:
        """End all work and all processes."""
        self._stopped = True
        self._wanted.clear()
        self._clear_timers()
        for _, timer in self._waiting.values():
            timer.cancel()
        self.kill()
        self._link = self._reserve = self._running = None

    # What is to be done

    def tell(self, message: Message) -> None:
        """Tell the process something that it is to know from now on."""
        if self._link is not None and self._loop is not None:
            self._link.send(message)

    def submit(self, job: Job, *, urgent: bool = True) -> None:
        """Queue a job in place of any earlier one with its key."""
        self.start()
        self.drop(job.key)
        if self._stopped:
            job.done(None, GivenUp(GapKind.FAILURE))
            return
        self._wanted[job.key] = job.generation
        if job.key == job.about and job.about in self._strikes:
            self._strikes[job.about] = 1  # In its new state it may end in time.
        if urgent and self._loop is not None:
            self._last_urgent = self._loop.time()
        if job.about in self._stops:
            self._wait(job)
        else:
            self._queue(job, urgent)

    def drop(self, key: str) -> None:
        """Cancel what is queued or running under a key."""
        if key in self._wanted:
            del self._wanted[key]
            self._later = [job for job in self._later if job.key != key]
            if self._first is not None and self._first.key == key:
                self._first = None
        if key in self._waiting:
            self._waiting.pop(key)[1].cancel()
        self._look()

    def _wait(self, job: Job) -> None:
        """Queue a job that may hang for when nothing urgent waits: stopping it takes a moment, and its process."""
        assert self._loop is not None
        delay = min(STILL * 2.0 ** (self._stops.get(job.about, 1) - 1), STILLEST)
        self._waiting[job.key] = job, self._loop.call_later(delay, self._resume, job)

    def _resume(self, job: Job) -> None:
        assert self._loop is not None
        left = self._last_urgent + STILL - self._loop.time()
        if left > 0:
            self._waiting[job.key] = job, self._loop.call_later(left, self._resume, job)
        else:
            self._queue(job, False)

    def _queue(self, job: Job, urgent: bool) -> None:
        self._waiting.pop(job.key, None)
        if urgent:
            if self._first is not None:
                self._later.insert(0, self._first)
            self._first = job
        else:
            self._later.append(job)
        self._look()

    def _look(self) -> None:
        """Begin the next job, or have the one that is being done give way."""
        if self._running is None:
            self._begin_next()
        elif not self._running.recalled and (self._first is not None or not self._is_wanted(self._running.job)):
            self._recall(self._running)

    def _begin_next(self) -> None:
        if self._link is None or self._loop is None or not self._link.is_ready:
            return
        job, self._first = self._first, None
        if job is None:
            if not self._later:
                return
            job = self._later.pop(0)
        self._number += 1
        self._running = running = _Running(job, self._number)
        running.timers.append(self._loop.call_later(SUSPICIOUS, self._keep_reserve))
        running.timers.append(self._loop.call_later(job.seconds + OVERTIME, self._replace, running))
        self._link.send(Work(running.number, job.request, job.seconds))

    def _recall(self, running: _Running) -> None:
        assert self._link is not None
        assert self._loop is not None
        running.recalled = True
        self._link.send(Cancel(running.number))
        running.timers.append(self._loop.call_later(GRACE / 3, self._keep_reserve))
        running.timers.append(self._loop.call_later(running.job.grace, self._replace, running))

    def _is_wanted(self, job: Job) -> bool:
        return self._wanted.get(job.key) == job.generation

    # What comes of it

    def _hear(self, link: Link, message: object) -> None:
        """Take what a process says; None if it has ended."""
        match message:
            case Ready():
                link.is_ready = True
                self._look()
            case Done() if link is self._link and self._running is not None:
                self._finish(self._running, message)
            case Found() | Complained() | Logged():
                self._heard(message)
            case Grown() if link is self._link and self._running is None:
                logger.debug("The analysis starts again, because it holds too much memory")
                self._start_another()
            case None:
                self._lose(link)

    def _finish(self, running: _Running, done: Done) -> None:
        if done.number != running.number:
            return
        self._end_running()
        self._failures = 0
        job = running.job
        if done.ending is Ending.FINISHED:
            self._strikes.pop(job.about, None)
            self._stops.pop(job.about, None)
        if self._is_wanted(job):
            if done.ending is Ending.CANCELLED:
                self._later.insert(0, job)
            else:
                self._deliver(job, done.answer, _SHORT.get(done.ending))
        self._look()

    def _deliver(self, job: Job, answer: object, given_up: GivenUp | None) -> None:
        del self._wanted[job.key]
        job.done(answer, given_up)

    def _end_running(self) -> None:
        self._clear_timers()
        self._running = None

    def _clear_timers(self) -> None:
        for timer in self._running.timers if self._running is not None else ():
            timer.cancel()

    # Processes

    def _attach(self, link: Link) -> None:
        assert self._loop is not None
        link.attach(self._loop, self._hear)
        self._loop.call_later(START, self._check_start, link)

    def _check_start(self, link: Link) -> None:
        if not link.is_ready and link in (self._link, self._reserve):
            link.end()
            self._lose(link)

    def _greet(self, link: Link) -> None:
        for message in self._greeting():
            link.send(message)

    def _keep_reserve(self) -> None:
        """Start a process that takes over if the one that works has to be ended."""
        if self._reserve is None and self._loop is not None:
            self._reserve = Link(self._command)
            self._attach(self._reserve)
            self._loop.call_later(RESERVE, self._release, self._reserve)

    def _release(self, link: Link) -> None:
        if link is self._reserve:
            self._reserve = None
            link.end()

    def _start_another(self) -> None:
        """Put another process in the place of the one that works, which is ended."""
        if self._link is not None:
            self._link.end()
        link, self._reserve = self._reserve, None
        if link is None:
            link = Link(self._command)
            self._attach(link)
        self._link = link
        self._greet(link)
        self._look()

    def _replace(self, running: _Running) -> None:
        """End work that does not end by itself together with its process."""
        link = self._link
        if running is not self._running or link is None or self._loop is None:
            return
        job, was_due = running.job, running.recalled
        self._end_running()
        self._strike(job)
        if self._is_wanted(job):
            if was_due and self._strikes[job.about] < STRIKES:
                self._wait(job)  # It had to make room, and may end in time when it is begun again.
            else:
                del self._wanted[job.key]
                self._link = None
                link.end_with_word(self._loop, lambda place: job.done(None, GivenUp(GapKind.TIME, place)))
        self._start_another()

    def _lose(self, link: Link) -> None:
        """A process has ended by itself."""
        if link is self._reserve:
            self._reserve = None
        if link is not self._link or self._stopped:
            return
        running, self._link = self._running, None
        self._end_running()
        if running is None:
            self._failures += 1
        else:
            self._blame(running.job, link.place())
        if self._failures < STARTS:
            self._start_another()
        else:
            self._give_up_all()

    def _blame(self, job: Job, place: str) -> None:
        """The process has ended in the midst of a job: by a fault at some place, or for a reason outside of it."""
        self._strike(job)
        if not self._is_wanted(job):
            return
        if place or self._strikes[job.about] >= STRIKES:
            self._deliver(job, None, GivenUp(GapKind.CRASH, place))
        else:
            self._wait(job)

    def _strike(self, job: Job) -> None:
        for counts in (self._strikes, self._stops):
            counts[job.about] = counts.get(job.about, 0) + 1

    def _give_up_all(self) -> None:
        """Do nothing any more, because no process can be started."""
        jobs = [*([self._first] if self._first is not None else ()), *self._later]
        jobs += [job for job, _ in self._waiting.values()]
        logger.error("The analysis cannot be started: nothing is checked any more")
        self.stop()
        for job in jobs:
            job.done(None, GivenUp(GapKind.FAILURE))
