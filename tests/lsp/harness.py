"""An editor for the tests: it keeps its own texts, records what the server publishes, and applies edits itself."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.client import LanguageClient as PlainClient
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

from gradpath.lsp.convert import Encoding

HERE = Path(__file__).parent
PATIENCE = 20.0
"""Seconds after which an answer that does not come fails a test."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE.parent.parent / "server"), "PYTHONFAULTHANDLER": "1"}
REAL = (sys.executable, "-m", "gradpath", "server")
SCRIPTED = (sys.executable, str(HERE / "scripted_server.py"))

NOTHING = "nothing"
"""The profile of a client that declares no ability, and sends its whole text with each change."""
PROFILES = ("visual_studio_code", "neovim", "emacs", NOTHING)

REFRESHES = (
    types.WORKSPACE_DIAGNOSTIC_REFRESH,
    types.WORKSPACE_INLAY_HINT_REFRESH,
    types.WORKSPACE_CODE_LENS_REFRESH,
)
"""The requests that make a client ask again."""

_WIDTH = {Encoding.UTF8: ("utf-8", 1), Encoding.UTF16: ("utf-16-le", 2), Encoding.UTF32: ("utf-32-le", 4)}


def offset_in(text: str, line: int, character: int, encoding: Encoding) -> int:
    """Where a protocol position lies in a text, by the letter of the specification and nothing clever."""
    codec, width = _WIDTH[encoding]
    start = 0
    for _ in range(line):
        ending = re.compile(r"\r\n|\n|\r").search(text, start)
        if ending is None:
            return len(text)
        start = ending.end()
    end = next((index for index in range(start, len(text)) if text[index] in "\r\n"), len(text))
    fitting = (at for at in range(end, start, -1) if len(text[start:at].encode(codec)) // width <= character)
    return next(fitting, start)


class Editor(LanguageClient):
    """A client that behaves like an editor with a few open files."""

    def __init__(self) -> None:
        super().__init__(converter_factory=default_converter)
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: list[types.PublishDiagnosticsParams] = []
        self.registered: list[str] = []
        self.refreshed: Counter[str] = Counter()
        self.stderr = b""
        self.encoding = Encoding.UTF16
        self.sends_whole_texts = False
        self._news = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None
        register_lsp_features(
            self,
            {
                **DEFAULT_CLIENT_FEATURES,
                types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: _record,
                types.WINDOW_LOG_MESSAGE: _record_log,
                types.CLIENT_REGISTER_CAPABILITY: _record_registrations,
                **{method: partial(self._record_refresh, method) for method in REFRESHES},
            },
        )

    def _record_refresh(self, method: str, _: None) -> None:
        self.refreshed[method] += 1
        self._news.set()

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The server's process."""
        assert self._server is not None
        return self._server

    async def start_io(self, cmd: str, *args: str, **kwargs: Any) -> None:
        """Start the server; what it writes on standard error is kept."""
        await PlainClient.start_io(self, cmd, *args, **kwargs)
        self._reader = asyncio.create_task(self._read_stderr())

    async def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        self.stderr = await self.process.stderr.read()

    async def errors(self) -> str:
        """What the server has written on standard error by the time it has ended."""
        assert self._reader is not None
        await asyncio.wait_for(self._reader, PATIENCE)
        return self.stderr.decode()

    async def begin(self, profile: str | types.ClientCapabilities, **params: Any) -> types.InitializeResult:
        """Begin a session with the capabilities of a known client, of one without any, or with given ones."""
        self.sends_whole_texts = profile == NOTHING
        if profile == NOTHING:
            profile = types.ClientCapabilities()
        capabilities = client_capabilities(profile) if isinstance(profile, str) else profile
        answer = await self.initialize_session(types.InitializeParams(capabilities=capabilities, **params))
        self.encoding = Encoding(answer.capabilities.position_encoding or "utf-16")
        return answer

    def open(self, uri: str, text: str, version: int = 1, language: str = "python") -> None:
        """Open a document."""
        self.texts[uri], self.versions[uri] = text, version
        item = types.TextDocumentItem(uri, language, version, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def replace(self, uri: str, old: str, new: str) -> None:
        """Type `new` over the first `old`, as an incremental change."""
        text = self.texts[uri]
        start = text.index(old)
        self.edit(uri, [(start, start + len(old), new)])

    def edit(self, uri: str, changes: list[tuple[int, int, str]]) -> None:
        """Change a document: (start, end, text) each, one after the other, in code points."""
        events: list[types.TextDocumentContentChangeEvent] = []
        for start, end, new in changes:
            text = self.texts[uri]
            span = types.Range(self.position(uri, start), self.position(uri, end))
            events.append(types.TextDocumentContentChangePartial(range=span, text=new))
            self.texts[uri] = text[:start] + new + text[end:]
        if self.sends_whole_texts:
            events = [types.TextDocumentContentChangeWholeDocument(self.texts[uri])]
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, events))

    def close(self, uri: str) -> None:
        """Close a document."""
        self.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def position(self, uri: str, offset: int) -> types.Position:
        """The protocol position of an offset in code points."""
        codec, width = _WIDTH[self.encoding]
        before = self.texts[uri][:offset]
        lines = re.split(r"\r\n|\n|\r", before)
        return types.Position(len(lines) - 1, len(lines[-1].encode(codec)) // width)

    def covered(self, uri: str, span: types.Range) -> str:
        """The text that a range covers."""
        text = self.texts[uri]
        start = offset_in(text, span.start.line, span.start.character, self.encoding)
        return text[start : offset_in(text, span.end.line, span.end.character, self.encoding)]

    async def diagnostics_of(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics for the newest version of a document, awaited."""
        version = self.versions[uri]
        return await self.publication(lambda params: params.uri == uri and params.version == version)

    async def publication(self, matches: Any) -> list[types.Diagnostic]:
        """The newest publication that matches, awaited."""

        async def wait() -> list[types.Diagnostic]:
            while True:
                self._news.clear()
                for params in reversed(self.published):
                    if matches(params):
                        return list(params.diagnostics)
                await self._news.wait()

        return await asyncio.wait_for(wait(), PATIENCE)

    async def refreshes(self, times: int, methods: tuple[str, ...] = REFRESHES, *, more: bool = False) -> None:
        """The server has told the client so often to ask again, by default for everything; awaited.

        With `more` it may have done so more often by then: what is learned in steps is told in steps.
        """

        async def wait() -> None:
            while any(self.refreshed[method] < times for method in methods):
                self._news.clear()
                await self._news.wait()

        await asyncio.wait_for(wait(), PATIENCE)
        assert set(self.refreshed) == set(methods)
        assert more or set(self.refreshed.values()) == {times}

    async def log_line(self, part: str) -> types.LogMessageParams:
        """A log line that contains `part`, awaited."""

        async def wait() -> types.LogMessageParams:
            while True:
                self._news.clear()
                for params in self.log_messages:
                    if part in params.message:
                        return params
                await self._news.wait()

        return await asyncio.wait_for(wait(), PATIENCE)

    def can(self, ability: str) -> bool:
        """Whether the client declares an ability, named as in its capabilities."""
        assert self.capabilities is not None
        return bool(get_capability(self.capabilities, ability, False))

    def story(self, diagnostic: types.Diagnostic) -> list[tuple[str, types.Location]]:
        """The steps of a diagnostic; skips the test of a client that takes none, once it is seen to get none."""
        if not self.can("text_document.publish_diagnostics.related_information"):
            assert diagnostic.related_information is None
            pytest.skip("this client shows no related information")
        return [(each.message, each.location) for each in diagnostic.related_information or ()]

    async def actions(
        self, uri: str, at: str, only: list[str] | None = None, echoed: list[types.Diagnostic] | None = None
    ) -> list[types.CodeAction]:
        """The code actions where the text `at` stands."""
        start = self.texts[uri].index(at)
        span = types.Range(self.position(uri, start), self.position(uri, start + len(at)))
        context = types.CodeActionContext(diagnostics=echoed or [], only=only)
        request = types.CodeActionParams(types.TextDocumentIdentifier(uri), span, context)
        answer = await asyncio.wait_for(self.text_document_code_action_async(request), PATIENCE)
        offered = [action for action in answer or () if isinstance(action, types.CodeAction)]
        return [await self.resolved(action) for action in offered]

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """The action with its edits, which the server may have left for later."""
        if action.edit is not None or action.data is None:
            return action
        return await asyncio.wait_for(self.code_action_resolve_async(action), PATIENCE)

    async def hover(self, uri: str, at: str) -> types.Hover | None:
        """The hover where the text `at` begins."""
        place = self.position(uri, self.texts[uri].index(at))
        request = types.HoverParams(types.TextDocumentIdentifier(uri), place)
        return await asyncio.wait_for(self.text_document_hover_async(request), PATIENCE)

    def after(self, uri: str, edit: types.WorkspaceEdit | None) -> str:
        """The text of a document after an edit, which must be for its current version."""
        assert edit is not None
        edits = list((edit.changes or {}).get(uri, ()))
        for change in edit.document_changes or ():
            assert isinstance(change, types.TextDocumentEdit)
            if change.text_document.uri == uri:
                assert change.text_document.version == self.versions[uri]
                edits += [each for each in change.edits if isinstance(each, types.TextEdit)]
        text = self.texts[uri]
        spans = [
            (
                offset_in(text, each.range.start.line, each.range.start.character, self.encoding),
                offset_in(text, each.range.end.line, each.range.end.character, self.encoding),
                each.new_text,
            )
            for each in edits
        ]
        for start, end, new in reversed(sorted(spans, key=lambda span: span[:2])):  # noqa: C413 (keeps equals in order)
            text = text[:start] + new + text[end:]
        return text


def _record(client: Editor, params: types.PublishDiagnosticsParams) -> None:
    client.diagnostics[params.uri] = params.diagnostics
    client.published.append(params)
    client._news.set()


def _record_log(client: Editor, params: types.LogMessageParams) -> None:
    client.log_messages.append(params)
    client._news.set()


def _record_registrations(client: Editor, params: types.RegistrationParams) -> None:
    client.registered += [registration.method for registration in params.registrations]


def server(command: tuple[str, ...]) -> ClientServerConfig:
    """The configuration of a pytest-lsp fixture."""
    return ClientServerConfig(server_command=list(command), client_factory=Editor, server_env=ENVIRONMENT)
