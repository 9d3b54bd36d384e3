"""The checks of the open documents: when they are due, what they run, and where their results go."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.lsp import collector
from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.worker import Cancelled, Job, Worker
from gradpath.records import dataclass

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.lsp.session import Server
    from gradpath.names.finder import Finder
    from gradpath.names.project import Project
    from gradpath.reuse import Memory
    from gradpath.source.cells import Cell
    from gradpath.source.document import Document
    from gradpath.source.parse import Parsed

logger = logging.getLogger(__name__)

_CALLERS = "#callers"
"""What the key ends in under which the callers of a document are looked at."""

_CLOSED = "#closed"
"""What the key ends in under which the trees of a closed document are thrown away."""

STILL = 0.5
"""Seconds without an edit after which the callers of a document are looked at."""

RESTS = {0.03: collector.clean_up, 5.0: collector.clean_up_all}
"""What is done after so many seconds without anything to do."""

TREES_KEPT = 1_000_000
"""Characters of source, that of imported files included, whose trees are kept."""

Report = Callable[["Analysis | None"], None]


class Checks:
    """Checks documents on the worker's thread: what is called `_run` runs there, all else on that of the event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._worker = Worker(_load_analysis, RESTS)
        self._finder: Finder | None = None
        self._still: dict[str, asyncio.TimerHandle] = {}
        self._changes = 0
        self._changed: dict[Path, int] = {}

    def start(self) -> None:
        """Start the worker, which loads the analysis first; a second call does nothing."""
        self._worker.start()

    def stop(self) -> None:
        """Stop all work."""
        self._worker.stop()
        if self._finder is not None:
            self._finder.stop()

    # What is due

    def schedule(self, document: OpenDocument, *, urgent: bool = True) -> None:
        """Check a document; whatever is being done for an earlier state of it is dropped."""
        if not document.is_python:
            return
        self._forget(document)
        state = _State.of(document, self._changes)
        self.submit(Job(document.uri, document.generation, partial(self._run, state)), urgent=urgent)

    def recheck(self, first: OpenDocument | None = None) -> None:
        """Check all open documents anew, `first` before all others."""
        for document in self._server.documents:
            self._server.documents.renew(document)
            self.schedule(document, urgent=document is first)

    def recheck_dependents(self, path: str) -> None:
        """Check the open documents anew that depend on the file of a path, whose text has changed.

        Whether a check that is under way has read the old text is known only when it is done.
        """
        self._changes += 1
        self._changed[Path(path)] = self._changes
        self._renew(self._server.documents.dependents(path))

    def drop(self, document: OpenDocument) -> None:
        """Do nothing more for a document that is closed."""
        self._worker.drop(document.uri)
        self._forget(document)
        self.submit(Job(document.uri + _CLOSED, document.generation, partial(_run_farewell, document.path)))

    def submit(self, job: Job, *, urgent: bool = False) -> None:
        """Do something when there is nothing else to do; or at once."""
        self._worker.start()
        self._worker.submit(job, urgent=urgent)

    def withdraw(self, key: str) -> None:
        """Forget a job."""
        self._worker.drop(key)

    def _forget(self, document: OpenDocument) -> None:
        """Drop what goes on for an earlier state of a document besides its check."""
        timer = self._still.pop(document.uri, None)
        if timer is not None:
            timer.cancel()
        self._worker.drop(document.uri + _CALLERS)
        self._server.asking.forget(document)

    def _renew(self, documents: Iterable[OpenDocument]) -> None:
        for document in documents:
            self._server.documents.renew(document)
            self.schedule(document, urgent=False)

    # What is run

    def _run(self, state: _State, cancelled: Cancelled) -> bool:
        analysis = self._run_check(state.path, state.document, cancelled, state.last, state.memory)
        if cancelled():
            return False
        self._server.from_thread(lambda: self._deliver(state, analysis))
        return True

    def run_file(self, path: str, report: Report, cancelled: Cancelled) -> bool:
        """Check a file as the disk has it, on the worker's thread, and report on that of the event loop."""
        from gradpath.source.notebook import read_source

        analysis = self._run_check(path, lambda: read_source(Path(path)), cancelled)
        if cancelled():
            return False
        findings = None if analysis is None else analysis.findings()
        self._server.from_thread(lambda: report(findings))
        return True

    def _run_check(
        self,
        path: str,
        document: Callable[[], Document],
        cancelled: Cancelled,
        last: Parsed | None = None,
        memory: Memory | None = None,
    ) -> Analysis | None:
        """The analysis of a document; None where that fails, or where it cannot be read."""
        import gradpath.check as facade
        from gradpath.source.document import UnreadableSource

        collector.clean_up_if_due()
        try:
            config, project = self._server.configurations.of(path), self.project_of(path)
            began = time.perf_counter()
            analysis = facade.check(
                document(), config, last=last, cancelled=cancelled, project=project, memory=memory, traced=False
            )
            self._trace(path, analysis, time.perf_counter() - began)
            return analysis
        except UnreadableSource as error:
            logger.info("%s cannot be checked: %s", path, error.reason)
        except Exception:
            logger.exception("The check of %s has failed", path)
        return None

    def _trace(self, path: str, analysis: Analysis, seconds: float) -> None:
        """Tell a client that traces what the server does how a check went; on the worker's thread."""
        from gradpath.diagnostic import GapKind
        from gradpath.render.gaps import gap_lines

        found = len(analysis.diagnostics)
        message = f"{path}: checked in {1000 * seconds:.0f} ms, {found} report{'' if found == 1 else 's'}"
        logger.debug("%s", message)
        # What does not parse is half typed; failures are logged where they happen.
        gaps = [each for each in analysis.incomplete if each.kind not in (GapKind.SYNTAX, GapKind.FAILURE)]
        for line in gap_lines(gaps):
            logger.info("%s", line)
        level = self._server.configurations.trace or self._server.protocol.trace
        if level not in (types.TraceValue.Messages, types.TraceValue.Verbose):
            return
        verbose = None
        if level == types.TraceValue.Verbose:
            unknowns = sorted(analysis.unknowns.items(), key=lambda item: (-item[1], item[0]))
            lines = [f"read {path}" for path in sorted(map(str, analysis.dependencies))]
            verbose = "\n".join([*lines, *(f"not followed: {cause} ({number})" for cause, number in unknowns)])
        self._server.from_thread(lambda: self._server.log_trace(types.LogTraceParams(message, verbose)))

    def _run_callers(self, state: _State, known: Analysis, cancelled: Cancelled) -> bool:
        from gradpath.features.callers import seen_from_callers

        callers: tuple[Analysis, ...] = ()
        try:
            project = self.project_of(state.path)
            if project is not None:
                config = self._server.configurations.of(state.path)
                found = seen_from_callers(known, config, project, cancelled)
                callers = tuple(caller.findings() for caller in found)
        except Exception:
            logger.exception("The callers of %s cannot be checked", state.path)
        if cancelled():
            return False
        self._server.from_thread(lambda: self._learn(state, callers))
        return True

    def project_of(self, path: str) -> Project | None:
        """The project of a document, with what is open in the editor; None for one that is no file."""
        from gradpath.names.finder import Finder
        from gradpath.names.project import project_of

        server = self._server
        if not Path(path).is_absolute():
            return None
        if self._finder is None:
            self._finder = Finder(lambda importer: server.from_thread(lambda: self._found(importer)))
        python = server.configurations.of(path).python
        return project_of(Path(path), python, server.documents.text_at, self._finder.ask)

    # What comes of it

    def _found(self, importer: Path) -> None:
        """Check anew what an import was found for, the file itself or those that depend on it."""
        documents = self._server.documents.dependents(str(importer))
        own = self._server.documents.at_path(str(importer))
        self._renew(documents if own is None else [own, *documents])

    def _deliver(self, state: _State, analysis: Analysis | None) -> None:
        current = self._server.documents.get(state.uri)
        if analysis is not None and current is not None and current.generation == state.generation:
            read = (self._changed.get(path, 0) for path in analysis.dependencies)
            if any(change > state.changes for change in read):
                edited = current.edited
                self._renew([current])
                current.edited = edited  # The client that edited it asks for its reports by itself.
                return
        document = self._server.documents.answer(state.uri, state.generation, analysis)
        if document is None:
            return
        self._server.publishing.checked(document)
        self._server.documents.rest()
        if analysis is not None and document.cells is None:
            job = Job(state.uri + _CALLERS, state.generation, partial(self._run_callers, state, analysis))
            loop = asyncio.get_running_loop()
            self._still[state.uri] = loop.call_later(STILL, self.submit, job)

    def _learn(self, state: _State, callers: tuple[Analysis, ...]) -> None:
        """Tell again of a document, if its callers show more in it than it does itself."""
        documents = self._server.documents
        before, _ = documents.found_at(state.path)
        document = documents.learn(state.uri, state.generation, callers)
        if document is not None and documents.found_at(state.path)[0] != before:
            self._server.publishing.renewed(document)


