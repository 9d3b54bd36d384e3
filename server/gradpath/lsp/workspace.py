"""Checks of all files of the workspace, the open ones as the editor has them and the others as the disk has."""

from __future__ import annotations

import asyncio
import logging
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from gradpath.analyst.messages import CheckFile, ListFiles, Outcome
from gradpath.analyst.supervisor import GivenUp, Job
from gradpath.features.gap_hints import gap_hints
from gradpath.lsp.checks import Checks, with_gap
from gradpath.lsp.outgoing import Outgoing
from gradpath.lsp.state import State
from gradpath.lsp.uris import path_of, uri_of
from gradpath.support.fast_dataclasses import dataclass

logger = logging.getLogger(__name__)

MOST = 5_000
"""Files of a workspace that are checked."""

_EVERY = 20
"""The number of files after which progress is reported."""

_MARK = "#workspace"


@dataclass(frozen=True, slots=True)
class _Known:
    """The outcome for a file that is not open, and the state of the files on disk that it was made for."""

    outcome: Outcome | None
    stamp: object


@dataclass(slots=True, eq=False)
class _Asked:
    """The check of a file that is under way, and how many wait for it."""

    answer: asyncio.Future[Outcome | None]
    askers: int = 0


class Workspace:
    """The files below the workspace folders; what was found is kept until a file changes that it depends on."""

    def __init__(self, state: State, checks: Checks, server: LanguageServer) -> None:
        self._state, self._checks, self._server = state, checks, server
        self._documents = state.documents
        self._known: dict[str, _Known] = {}
        self._asked: dict[str, _Asked] = {}
        self._tokens = 0

    async def check(
        self, token: types.ProgressToken | None, tell: Callable[[dict[str, list[types.Diagnostic]]], None] | None = None
    ) -> dict[str, list[types.Diagnostic]]:
        """The diagnostics of all files by URI, in the order of the paths.

        `token` is that of the client's progress. The diagnostics of each file are reported as soon as they are known;
        those that the check of one file finds in another come at the end.
        """
        workspace = self._server.workspace
        roots = [path_of(folder.uri) for folder in workspace.folders.values()]
        if not roots and workspace.root_path:
            roots = [workspace.root_path]
        paths = await self._files(roots)
        progress = _Progress(self._server, token, len(paths))
        outcomes: dict[str, Outcome] = {}
        try:
            for number, path in enumerate(paths):
                progress.report(number)
                outcome = await self._outcome_of(path)
                if outcome is not None:
                    outcomes[path] = outcome
                    own = self._gathered([path], {path: outcome})
                    if tell is not None and own[uri_of(path)]:
                        tell({uri_of(path): own[uri_of(path)]})
        finally:
            progress.end()
        self._known = {path: known for path, known in self._known.items() if path in outcomes}
        return self._gathered(paths, outcomes)

    async def _files(self, roots: list[str]) -> tuple[str, ...]:
        found, given_up = await self._checks.ask(ListFiles(tuple(roots), MOST))
        if given_up is not None or found is None:
            logger.warning("The files of the workspace could not all be found")
        return found or ()

    async def _outcome_of(self, path: str) -> Outcome | None:
        document = self._documents.at_path(path)
        if document is not None:
            checked = await self._documents.analysed(document.uri)
            return None if checked is None else checked.outcome
        known = self._known.get(path)
        if known is not None and known.stamp == self._stamp(path, known.outcome):
            return known.outcome
        outcome = await self._checked(path)
        self._known[path] = _Known(outcome, self._stamp(path, outcome))
        return outcome

    async def _checked(self, path: str) -> Outcome | None:
        """The outcome of a check of a file, shared by all requests for it; it is dropped when none waits any more."""
        asked = self._asked.get(path)
        if asked is None:
            asked = self._asked[path] = _Asked(asyncio.get_running_loop().create_future())
            done = partial(self._answer, path, asked)
            self._checks.submit(Job(path + _MARK, 0, CheckFile(path), done, about=path + _MARK))
        asked.askers += 1
        try:
            return await asyncio.shield(asked.answer)
        finally:
            asked.askers -= 1
            if not asked.askers and self._asked.get(path) is asked:
                del self._asked[path]
                self._checks.withdraw(path + _MARK)

    def _answer(self, path: str, asked: _Asked, outcome: Outcome | None, given_up: GivenUp | None) -> None:
        if self._asked.get(path) is asked:
            del self._asked[path]
        if not asked.answer.done():
            asked.answer.set_result(outcome if given_up is None else with_gap(path, outcome, given_up))

    def _stamp(self, path: str, outcome: Outcome | None) -> object:
        """The key of a result, which changes with the files that a check depends on, and with the configuration."""
        files = sorted([path, *(map(str, outcome.dependencies) if outcome is not None else ())])
        opened = map(self._documents.at_path, files)
        generations = [None if document is None else document.generation for document in opened]
        return [*map(_status, files)], generations, self._checks.configured

    def _gathered(self, paths: Sequence[str], outcomes: Mapping[str, Outcome]) -> dict[str, list[types.Diagnostic]]:
        """Each fault once, under the file that contains it."""
        found: dict[str, list[types.Diagnostic]] = {uri_of(path): [] for path in paths}
        seen: set[tuple[str, str, object]] = set()
        for path, outcome in outcomes.items():
            document = self._documents.at_path(path)
            outgoing = Outgoing.of_outcome(outcome, document, self._documents, self._state.client)
            for each in (*outcome.diagnostics, *gap_hints(outcome.incomplete, parses=outcome.parses)):
                key = each.path, each.rule, each.range
                if key not in seen:
                    seen.add(key)
                    uri, told = uri_of(each.path), outgoing.diagnostic(each)
                    if outcome.notebook is not None and each.path == path:
                        number = outcome.notebook.in_cell(each.range)[0].number
                        if document is not None and document.cells is not None:
                            uri = document.cells[number - 1].uri
                        else:
                            told = _at_the_file(told, number)
                    found.setdefault(uri, []).append(told)
        return found

    async def own_token(self) -> types.ProgressToken | None:
        """A token for progress that the server begins, where the client shows it."""
        if not self._state.client.shows_progress:
            return None
        self._tokens += 1
        token = f"gradpath-workspace-{self._tokens}"
        await self._server.window_work_done_progress_create_async(types.WorkDoneProgressCreateParams(token))
        return token


