"""Checks many files, in this process or in several; the answer is the same and in the same order."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import gradpath.check
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic
from gradpath.source.document import Document, UnreadableSource, read_document

_FEW = 8
_LARGEST_CHUNK = 16


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome for one file. `document` is None where nothing was found, `problem` says why it was not checked."""

    path: str
    document: Document | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    unknowns: Mapping[str, int] = field(default_factory=dict)
    problem: str | None = None


def check_document(document: Document, config: Config) -> Checked:
    """Check a text; a failure of gradpath itself becomes the problem, with its cause in one line."""
    try:
        analysis = gradpath.check.check(document, config)
    except Exception as error:  # A bug in one file's analysis must not cost the others theirs.
        if os.environ.get("GRADPATH_TRACEBACK"):
            raise
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        hint = "set GRADPATH_TRACEBACK=1 to see where"
        return Checked(document.path, problem=f"gradpath failed on this file ({cause}; {hint})")
    found = document if analysis.diagnostics else None
    return Checked(document.path, found, tuple(analysis.diagnostics), dict(analysis.unknowns))


def check_file(path: str, config: Config) -> Checked:
    """Check a file."""
    try:
        document = read_document(Path(path), path)
    except UnreadableSource as error:
        return Checked(path, problem=error.reason)
    return check_document(document, config)


def check_files(files: Sequence[tuple[str, Config]], jobs: int, on_done: Callable[[], None]) -> tuple[Checked, ...]:
    """Check files in their order, with up to `jobs` processes (0: one a processor); `on_done` is called after each."""
    workers = min(jobs or _processors(), len(files))
    if workers <= 1 or (jobs == 0 and len(files) < _FEW):
        results = []
        for path, config in files:
            results.append(check_file(path, config))
            on_done()
        return tuple(results)
    return _in_processes(files, workers, on_done)


def _in_processes(
    files: Sequence[tuple[str, Config]], workers: int, on_done: Callable[[], None]
) -> tuple[Checked, ...]:
    # Imported here because it costs more than the check of a small file.
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    chunk = max(1, min(_LARGEST_CHUNK, len(files) // (workers * 4)))
    results: list[Checked] = []
    pool = ProcessPoolExecutor(workers, initializer=_die_on_interrupt)
    try:
        for result in pool.map(_check_pair, files, chunksize=chunk):
            results.append(result)
            on_done()
    except BrokenProcessPool:
        for path, _ in files[len(results) :]:
            results.append(Checked(path, problem="not checked: a process of gradpath was killed"))
            on_done()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return tuple(results)


def _check_pair(pair: tuple[str, Config]) -> Checked:
    return check_file(*pair)


def _die_on_interrupt() -> None:
    """Let Ctrl-C end a worker without a traceback; the main process answers for all."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
