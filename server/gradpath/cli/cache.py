"""The cache of earlier runs, in `.gradpath_cache`: a file is checked again when anything has changed for it.

Each checked file has one entry there: the outcome, and what it depended on, which is the file itself, the
configuration, the files and folders that were looked into, and gradpath. Entries are plain JSON. Files of them are
written atomically, so that several runs may share them and they may be deleted at any time, and only those that this
user wrote are trusted (see `sealed`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from gradpath import __version__
from gradpath.cli.run import Checked, source_of
from gradpath.cli.sealed import Store
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Fix, Gap, GapKind, Label, Level, Position, Range, Safety
from gradpath.names.layout import find_root
from gradpath.names.watch import content_of, digest_of, environment, forget, state_of
from gradpath.repairs import Repair, Way
from gradpath.source.notebook import source_bytes

FOLDER = ".gradpath_cache"

_SAVED_FIRST = 1000
"""New entries after which they are first written during a run, and then each time that there are as many again."""

_LASTING = (GapKind.SYNTAX, GapKind.BUDGET, GapKind.SIZE, GapKind.IMPORTS)
"""Gaps that every check of the same files has."""


class Cache:
    """The entries below a folder, for checks with or without trials of fixes; what is kept is written by `save`.

    Entries lie together in a few files, and each is read when it is asked for: a file of its own for each would cost
    more than most checks.
    """

    def __init__(self, folder: Path, *, trials: bool) -> None:
        self._store = Store(folder / FOLDER, digest_of(repr((_program(), trials)).encode()))
        self._bundles: dict[str, dict[str, str]] = {}
        self._changed: set[str] = set()
        self._unsaved = 0
        self._saved = _SAVED_FIRST
        self._began = time.time_ns()
        self._environments: dict[tuple[str, str | None], str] = {}
        forget()

    def find(self, path: str, config: Config) -> Checked | None:
        """The result of the last check of a file; None where there was none, or something has changed since."""
        key = _key(path, config)
        told = self._bundle(key).get(key)
        if told is None or not os.path.isfile(path):  # A pipe can be read only once.
            return None
        try:
            data = source_bytes(path)
            entry = json.loads(told)
            if entry["text"] != digest_of(data) or entry["environment"] != self._environment(path, config):
                return None
            if any(content_of(each) != known for each, known in entry["files"].items()):
                return None
            if any(state_of(folder, names) != known for folder, (known, *names) in entry["folders"].items()):
                return None
            return _checked(path, data, entry)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            return None  # It is an entry of another form.

    def keep(self, checked: Checked, config: Config) -> None:
        """Remember an outcome, unless a file has been written since the run began, perhaps after it was read.

        A text that is not relevant needs no entry: checking that is faster than reading one.
        """
        if not (checked.folders or checked.dependencies or checked.diagnostics or checked.incomplete):
            return
        if checked.problem is not None or any(gap.kind not in _LASTING for gap in checked.incomplete):
            return
        with suppress(OSError):
            if not all(map(self._is_settled, (checked.path, *checked.dependencies))):
                return
            entry = {
                "path": os.path.abspath(checked.path),
                "text": content_of(checked.path),
                "environment": self._environment(checked.path, config),
                "files": {each: content_of(each) for each in sorted(checked.dependencies)},
                "folders": {folder: [state_of(folder, names), *names] for folder, names in checked.folders.items()},
                "diagnostics": [_told(each) for each in checked.diagnostics],
                "incomplete": [_gap_told(each) for each in checked.incomplete],
                "used": [[path, *_place(place)] for path, place in sorted(checked.used)],
            }
            key = _key(checked.path, config)
            self._bundle(key)[key] = json.dumps(entry, separators=(",", ":"))
            self._changed.add(key[:1])
            self._unsaved += 1
            if self._unsaved >= self._saved:  # So that a run that is killed has not been for nothing.
                self._saved += self._unsaved
                self.save()

    def save(self) -> None:
        """Write what was kept, without the entries of files that are gone."""
        for name in sorted(self._changed):
            lines = (f"{key} {told}" for key, told in self._bundles[name].items() if _is_there(told))
            self._store.write(name, "\n".join(lines))
        self._changed.clear()
        self._unsaved = 0

    def _bundle(self, key: str) -> dict[str, str]:
        """The entries that lie together with one, by key."""
        known = self._bundles.get(key[:1])
        if known is None:
            lines = (line.partition(" ") for line in self._store.read(key[:1]).split("\n"))
            known = self._bundles[key[:1]] = {each: told for each, _, told in lines if told}
        return known

    def _is_settled(self, path: str) -> bool:
        return os.stat(path).st_mtime_ns < self._began

    def _environment(self, path: str, config: Config) -> str:
        place = os.path.dirname(os.path.abspath(path)), config.python
        if place not in self._environments:
            self._environments[place] = environment(str(find_root(Path(place[0]))), config.python)
        return self._environments[place]


def _key(path: str, config: Config) -> str:
    return digest_of(repr((path, os.path.abspath(path), config)).encode("utf-8", "surrogateescape"))


def _is_there(told: str) -> bool:
    return os.path.lexists(json.loads(told).get("path", ""))


@cache
def _program() -> str:
    """The key of a version of gradpath and of Python."""
    package = Path(__file__).parents[1]
    files = sorted(package.rglob("*.py")) + sorted(package.rglob("*.json"))
    stamps = [(str(each.relative_to(package)), each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    return repr((__version__, sys.version, stamps))


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
            [[each.way.name, each.subjects, each.lines, each.text, each.near] for each in fix.repairs],
            fix.preferred,
            fix.rewrite,
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
                preferred,
                rewrite,
                repairs=tuple(
                    Repair(Way[way], tuple(what), tuple(lines), text, near) for way, what, lines, text, near in repairs
                ),
            )
            for title, safety, edits, repairs, preferred, rewrite in fixes
        ),
        cell,
    )