def _at_the_file(told: types.Diagnostic, number: int) -> types.Diagnostic:
    """A fault in a notebook that is not open, whose cells the client does not know: it is reported for the file."""
    start = types.Position(0, 0)
    line = told.range.start.line + 1
    told.message, told.range = f"cell {number}, line {line}: {told.message}", types.Range(start, start)
    return told


def result_id(diagnostics: list[types.Diagnostic]) -> str:
    """A name for what was found in a file: the same for the same findings."""
    told = repr(diagnostics).encode("utf-8", "surrogatepass")
    return f"{len(told)}.{zlib.crc32(told):08x}"


def _status(file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


class _Progress:
    """Tells the client how far a check has come, where it has given a token."""

    def __init__(self, server: LanguageServer, token: types.ProgressToken | None, total: int) -> None:
        self._server, self._token, self._total = server, token, total
        self._tell(lambda: types.WorkDoneProgressBegin("gradpath: checking the workspace", percentage=0))

    def report(self, number: int) -> None:
        """Count finished files, and report progress now and then."""
        if number and number % _EVERY == 0:
            message = f"{number} of {self._total} files"
            self._tell(lambda: types.WorkDoneProgressReport(message=message, percentage=100 * number // self._total))

    def end(self) -> None:
        """The check has ended, or was cancelled."""
        self._tell(types.WorkDoneProgressEnd)

    def _tell(self, value: Callable[[], object]) -> None:
        if self._token is not None:
            self._server.progress(types.ProgressParams(self._token, value()))
