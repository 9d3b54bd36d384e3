"""Failures of gradpath itself: each loses a part of an analysis, and is reported, logged and written down once a place.

A crash report is a short text in the user's own cache folder, for an issue: the versions, where gradpath failed, and
the one statement of the program that it was looking at, without the texts in it. The program itself, the paths of its
files and the environment are left out.
"""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from gradpath.support.fast_dataclasses import dataclass

REPORTS = 20
"""Crash reports that are kept; the oldest go first."""

FRAMES = 40
"""Calls that a crash report and a log line hold: the innermost."""

LINE = 300
"""Characters of a line in a crash report."""

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Place:
    """The place in the checked program that was being examined: a file, a line from 1, and its node, where known."""

    path: str
    line: int = 1
    node: ast.AST | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception in a line, and the path of the crash report, empty where none could be written."""

    cause: str
    report: str


_reports: dict[str, str] = {}
_logged: set[str] = set()
_quiet = False


@contextmanager
def unlogged() -> Iterator[None]:
    """Log no failures meanwhile, in this process: the caller reports them."""
    global _quiet
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before


def failed(what: str, place: Place) -> Failure:
    """Tell, while its exception is handled, what has failed at a place of the checked program; never raises.

    For each place in gradpath that fails, the first time it is logged, with the calls that led there, and reported.
    """
    error = sys.exc_info()[1]
    assert error is not None
    cause = " ".join(f"{type(error).__name__}: {error}".split())[:LINE]
    frames = list(_frames(error.__traceback__))
    key = f"{type(error).__name__} {_deepest(frames, recursion=isinstance(error, RecursionError))}"
    report = _reports.get(key, "")
    if key not in _reports:
        with suppress(Exception):  # Reporting a failure must not fail: there may be no room, or no memory.
            report = str(_write(key, _text(what, cause, frames, place)))
        _reports[key] = report
    if not _quiet and key not in _logged:
        _logged.add(key)
        # Loading this takes as long as loading the interpreter.
        import logging

        where = f"{what}, at {place.path}:{place.line}"
        hint = f"; a report to attach to an issue is {report}" if report else ""
        calls = "".join(f"\n  {frame}" for frame in frames[-FRAMES:])
        logging.getLogger("gradpath.check").error("%s: %s%s%s", where, cause, hint, calls)
    return Failure(cause, report)


def folder() -> Path:
    """The folder of crash reports: in the user's cache folder, as defined by the system."""
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "gradpath" / "crashes"


def _text(what: str, cause: str, frames: list[str], place: Place) -> str:
    import platform

    from gradpath import __version__

    shown = frames[-FRAMES:]
    skipped = [f"  ({len(frames) - len(shown)} frames above)"] if len(shown) < len(frames) else []
    lines = [
        "gradpath crash report",
        "",
        "It contains only what is below: review it, and attach it to an issue.",
        "",
        f"gradpath {__version__}, Python {platform.python_version()} ({platform.python_implementation()})",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        f"what failed: {what}",
        f"statement: {_statement(place)}",
        f"exception: {cause}",
        "calls, the innermost last:",
        *skipped,
        *(f"  {frame}" for frame in shown),
    ]
    return "".join(f"{line[:LINE]}\n" for line in lines)


def _statement(place: Place) -> str:
    """The first line of the code that was being examined, without the texts in it, and its place."""
    if place.node is None or isinstance(place.node, ast.Module):
        return f"not known (line {place.line})"
    kind = type(place.node).__name__
    try:
        # Unparsed and parsed again, so that the tree, which others use, stays as it is.
        copy = ast.parse(ast.unparse(place.node))
        code = ast.unparse(_WithoutTexts().visit(copy)).partition("\n")[0]
    except (SyntaxError, ValueError, RecursionError):
        return f"{kind} (line {place.line})"
    return f"{kind} (line {place.line}): {code}"


class _WithoutTexts(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, (str, bytes)):
            return ast.Constant("..." if isinstance(node.value, str) else b"...")
        return node


def _deepest(frames: Sequence[str], *, recursion: bool) -> str:
    """The key of a place: the calls that lead to it differ from one program to the next.

    Where a recursion runs out of stack is chance; one of its repeated places represents it.
    """
    if not recursion:
        return frames[-1] if frames else ""
    times = Counter(frames)
    most = max(times.values(), default=0)
    return min((frame for frame, count in times.items() if 2 * count > most), default="")


def _frames(traceback: TracebackType | None) -> Iterator[str]:
    """The frames of a traceback, without what is the user's own in their paths."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        yield f"{_shown(Path(code.co_filename))}:{traceback.tb_lineno} in {code.co_name}"
        traceback = traceback.tb_next


def _shown(path: Path) -> str:
    if path.is_relative_to(_PACKAGE):
        return path.relative_to(_PACKAGE.parent).as_posix()
    return "/".join(path.parts[-2:])


def _write(key: str, text: str) -> Path:
    from zlib import crc32

    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    report = place / f"crash-{crc32(key.encode()):08x}.txt"
    report.unlink(missing_ok=True)
    # Made again, and for its owner alone: never written through a link.
    handle = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    reports = sorted(place.glob("crash-*.txt"), key=lambda each: each.stat().st_mtime_ns)
    for old in reports[:-REPORTS]:
        old.unlink(missing_ok=True)
    return report