@dataclass(frozen=True, slots=True)
class _State:
    """An open document as it was when its check became due."""

    uri: str
    path: str
    generation: int
    text: str
    cells: tuple[Cell, ...] | None
    """The cells of a notebook, which stand instead of the text."""
    last: Parsed | None
    memory: Memory | None
    changes: int
    """How many texts of open documents had changed by then."""

    @classmethod
    def of(cls, document: OpenDocument, changes: int) -> _State:
        return cls(
            document.uri,
            document.path,
            document.generation,
            document.text(),
            document.checked_cells(),
            document.last,
            document.memory,
            changes,
        )

    def document(self) -> Document:
        """What to check."""
        from gradpath.source.cells import CellsDocument
        from gradpath.source.document import Document

        return Document(self.path, self.text) if self.cells is None else CellsDocument(self.path, self.cells)


def _run_farewell(path: str, _: Cancelled) -> bool:
    from gradpath.names.files import TREES

    TREES.drop(path)
    return True


def _load_analysis() -> None:
    """Load what the first check needs, while the client is still busy with its own start."""
    try:
        from gradpath.check import check
        from gradpath.failures import unlogged
        from gradpath.names.files import TREES
        from gradpath.source.document import Document

        TREES.kept = TREES_KEPT
        # What is asked of the table of operations comes with the first check.
        with unlogged():  # What fails here fails again on a text of the user, and is logged with its place then.
            check(Document("<nothing>", "import torch\ntorch.ones(1, requires_grad=True).sum().backward()\n"))
    except Exception:
        logger.exception("The analysis cannot be loaded")
    collector.begin()
