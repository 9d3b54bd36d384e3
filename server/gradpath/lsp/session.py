"""One session with one client, from `initialize` to `exit`: what is done at each message."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from gradpath import __version__
from gradpath.lsp.client import Client, client_of
from gradpath.lsp.documents import Documents, OpenDocument
from gradpath.lsp.frames import Frames
from gradpath.lsp.lifetime import watch
from gradpath.lsp.log import log_to_client
from gradpath.lsp.mending import Mending, try_fixes
from gradpath.lsp.notebooks import OpenCell
from gradpath.lsp.outgoing import Outgoing
from gradpath.lsp.protocol import Protocol
from gradpath.lsp.settings import Configurations, section_of
from gradpath.lsp.uris import uri_of
from gradpath.lsp.worker import Cancelled, Job, Worker
from gradpath.lsp.workspace import Workspace
from gradpath.records import replace

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.names.finder import Finder
    from gradpath.names.project import Project

logger = logging.getLogger(__name__)

_CALLERS = "#callers"
"""What the URI of a document ends in for the job that looks at its callers."""

WATCHED = ("**/*.py", "**/pyproject.toml", "**/gradpath.toml")
"""Files whose change on disk can change what is found in an open document."""


NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook(notebook=kind) for kind in ("jupyter-notebook", "interactive")], save=True
)
"""All cells of such notebooks, so that those with code can be numbered as their reader numbers them."""


class Server(LanguageServer):
    """The state of a session. Only `_work` runs on the worker's thread, all else on that of the event loop.

    In a workspace that is not `trusted` no interpreter of its environments is started.
    """

    protocol: Protocol

    def __init__(self, *, trusted: bool = True) -> None:
        super().__init__(
            "gradpath",
            __version__,
            protocol_cls=Protocol,
            converter_factory=default_converter,
            notebook_document_sync=NOTEBOOKS,
        )
        self.trusted = trusted
        self.client = Client()
        self.documents = Documents()
        self.configurations = Configurations(logger.warning)
        self.mending = Mending(self)
        self._worker = Worker(self._work, _import_analysis)
        self.files = Workspace(self)
        self._told: dict[str, frozenset[str]] = {}
        """For each open document the paths of other files that faults were last told in because of it."""
        self._finder: Finder | None = None
        self._frames = Frames()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finished: asyncio.Future[int] | None = None

    # The connection

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tie the session to its event loop; from here on log records go to the client."""
        self._loop = loop
        self._finished = loop.create_future()
        log_to_client(lambda params: self.from_thread(lambda: self.window_log_message(params)))

    def feed(self, data: bytes) -> None:
        """Take bytes from the client and handle the messages that they complete."""
        for body in self._frames.feed(data):
            self.protocol.receive(body)

    def finish(self, status: int) -> None:
        """End the session with an exit status; the first call counts."""
        self._worker.stop()
        if self._finder is not None:
            self._finder.stop()
        if self._finished is not None and not self._finished.done():
            self._finished.set_result(status)

    def lost(self) -> None:
        """End the session because the client has closed the connection."""
        self.finish(0 if self.protocol.is_shut_down else 1)

    async def finished(self) -> int:
        """Wait for the end of the session; its exit status."""
        if self._finished is None:
            raise RuntimeError("the session has not begun")
        return await self._finished

    def from_thread(self, call: Callable[[], None]) -> None:
        """Have something done on the event loop, from any thread; nothing happens once the loop has ended."""
        if self._loop is not None:
            with suppress(RuntimeError):  # The loop is closed.
                self._loop.call_soon_threadsafe(call)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error instead of showing it; requests have been answered with theirs already."""
        if source is not FeatureRequestError:
            logger.error("%s", error)

    # The life of the session

    def did_initialize(self, params: types.InitializeParams) -> None:
        """Learn what the client can do, and watch its process."""
        self.client = client_of(params.capabilities)
        self.configurations.set(section_of(params.initialization_options), {})
        if params.process_id is not None:
            watch(params.process_id, lambda: os._exit(1))

    def did_start(self) -> None:
        """Begin to work, now that the client has its answer: load the analysis, ask for settings and for events."""
        self._worker.start()
        self.ask_for_settings()
        registrations = []
        if self.client.watches_settings:
            registrations.append(
                types.Registration(
                    "gradpath-settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, {"section": "gradpath"}
                )
            )
        if self.client.watches_files:
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registrations.append(
                types.Registration("gradpath-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            )
        if registrations:
            self.client_register_capability(types.RegistrationParams(registrations))

    def did_shutdown(self) -> None:
        """Stop all work."""
        self._worker.stop()

    # Documents

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Take up a document and check it."""
        document = self.documents.open(params.text_document)
        self.schedule(document)
        self._recheck_dependents(document.path)

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Change a document and check it anew; changes of a document that is not open are ignored."""
        document = self.documents.change(params.text_document, params.content_changes, self.client.encoding)
        if document is not None:
            self.schedule(document)
            self._recheck_dependents(document.path)

    def did_open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take up a notebook and check it."""
        self.schedule(self.documents.open_notebook(params))

    def did_change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Change a notebook and check it anew; what was published for cells that are gone is cleared."""
        changed = self.documents.change_notebook(params, self.client.encoding)
        if changed is not None:
            document, gone = changed
            self._clear(gone)
            self.schedule(document)

    def did_close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """Forget a notebook and clear what was published for its cells."""
        uri = params.notebook_document.uri
        self._worker.drop(uri)
        document = self.documents.close(uri)
        if document is not None:
            self._clear(cell.uri for cell in document.cells or () if cell.told is not None)
            if not self.client.pulls_diagnostics:
                self._tell_elsewhere(document)

    def _clear(self, uris: Iterable[str]) -> None:
        for uri in uris if not self.client.pulls_diagnostics else ():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def did_save_notebook(self, params: types.DidSaveNotebookDocumentParams) -> None:
        """Check everything anew, as after every save."""
        self.configurations.forget()
        self.recheck(first=self.documents.get(params.notebook_document.uri))

    def did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        """Check everything anew, the saved document first: others may depend on it, or it on a changed file."""
        self.configurations.forget()
        document = self.documents.get(params.text_document.uri)
        self.recheck(first=document)

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget a document and clear what was published for it."""
        uri = params.text_document.uri
        self._worker.drop(uri)
        self._worker.drop(uri + _CALLERS)
        document = self.documents.close(uri)
        if document is None:
            return
        if not self.client.pulls_diagnostics:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
            self._tell_elsewhere(document)
        self._recheck_dependents(document.path)

    def did_change_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        """Check everything anew after a change on disk; an open document counts as the client has it."""
        for change in params.changes:
            self.files.forget(change.uri)
        if any(self.documents.get(change.uri) is None for change in params.changes):
            self.configurations.forget()
            self.recheck()

    # Settings

    def did_change_settings(self, settings: object) -> None:
        """Take the settings from the notification, or ask for them where the client wants that."""
        if self.client.pulls_settings:
            self.ask_for_settings()
        elif self.configurations.set(section_of(settings), {}):
            self._settings_changed()

    def _settings_changed(self) -> None:
        self.recheck()
        if self.client.refreshes_hints:
            self.workspace_inlay_hint_refresh(None)

    def ask_for_settings(self) -> None:
        """Ask for the settings, as such and those of each workspace folder."""
        if not self.client.pulls_settings:
            return
        folders = [folder.uri for folder in self.workspace.folders.values()]
        scopes: list[str | None] = [None, *folders]
        items = [types.ConfigurationItem(scope_uri=scope, section="gradpath") for scope in scopes]

        def arrived(future: Future[Any]) -> None:
            if future.cancelled() or future.exception() is not None:
                return
            everywhere, *rest = [section_of(answer) for answer in future.result()] or [{}]
            if self.configurations.set(everywhere, dict(zip(folders, rest, strict=False))):
                self._settings_changed()

        self.workspace_configuration(types.ConfigurationParams(items)).add_done_callback(arrived)

    # Checking

    def schedule(self, document: OpenDocument, *, urgent: bool = True) -> None:
        """Check a document; whatever is being done for an earlier state of it is dropped."""
        if not document.is_python:
            return
        cells = document.checked_cells()
        text, memory = document.text(), document.memory
        job = Job(document.uri, document.path, text, document.generation, document.last, cells=cells, memory=memory)
        self._worker.start()
        self._worker.drop(document.uri + _CALLERS)
        self.mending.forget(document)
        self._worker.submit(job, urgent=urgent)

    def recheck(self, first: OpenDocument | None = None) -> None:
        """Check all open documents anew, `first` before all others."""
        for document in self.documents:
            self.documents.renew(document)
            document.memory = None
            self.schedule(document, urgent=document is first)

    def _recheck_dependents(self, path: str) -> None:
        """Check the open documents anew that depend on the file of a path, whose text has changed."""
        for document in self.documents.dependents(path):
            self.documents.renew(document)
            self.schedule(document, urgent=False)

    def submit(self, job: Job, *, urgent: bool = False) -> None:
        """Check a file that is not open when there is nothing else to do; or do something at once."""
        self._worker.start()
        self._worker.submit(job, urgent=urgent)

    def drop(self, uri: str) -> None:
        """Forget a job."""
        self._worker.drop(uri)

    def outgoing(self, document: OpenDocument) -> Outgoing:
        """What turns findings about a document into protocol values."""
        return Outgoing(document, self.documents, self.client)

    def _work(self, job: Job, cancelled: Cancelled) -> bool:
        """What the worker's thread does for a job; the result is handed over unless it is out of date by then."""
        if job.known is not None and job.report is not None:
            return try_fixes(self, job, cancelled)
        return (self._check if job.known is None else self._look_at_callers)(job, cancelled)

    def _check(self, job: Job, cancelled: Cancelled) -> bool:
        import gradpath.check as facade
        from gradpath.source.document import UnreadableSource

        analysis: Analysis | None = None
        try:
            config = self.configurations.of(job.path)
            project = self.project_of(job)
            began = time.perf_counter()
            analysis = facade.check(
                job.document(), config, last=job.last, cancelled=cancelled, project=project, memory=job.memory
            )
            self._trace_check(job, analysis, time.perf_counter() - began)
        except UnreadableSource as error:
            logger.info("%s cannot be checked: %s", job.path, error.reason)
        except Exception:
            logger.exception("The check of %s has failed", job.path)
        if cancelled():
            return False
        report = job.report
        self.from_thread(lambda: self._deliver(job, analysis) if report is None else report(analysis))
        return True

    def _trace_check(self, job: Job, analysis: Analysis, seconds: float) -> None:
        """Tell a client that traces what the server does how a check went; on the worker's thread."""
        found = len(analysis.diagnostics)
        message = f"{job.path}: checked in {1000 * seconds:.0f} ms, {found} report{'' if found == 1 else 's'}"
        logger.debug("%s", message)
        if any(trace.truncated for trace in analysis.traces):
            logger.info("%s is too much to be followed to its end: something in it may be left out", job.path)
        level = self.configurations.trace or self.protocol.trace
        if level not in (types.TraceValue.Messages, types.TraceValue.Verbose):
            return
        verbose = None
        if level == types.TraceValue.Verbose:
            unknowns = sorted(analysis.unknowns.items(), key=lambda item: (-item[1], item[0]))
            lines = [f"read {path}" for path in sorted(map(str, analysis.dependencies))]
            verbose = "\n".join([*lines, *(f"not followed: {cause} ({number})" for cause, number in unknowns)])
        self.from_thread(lambda: self.log_trace(types.LogTraceParams(message, verbose)))

    def _look_at_callers(self, job: Job, cancelled: Cancelled) -> bool:
        from gradpath.features.callers import seen_from_callers

        callers: tuple[Analysis, ...] = ()
        try:
            project = self.project_of(job)
            if job.known is not None and project is not None:
                callers = seen_from_callers(job.known, self.configurations.of(job.path), project, cancelled)
        except Exception:
            logger.exception("The callers of %s cannot be checked", job.path)
        if cancelled():
            return False
        self.from_thread(lambda: self._learn(job, callers))
        return True

    def project_of(self, job: Job) -> Project | None:
        """The project of a document, with what is open in the editor; None for one that is no file."""
        from gradpath.names.finder import Finder
        from gradpath.names.project import nobody
        from gradpath.names.project import project_of as find_project

        path = Path(job.path)
        if not path.is_absolute():
            return None
        if self._finder is None and self.trusted:
            self._finder = Finder(lambda importer: self.from_thread(lambda: self._found(importer)))
        ask = nobody if self._finder is None else self._finder.ask
        return find_project(path, self.configurations.of(job.path).python, self.documents.text_at, ask)

    def _found(self, importer: Path) -> None:
        """Check anew what an import was found for, the file itself or those that depend on it."""
        documents = self.documents.dependents(str(importer))
        own = self.documents.at_path(str(importer))
        for document in documents if own is None else [own, *documents]:
            self.documents.renew(document)
            self.schedule(document, urgent=False)

    def _deliver(self, job: Job, analysis: Analysis | None) -> None:
        document = self.documents.answer(job.uri, job.generation, analysis)
        if document is None:
            return
        if not self.client.pulls_diagnostics:
            self._publish(document)
            self._tell_elsewhere(document)
        elif self.client.refreshes_diagnostics:
            self.workspace_diagnostic_refresh(None)
        if analysis is not None and job.cells is None:
            self._worker.submit(replace(job, uri=job.uri + _CALLERS, known=analysis), urgent=False)

    def _learn(self, job: Job, callers: tuple[Analysis, ...]) -> None:
        """Tell again of a document, if its callers show more in it than it does itself."""
        before, _ = self.documents.found_at(job.path)
        document = self.documents.learn(job.uri.removesuffix(_CALLERS), job.generation, callers)
        if document is None or self.documents.found_at(job.path)[0] == before:
            return
        if not self.client.pulls_diagnostics:
            self._publish(document)
        elif self.client.refreshes_diagnostics:
            self.workspace_diagnostic_refresh(None)

    def _publish(self, document: OpenDocument) -> None:
        if document.cells is not None:
            self._publish_cells(document, document.cells)
            return
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(document.uri, self.diagnostics(document), document.version)
        )

    def _publish_cells(self, document: OpenDocument, cells: Sequence[OpenCell]) -> None:
        """Publish for each cell of a notebook of which there is something new to tell."""
        by_cell = self.diagnostics_by_cell(document)
        for cell in cells:
            found = by_cell.get(cell.uri, [])
            if cell.told != (cell.version, found):
                cell.told = cell.version, found
                params = types.PublishDiagnosticsParams(cell.uri, found, cell.version)
                self.text_document_publish_diagnostics(params)

    def diagnostics_by_cell(self, document: OpenDocument) -> dict[str, list[types.Diagnostic]]:
        """What is known of an open notebook, by the URI of its cells."""
        notebook, cells = document.notebook, document.cells
        by_cell: dict[str, list[types.Diagnostic]] = {}
        if notebook is not None and cells is not None:
            outgoing = self.outgoing(document)
            for each in self.documents.found_at(document.path)[0]:
                number = notebook.in_cell(each.range)[0].number
                by_cell.setdefault(cells[number - 1].uri, []).append(outgoing.diagnostic(each))
        return by_cell

    def _tell_elsewhere(self, document: OpenDocument) -> None:
        """Publish anew for the other files that a document's check has found faults in, now or the last time."""
        for path in self._elsewhere(document):
            other = self.documents.at_path(path)
            if other is None:
                found = self.diagnostics(document, path)
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri_of(path), found))
            elif other.answered:
                self._publish(other)

    def related(self, document: OpenDocument) -> Mapping[str, types.FullDocumentDiagnosticReport] | None:
        """What the answer about a document tells of files that are not open, for a client that takes that."""
        if not self.client.related_documents:
            return None
        paths = [path for path in self._elsewhere(document) if self.documents.at_path(path) is None]
        return {uri_of(path): types.FullDocumentDiagnosticReport(self.diagnostics(document, path)) for path in paths}

    def _elsewhere(self, document: OpenDocument) -> list[str]:
        """The other files in which a document's check finds faults or did so the last time that this was asked."""
        is_open = self.documents.get(document.uri) is document
        now = document.told_elsewhere if is_open else frozenset()
        before = self._told.pop(document.uri, frozenset())
        if now:
            self._told[document.uri] = now
        return sorted(now | before)

    def diagnostics(self, document: OpenDocument, path: str | None = None) -> list[types.Diagnostic]:
        """What is known of a document whose check has ended, or of another file (`path`) that it depends on."""
        outgoing = self.outgoing(document)
        found, _ = self.documents.found_at(document.path if path is None else path)
        return [outgoing.diagnostic(diagnostic) for diagnostic in found]


def _import_analysis() -> None:
    """Load what the first check needs, while the client is still busy with its own start.

    The garbage collector begins its work after that, and leaves alone what is in memory by then, which stays for good.
    """
    try:
        import gradpath.check
        import gradpath.features.code_actions
        import gradpath.features.hover  # noqa: F401
    except Exception:
        logger.exception("The analysis cannot be loaded")
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 10, 20)  # An analysis makes many objects that die together, and few that stay.
