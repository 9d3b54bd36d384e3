"""What earlier runs found, kept in `.gradpath_cache`: a file is checked again when anything has changed for it.

Each checked file has one entry there: the outcome, and what it depended on, which is the file itself, the
configuration, the files and folders that were looked into, and gradpath. Entries are plain JSON, and are written whole
or not at all, so that several runs may share them and anybody may delete them.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from gradpath import __version__
from gradpath.cli.run import Checked, source_of
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Fix, Gap, GapKind, Label, Level, Position, Range, Safety
from gradpath.names.layout import find_root
from gradpath.names.watch import content_of, digest_of, environment, forget, state_of

FOLDER = ".gradpath_cache"

_LASTING = (GapKind.SYNTAX, GapKind.BUDGET)
"""Gaps that every check of the same files has."""


class Cache:
    """The entries below a folder, for checks with or without trials of fixes; one that is not writable stays empty."""

    def __init__(self, folder: Path, *, trials: bool) -> None:
        self._folder = folder / FOLDER / digest_of(repr((_program(), trials)).encode())
        self._is_ready = False
        self._began = time.time_ns()
        forget()

    def find(self, path: str, config: Config) -> Checked | None:
        """What the last check of a file found; None where there was none, or something has changed since."""
        if not os.path.isfile(path):
            return None  # A pipe can be read only once.
        try:
            data = Path(path).read_bytes()
            entry = json.loads(self._place(path, config).read_bytes())
            if entry["text"] != digest_of(data) or entry["environment"] != _environment(path, config):
                return None
            if any(content_of(each) != known for each, known in entry["files"].items()):
                return None
            if any(state_of(folder, names) != known for folder, (known, *names) in entry["folders"].items()):
                return None
            return _checked(path, data, entry)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            return None  # There is no entry, or it is none of ours.

    def keep(self, checked: Checked, config: Config) -> None:
        """Remember an outcome, unless a file has been written since the run began, perhaps after it was read."""
        if checked.problem is not None or any(gap.kind not in _LASTING for gap in checked.incomplete):
            return
        with suppress(OSError):
            if not all(map(self._is_settled, (checked.path, *checked.dependencies))):
                return
            entry = {
                "text": content_of(checked.path),
                "environment": _environment(checked.path, config),
                "files": {each: content_of(each) for each in sorted(checked.dependencies)},
                "folders": {folder: [state_of(folder, names), *names] for folder, names in checked.folders.items()},
                "diagnostics": [_told(each) for each in checked.diagnostics],
                "incomplete": [_gap_told(each) for each in checked.incomplete],
                "used": [[path, *_place(place)] for path, place in sorted(checked.used)],
            }
            self._prepare()
            place = self._place(checked.path, config)
            place.parent.mkdir(exist_ok=True)
            handle, name = tempfile.mkstemp(dir=place.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                    json.dump(entry, file, separators=(",", ":"))
                os.replace(name, str(place))
            except BaseException:
                os.unlink(name)
                raise

    def _place(self, path: str, config: Config) -> Path:
        key = digest_of(repr((path, os.path.abspath(path), config)).encode("utf-8", "surrogateescape"))
        return self._folder / key[:2] / key[2:]

    def _is_settled(self, path: str) -> bool:
        return os.stat(path).st_mtime_ns < self._began

    def _prepare(self) -> None:
        if not self._is_ready:
            self._folder.mkdir(parents=True, exist_ok=True)
            ignored = self._folder.parent / ".gitignore"
            if not ignored.exists():
                ignored.write_text("*\n", encoding="utf-8")
            self._is_ready = True


@cache
def _program() -> str:
    """What tells one gradpath and one Python from another."""
    package = Path(__file__).parents[1]
    files = sorted(package.rglob("*.py")) + sorted(package.rglob("*.json"))
    stamps = [(str(each.relative_to(package)), each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    return repr((__version__, sys.version, stamps))


def _environment(path: str, config: Config) -> str:
    return environment(str(find_root(Path(os.path.abspath(path)).parent)), config.python)


def _checked(path: str, data: bytes, entry: dict[str, Any]) -> Checked:
    diagnostics = tuple(_diagnostic(each) for each in entry["diagnostics"])
    return Checked(
        path,
        source_of(path, data) if diagnostics else None,
        diagnostics,
        incomplete=tuple(_gap(path, *each) for each in entry["incomplete"]),
        dependencies=frozenset(entry["files"]),
        used=frozenset((name, _range(place)) for name, *place in entry["used"]),
    )


def _place(place: Range) -> list[int]:
    return [place.start.line, place.start.column, place.end.line, place.end.column]


def _range(numbers: list[int]) -> Range:
    first, column, last, end = numbers
    return Range(Position(first, column), Position(last, end))


def _gap_told(gap: Gap) -> list[object]:
    return [gap.kind.value, _place(gap.range), gap.entry, gap.detail, gap.cell]


def _gap(path: str, kind: str, place: list[int], entry: str, detail: str, cell: int | None) -> Gap:
    return Gap(path, GapKind(kind), _range(place), entry, detail=detail, cell=cell)


def _told(each: Diagnostic) -> list[object]:
    labels = [[label.path, _place(label.range), label.message, label.primary, label.cell] for label in each.labels]
    fixes = [
        [
            fix.title,
            fix.safety.value,
            [[edit.path, _place(edit.range), edit.new_text, edit.cell] for edit in fix.edits],
            fix.preferred,
            fix.rewrite,
            fix.if_certain,
        ]
        for fix in each.fixes
    ]
    told = [each.path, _place(each.range), each.rule, each.family, each.level.value, each.message, labels]
    return [*told, each.pytorch, each.help, list(each.alternatives), fixes, each.cell]


def _diagnostic(told: list[Any]) -> Diagnostic:
    path, place, rule, family, level, message, labels, pytorch, help, alternatives, fixes, cell = told
    return Diagnostic(
        path,
        _range(place),
        rule,
        family,
        Level(level),
        message,
        tuple(Label(file, _range(where), text, primary, of) for file, where, text, primary, of in labels),
        pytorch,
        help,
        tuple(alternatives),
        tuple(
            Fix(
                title,
                Safety(safety),
                tuple(Edit(file, _range(where), text, of) for file, where, text, of in edits),
                *flags,
            )
            for title, safety, edits, *flags in fixes
        ),
        cell,
    )
