"""The checks of the open documents: when they are due, and where their results go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from gradpath.analyst.link import Link
from gradpath.analyst.messages import (
    Callers,
    Check,
    Closed,
    Complained,
    ConfigurationChanged,
    Found,
    Logged,
    Message,
    News,
    Outcome,
    Prove,
    Request,
    Settings,
)
from gradpath.analyst.supervisor import GivenUp, Job, Supervisor
from gradpath.diagnostic import Diagnostic, Gap, GapKind, Level, Position, Range
from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.state import State
from gradpath.render.gaps import gap_lines
from gradpath.support.fast_dataclasses import dataclass, replace

logger = logging.getLogger(__name__)

_CALLERS = "#callers"
"""The suffix of the key for the check of a document's callers."""

_PROOF = "#proof"
"""The suffix of the key for the trial of what was found in a document."""

STILL = 0.5
"""Seconds without an edit after which the callers of a document are looked at, and its fixes are tried."""


_UNTOLD = (GapKind.SYNTAX, GapKind.FAILURE)


class Listener(Protocol):
    """The receiver of the results of checks."""

    def is_changing(self, document: OpenDocument) -> None:
        """Work for an earlier state of a document is of no use any more."""

    def has_checked(self, document: OpenDocument) -> None:
        """The check of a document has ended."""

    def has_learned(self, document: OpenDocument) -> None:
        """More is known of a document than its check has found."""

    def has_timed(self, message: str, in_full: Callable[[], str]) -> None:
        """A report on a check, in one line and in full."""

    def complain(self, complaint: str) -> None:
        """A configuration is not as it should be."""


