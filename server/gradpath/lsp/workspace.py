"""Checks of all files of the workspace, the open ones as the editor has them and the others as the disk has."""

from __future__ import annotations

import asyncio
import os
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from gradpath.lsp.uris import path_of, uri_of
from gradpath.lsp.worker import Job
from gradpath.records import dataclass

if TYPE_CHECKING:
    from gradpath.check import Analysis
    from gradpath.lsp.session import Server

MOST = 5_000
"""Files of a workspace that are checked."""

_EVERY = 20
"""After how many files the client is told how far the check has come."""

_MARK = "#workspace"


@dataclass(frozen=True, slots=True)
class _Known:
    """The outcome for a file that is not open, and the state of the files on disk that it was made for."""

    analysis: Analysis | None
    stamp: object


class Workspace:
    """The files below the workspace folders; what was found is kept until a file changes that it depends on."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: dict[str, _Known] = {}
        self._published: set[str] = set()
        self._tokens = 0

    async def check(self, token: types.ProgressToken | None) -> dict[str, list[types.Diagnostic]]:
        """The diagnostics of all files by URI, in the order of the paths; `token` is that of the client's progress."""
        server = self._server
        roots = [path_of(folder.uri) for folder in server.workspace.folders.values()]
        if not roots and server.workspace.root_path:
            roots = [server.workspace.root_path]
        paths = await asyncio.get_running_loop().run_in_executor(None, self._files, roots)
        progress = _Progress(server, token, len(paths))
        analyses: dict[str, Analysis] = {}
        try:
            for number, path in enumerate(paths):
                progress.report(number)
                analysis = await self._analysis_of(path)
                if analysis is not None:
                    analyses[path] = analysis
        finally:
            progress.end()
        self._known = {path: known for path, known in self._known.items() if path in analyses}
        return self._gathered(paths, analyses)

    async def publish(self) -> dict[str, int]:
        """Check everything and publish what is found; the numbers of files and of diagnostics."""
        found = await self.check(await self._own_token())
        for uri, diagnostics in found.items():
            if self._server.documents.get(uri) is None and (diagnostics or uri in self._published):
                self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))
        self._published = {uri for uri, diagnostics in found.items() if diagnostics}
        return {"files": len(found), "diagnostics": sum(map(len, found.values()))}

    def forget(self, uri: str) -> None:
        """Take back what was published for a file that has changed on disk, or is gone."""
        if uri in self._published and self._server.documents.get(uri) is None:
            self._published.discard(uri)
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _files(self, roots: list[str]) -> list[str]:
        from gradpath.names.walk import walk

        def excludes(folder: Path) -> tuple[Path, tuple[str, ...]]:
            config = self._server.configurations.of(str(folder / "x.py"))
            return Path(config.root or folder), config.exclude

        found = dict.fromkeys(path for root in roots for path in walk(root, excludes, lambda shown, error: None))
        return sorted(found)[:MOST]

    async def _analysis_of(self, path: str) -> Analysis | None:
        document = self._server.documents.at_path(path)
        if document is not None:
            checked = await self._server.documents.analysed(document.uri)
            return None if checked is None else checked.analysis
        known = self._known.get(path)
        if known is not None and known.stamp == self._stamp(path, known.analysis):
            return known.analysis
        future: asyncio.Future[Analysis | None] = asyncio.get_running_loop().create_future()

        def report(analysis: Analysis | None) -> None:
            if not future.done():
                future.set_result(analysis)

        checks, key = self._server.checks, uri_of(path) + _MARK
        try:
            checks.submit(Job(key, 0, partial(checks.run_file, path, report)))
            analysis = await future
        finally:
            checks.withdraw(key)
        self._known[path] = _Known(analysis, self._stamp(path, analysis))
        return analysis

    def _stamp(self, path: str, analysis: Analysis | None) -> object:
        """What changes with the files that a check depends on, and with the configuration."""
        files = sorted([path, *(map(str, analysis.dependencies) if analysis is not None else ())])
        texts = [self._server.documents.text_at(Path(file)) for file in files]
        return [*map(_status, files)], texts, self._server.configurations.of(path)

    def _gathered(self, paths: list[str], analyses: Mapping[str, Analysis]) -> dict[str, list[types.Diagnostic]]:
        """Each fault once, under the file that it lies in."""
        from gradpath.features.gap_hints import gap_hints
        from gradpath.lsp.outgoing import Outgoing
        from gradpath.source.cells import CellsDocument

        found: dict[str, list[types.Diagnostic]] = {uri_of(path): [] for path in paths}
        seen: set[tuple[str, str, object]] = set()
        for path, analysis in analyses.items():
            document = self._server.documents.at_path(path)
            outgoing = Outgoing.of_analysis(analysis, document, self._server.documents, self._server.client)
            for each in (*analysis.diagnostics, *gap_hints(analysis)):
                key = each.path, each.rule, each.range
                if key not in seen:
                    seen.add(key)
                    uri, told = uri_of(each.path), outgoing.diagnostic(each)
                    if isinstance(analysis.document, CellsDocument) and each.path == path:
                        number = analysis.document.in_cell(each.range)[0].number
                        if document is not None and document.cells is not None:
                            uri = document.cells[number - 1].uri
                        else:
                            told = _at_the_file(told, number)
                    found.setdefault(uri, []).append(told)
        return found

    async def _own_token(self) -> types.ProgressToken | None:
        if not self._server.client.shows_progress:
            return None
        self._tokens += 1
        token = f"gradpath-workspace-{self._tokens}"
        await self._server.window_work_done_progress_create_async(types.WorkDoneProgressCreateParams(token))
        return token


def _at_the_file(told: types.Diagnostic, number: int) -> types.Diagnostic:
    """A fault in a notebook that is not open, whose cells the client does not know: it is told of the file."""
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

    def __init__(self, server: Server, token: types.ProgressToken | None, total: int) -> None:
        self._server, self._token, self._total = server, token, total
        self._tell(lambda: types.WorkDoneProgressBegin("gradpath: checking the workspace", percentage=0))

    def report(self, number: int) -> None:
        """Files that are done; not each of them is told of."""
        if number and number % _EVERY == 0:
            message = f"{number} of {self._total} files"
            self._tell(lambda: types.WorkDoneProgressReport(message=message, percentage=100 * number // self._total))

    def end(self) -> None:
        """The check has ended, or was cancelled."""
        self._tell(types.WorkDoneProgressEnd)

    def _tell(self, value: Callable[[], object]) -> None:
        if self._token is not None:
            self._server.progress(types.ProgressParams(self._token, value()))
