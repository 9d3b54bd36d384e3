"""Diagnostics of files that are not open: those of a check of the workspace, kept up to date."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from gradpath.lsp.state import State
from gradpath.lsp.workspace import Workspace

logger = logging.getLogger(__name__)

_PATIENCE = 0.2
"""Seconds without a further change on disk after which files are checked again: a checkout changes many at once."""

_MODE = "diagnosticMode"
_WORKSPACE = "workspace"


class Following:
    """Publishes diagnostics of files that are not open, once the workspace was asked for.

    It continues when a file is closed, or changes on disk: a report is taken back only where the fault is gone.
    """

    def __init__(self, state: State, files: Workspace, server: LanguageServer) -> None:
        self._state, self._files, self._server = state, files, server
        self._shown: dict[str, list[types.Diagnostic]] = {}
        self._found: dict[str, list[types.Diagnostic]] = {}
        self._is_on = self._is_wanted = self._is_due = self._is_first = False
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    async def publish(self) -> dict[str, int]:
        """Check everything and publish what is found, as it is found; the numbers of files and of diagnostics."""
        self._is_on = True
        found = await self._check(await self._files.own_token())
        return {"files": len(found), "diagnostics": sum(map(len, found.values()))}

    def configured(self) -> None:
        """Begin where the settings want the whole workspace, or leave off where they no longer do."""
        wanted = self._state.settings.everywhere.get(_MODE) == _WORKSPACE and not self._state.client.pulls_diagnostics
        if wanted == self._is_wanted:
            return
        self._is_on = self._is_wanted = wanted
        if wanted:
            self._is_first = True
            self._later(0)
        else:
            self._tell({uri: [] for uri in self._shown})

    def closed(self, uri: str) -> None:
        """Show what is in a file that was open until now, whose own reports have been taken back."""
        self._shown.pop(uri, None)
        if self._is_on:
            self._tell({uri: self._found.get(uri, [])})
            self._later(_PATIENCE)

    def changed(self) -> None:
        """Look again, after a change on disk or in the configuration."""
        if self._is_on:
            self._later(_PATIENCE)

    def stop(self) -> None:
        """Do nothing any more."""
        self._is_on = False
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _later(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._begin)

    def _begin(self) -> None:
        if self._task is not None and not self._task.done():
            self._is_due = True
        elif self._is_on:
            self._task = asyncio.get_running_loop().create_task(self._follow())

    async def _follow(self) -> None:
        self._is_due = True
        with suppress(asyncio.CancelledError):
            while self._is_due and self._is_on:
                self._is_due = False
                try:
                    token = await self._files.own_token() if self._is_first else None
                    self._is_first = False
                    await self._check(token)
                except Exception:  # A client that goes away meanwhile, for instance.
                    logger.exception("The workspace could not be checked")

    async def _check(self, token: types.ProgressToken | None) -> dict[str, list[types.Diagnostic]]:
        found = await self._files.check(token, None if self._found else self._tell)
        self._found = {uri: diagnostics for uri, diagnostics in found.items() if diagnostics}
        self._tell({**{uri: [] for uri in self._shown}, **found})
        return found

    def _tell(self, found: Mapping[str, list[types.Diagnostic]]) -> None:
        """Publish what is new for files that are not open."""
        for uri, diagnostics in found.items():
            if self._state.documents.get(uri) is None and diagnostics != self._shown.get(uri, []):
                self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))
                self._shown[uri] = diagnostics
        self._shown = {uri: diagnostics for uri, diagnostics in self._shown.items() if diagnostics}