class Checks:
    """Has documents checked by the analysis process, which gets their newest states."""

    def __init__(
        self, state: State, listener: Listener, command: Sequence[str] = (), first: Link | None = None
    ) -> None:
        self._state, self._listener = state, listener
        self._documents = state.documents
        self._supervisor = Supervisor(self._greeting, self._hear, command, first)
        self._still: dict[str, asyncio.TimerHandle] = {}
        self._changes = 0
        self._changed: dict[Path, int] = {}
        self._questions = 0
        self.configured = 0
        """How often the settings or the configuration files have changed."""

    def start(self) -> None:
        """Begin to work; a second call does nothing."""
        self._supervisor.start()

    def stop(self) -> None:
        self._supervisor.stop()

    def kill(self) -> None:
        """End the analysis process, from any thread."""
        self._supervisor.kill()

    # Messages to the analysis process

    def changed(self, document: OpenDocument) -> None:
        """Take a new state of a document: check it, and those that depend on its file.

        Whether a check that is under way has read the old text is known only when it is done.
        """
        self._supervisor.tell(document.opened())
        self.schedule(document)
        self._check_dependents(document.path)

    def closed(self, document: OpenDocument) -> None:
        """Do nothing more for a document that is closed, and check those that depend on its file."""
        self._supervisor.drop(document.uri)
        self._forget(document)
        self._supervisor.tell(Closed(document.uri))
        self._check_dependents(document.path)

    def configure(self) -> None:
        """The editor's settings have changed."""
        self.configured += 1
        self._supervisor.tell(self._settings())

    def forget_configuration(self) -> None:
        """A configuration file may have changed."""
        self.configured += 1
        self._supervisor.tell(ConfigurationChanged())

    def _greeting(self) -> Iterator[Message]:
        yield self._settings()
        for document in self._documents:
            yield document.opened()

    def _settings(self) -> Settings:
        level = logging.getLogger("gradpath").getEffectiveLevel()
        return Settings(self._state.settings.everywhere, self._state.settings.by_folder, level)

    # What is due

    def schedule(self, document: OpenDocument, *, urgent: bool = True) -> None:
        """Check a document; whatever is being done for an earlier state of it is dropped."""
        if not document.is_python:
            return
        self._forget(document)
        state = _State(document.uri, document.path, document.generation, self._changes)
        request = Check(document.uri, document.path)
        done = partial(self._deliver, state)
        self.submit(
            Job(document.uri, document.generation, request, done, about=document.uri, size=document.size), urgent=urgent
        )

    def recheck(self, first: OpenDocument | None = None, *, stubborn: bool = False) -> None:
        """Check all open documents again, `first` before all others, then those that were worked on last.

        One whose check was given up waits for its own text to change, unless what the checks depend on has changed.
        """
        newest = reversed(list(self._documents))
        self._renew((each for each in newest if stubborn or not each.given_up or each is first), first)

    def submit(self, job: Job, *, urgent: bool = False) -> None:
        """Have something done when there is nothing else to do; or at once."""
        self._supervisor.submit(job, urgent=urgent)

    def withdraw(self, key: str) -> None:
        """Forget a job."""
        self._supervisor.drop(key)

    async def ask(self, request: Request) -> tuple[Any, GivenUp | None]:
        """Have something found out at once, and wait for it: the answer, and why it is not complete if it is not."""
        self._questions += 1
        key = f"#question {self._questions}"
        future: asyncio.Future[tuple[Any, GivenUp | None]] = asyncio.get_running_loop().create_future()

        def done(answer: object, given_up: GivenUp | None) -> None:
            if not future.done():
                future.set_result((answer, given_up))

        self.submit(Job(key, 0, request, done, about=key), urgent=True)
        try:
            return await future
        finally:
            self.withdraw(key)

    def _check_dependents(self, path: str) -> None:
        self._changes += 1
        self._changed[Path(path)] = self._changes
        self._renew(self._documents.dependents(path))

    def _forget(self, document: OpenDocument) -> None:
        """Drop other work for an earlier state of a document than its check."""
        timer = self._still.pop(document.uri, None)
        if timer is not None:
            timer.cancel()
        self._supervisor.drop(document.uri + _CALLERS)
        self._supervisor.drop(document.uri + _PROOF)
        self._listener.is_changing(document)

    def _renew(self, documents: Iterable[OpenDocument], first: OpenDocument | None = None) -> None:
        for document in documents:
            self._documents.renew(document)
            self.schedule(document, urgent=document is first)

    # What comes of it

    def _hear(self, message: News) -> None:
        match message:
            case Found(importer=importer):
                self._found(importer)
            case Complained(text=complaint):
                self._listener.complain(complaint)
            case Logged(name=name, level=level, text=text, traceback=traceback):
                record = {"name": name, "levelno": level, "levelname": logging.getLevelName(level), "msg": text}
                log = logging.getLogger(name)
                if log.isEnabledFor(level):
                    log.handle(logging.makeLogRecord({**record, "exc_text": traceback}))

    def _found(self, importer: Path) -> None:
        """Check again what an import was found for, the file itself or those that depend on it."""
        documents = self._documents.dependents(str(importer))
        own = self._documents.at_path(str(importer))
        self._renew(documents if own is None else [own, *documents])

    def _deliver(self, state: _State, outcome: Outcome | None, given_up: GivenUp | None) -> None:
        current = self._documents.get(state.uri)
        if outcome is not None and current is not None and current.generation == state.generation:
            read = (self._changed.get(path, 0) for path in outcome.dependencies)
            if any(change > state.changes for change in read):
                edited = current.edited
                self._renew([current])
                current.edited = edited  # The client that edited it asks for its reports by itself.
                return
        is_lost = outcome is None and given_up is not None
        if given_up is not None:
            outcome = with_gap(state.path, outcome, given_up)
        elif outcome is not None:
            self._trace(outcome)
            # What does not parse is half typed; failures are logged where they happen.
            for line in gap_lines(gap for gap in outcome.incomplete if gap.kind not in _UNTOLD):
                logger.info("%s", line)
        document = self._documents.answer(state.uri, state.generation, outcome, given_up=is_lost)
        if document is None:
            return
        self._listener.has_checked(document)
        if outcome is not None and given_up is None:
            loop = asyncio.get_running_loop()
            further = self._look_at_callers if document.cells is None else self._prove
            self._still[state.uri] = loop.call_later(STILL, further, state, document.size)

    def _look_at_callers(self, state: _State, size: int) -> None:
        key = state.uri + _CALLERS
        request = Callers(state.uri, state.path)
        self.submit(Job(key, state.generation, request, partial(self._learn, state, size), about=key, size=size))

    def _prove(self, state: _State, size: int) -> None:
        """Have tried what was found in a document, so that its advice can be told."""
        found, known = self._documents.found_at(state.path)
        if all(each.level is Level.HINT for each in found):
            return
        key = state.uri + _PROOF
        request = Prove(state.uri, state.path, tuple(found), known)
        done = partial(self._proved, state, known)
        self.submit(Job(key, state.generation, request, done, about=key, size=size))

    def _trace(self, outcome: Outcome) -> None:
        """Tell how a check went."""
        found = len(outcome.diagnostics)
        reports = f"{found} report{'' if found == 1 else 's'}"
        message = f"{outcome.path}: checked in {1000 * outcome.seconds:.0f} ms, {reports}"
        logger.debug("%s", message)
        self._listener.has_timed(message, partial(_in_full, outcome))

    def _proved(self, state: _State, known: str, tried: tuple[Diagnostic, ...] | None, short: GivenUp | None) -> None:
        """Tell again of a document, with the advice that holds."""
        document = self._documents.get(state.uri)
        if document is None or document.generation != state.generation or tried is None or short is not None:
            return
        document.tried = known, tried
        if list(tried) != self._documents.found_at(state.path)[0]:
            self._listener.has_learned(document)

    def _learn(self, state: _State, size: int, callers: tuple[Outcome, ...] | None, _short: GivenUp | None) -> None:
        """Tell again of a document, if its callers show more in it than it does itself."""
        before, _ = self._documents.found_at(state.path)
        document = self._documents.learn(state.uri, state.generation, callers or ())
        if document is not None and self._documents.found_at(state.path)[0] != before:
            self._listener.has_learned(document)
        self._prove(state, size)


@dataclass(frozen=True, slots=True)
class _State:
    """An open document as it was when its check became due."""

    uri: str
    path: str
    generation: int
    changes: int
    """The number of changes of open documents so far."""


def _in_full(outcome: Outcome) -> str:
    """The files that a check has read, and what it did not follow."""
    unknowns = sorted(outcome.unknowns.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"read {path}" for path in sorted(map(str, outcome.dependencies))]
    return "\n".join([*lines, *(f"not followed: {cause} ({number})" for cause, number in unknowns)])


def with_gap(path: str, outcome: Outcome | None, given_up: GivenUp) -> Outcome:
    """The state of a file whose check was given up, with that gap, which is logged."""
    start = Position(1, 1)
    gap = Gap(path, given_up.kind, Range(start, start))
    if given_up.kind not in _UNTOLD:
        place = f" (in {given_up.place})" if given_up.place else ""
        for line in gap_lines([gap]):
            logger.warning("%s%s", line, place)
    known = Outcome(path) if outcome is None else outcome
    return replace(known, incomplete=(*known.incomplete, gap))
