"""One session with one client, from `initialize` to `exit`: what is done at each message."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from gradpath import __version__
from gradpath.analyst.link import Link
from gradpath.lsp.asking import Asking
from gradpath.lsp.checks import Checks
from gradpath.lsp.client import client_of
from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.following import Following
from gradpath.lsp.frames import Frames
from gradpath.lsp.lifetime import watch
from gradpath.lsp.log import log_to_client
from gradpath.lsp.pictures import Pictures
from gradpath.lsp.protocol import Protocol
from gradpath.lsp.publishing import Publishing
from gradpath.lsp.settings import section_of
from gradpath.lsp.state import State
from gradpath.lsp.workspace import Workspace

logger = logging.getLogger(__name__)

WATCHED = ("**/*.py", "**/pyproject.toml", "**/gradpath.toml")
"""Files whose change on disk can change what is found in an open document."""


NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook(notebook=kind) for kind in ("jupyter-notebook", "interactive")], save=True
)
"""All cells of such notebooks, so that those with code can be numbered as their reader numbers them."""


class Server(LanguageServer):
    """The state of a session, which belongs to the thread of the event loop.

    `command` starts an analysis process, where it is not the usual one; `analysis` is one that runs already.
    """

    protocol: Protocol

    def __init__(self, command: Sequence[str] = (), analysis: Link | None = None) -> None:
        super().__init__(
            "gradpath",
            __version__,
            protocol_cls=Protocol,
            converter_factory=default_converter,
            notebook_document_sync=NOTEBOOKS,
        )
        self.protocol.session = self
        self.state = State()
        self.checks = Checks(self.state, self, command, analysis)
        self.asking = Asking(self.state.documents, self.checks)
        self.publishing = Publishing(self.state, self)
        self.files = Workspace(self.state, self.checks, self)
        self.following = Following(self.state, self.files, self)
        self._complaints: set[str] = set()
        self.pictures = Pictures()
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
        self.following.stop()
        self.checks.stop()
        self.pictures.remove()
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

    def complain(self, complaint: str) -> None:
        """Tell, once, of a configuration that is not as it should be: its writer may not know of the log."""
        if complaint not in self._complaints:
            self._complaints.add(complaint)
            logger.warning("%s", complaint)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"gradpath: {complaint}"))

    # What comes of the checks

    def is_changing(self, document: OpenDocument) -> None:
        """Ask again what was asked about an earlier state of a document."""
        self.asking.forget(document)

    def has_checked(self, document: OpenDocument) -> None:
        """Tell what the check of a document has found."""
        self.publishing.checked(document)

    def has_learned(self, document: OpenDocument) -> None:
        """Tell again what is known of a document."""
        self.publishing.renewed(document)

    def has_timed(self, message: str, in_full: Callable[[], str]) -> None:
        """Tell a client that traces what the server does how a check went."""
        level = self.state.settings.trace or self.protocol.trace
        if level in (types.TraceValue.Messages, types.TraceValue.Verbose):
            verbose = in_full() if level == types.TraceValue.Verbose else None
            self.log_trace(types.LogTraceParams(message, verbose))

    # The life of the session

    def did_initialize(self, params: types.InitializeParams) -> None:
        """Learn what the client can do, and watch its process."""
        settings = section_of(params.initialization_options)
        self.state.client = client_of(params.capabilities, settings)
        if self.state.settings.set(settings, {}):
            self.checks.configure()
        if params.process_id is not None:
            watch(params.process_id, self._end_at_once)
        if self._loop is not None:
            # As soon as the answer is on its way: the client is busy with it for a while.
            self._loop.call_soon(self.checks.start)

    def _end_at_once(self) -> None:
        self.checks.kill()
        self.pictures.remove()
        os._exit(1)

    def did_start(self) -> None:
        """Begin to work, now that the client has its answer: ask for settings and for events."""
        self.ask_for_settings()
        self.following.configured()
        registrations = []
        if self.state.client.watches_settings:
            registrations.append(
                types.Registration(
                    "gradpath-settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, {"section": "gradpath"}
                )
            )
        if self.state.client.watches_files:
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registrations.append(
                types.Registration("gradpath-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            )
        if registrations:
            self.client_register_capability(types.RegistrationParams(registrations))

    def did_shutdown(self) -> None:
        """Stop all work."""
        self.following.stop()
        self.checks.stop()

    # Documents

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Take up a document and check it."""
        self.checks.changed(self.state.documents.open(params.text_document))

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Change a document and check it again; changes of a document that is not open are ignored."""
        document = self.state.documents.change(params.text_document, params.content_changes, self.state.client.encoding)
        if document is not None:
            self.checks.changed(document)

    def did_open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take up a notebook and check it."""
        self.checks.changed(self.state.documents.open_notebook(params))

    def did_change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Change a notebook and check it again; what was published for cells that are gone is cleared."""
        changed = self.state.documents.change_notebook(params, self.state.client.encoding)
        if changed is not None:
            document, gone = changed
            self.publishing.clear(gone)
            self.checks.changed(document)

    def did_close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """Forget a notebook and clear what was published for its cells."""
        self._close(params.notebook_document.uri)

    def did_save_notebook(self, params: types.DidSaveNotebookDocumentParams) -> None:
        """Check everything again, as after every save."""
        self._did_save(params.notebook_document.uri)

    def did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        """Check everything again, the saved document first: others may depend on it, or it on a changed file."""
        self._did_save(params.text_document.uri)

    def _did_save(self, uri: str) -> None:
        self.checks.forget_configuration()
        self.checks.recheck(first=self.state.documents.get(uri))

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget a document and clear what was published for it."""
        self._close(params.text_document.uri)

    def _close(self, uri: str) -> None:
        document = self.state.documents.close(uri)
        if document is not None:
            self.checks.closed(document)
            self.publishing.closed(document)
            self.following.closed(document.uri)

    def did_change_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        """Check everything again after a change on disk; for an open document the client's text counts."""
        if any(self.state.documents.get(change.uri) is None for change in params.changes):
            self.checks.forget_configuration()
            self.checks.recheck(stubborn=True)
            self.publishing.refresh()
            self.following.changed()

    # Settings

    def did_change_settings(self, settings: object) -> None:
        """Take the settings from the notification, or ask for them where the client wants that."""
        if self.state.client.pulls_settings:
            self.ask_for_settings()
        elif self.state.settings.set(section_of(settings), {}):
            self._settings_changed()

    def _settings_changed(self) -> None:
        self.checks.configure()
        self.checks.recheck(stubborn=True)
        self.publishing.refresh_marks()
        self.publishing.refresh()
        self.following.changed()
        self.following.configured()

    def ask_for_settings(self) -> None:
        """Ask for the settings, as such and those of each workspace folder."""
        if not self.state.client.pulls_settings:
            return
        folders = [folder.uri for folder in self.workspace.folders.values()]
        scopes: list[str | None] = [None, *folders]
        items = [types.ConfigurationItem(scope_uri=scope, section="gradpath") for scope in scopes]

        def arrived(future: Future[Any]) -> None:
            if future.cancelled() or future.exception() is not None:
                return
            everywhere, *rest = [section_of(answer) for answer in future.result()] or [{}]
            if self.state.settings.set(everywhere, dict(zip(folders, rest, strict=False))):
                self._settings_changed()

        self.workspace_configuration(types.ConfigurationParams(items)).add_done_callback(arrived)
