"""Which files of a project call what a file defines: found in the texts of their imports, without running anything."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from gradpath.names.folders import has
from gradpath.names.layout import MARKERS, NOTES, REPOSITORY
from gradpath.names.project import Project
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex
from gradpath.support.reading import read_text

_FILES = 2_000
"""The most files of a project that are searched."""

_LARGEST = 500_000
"""Bytes of a file that is still looked through."""

_KEPT = 10_000

_SKIPPED = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv", "env"})

_IMPORT = regex(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n;#]+)|import[ \t]+([^\n;#]+))", re.MULTILINE
)
_NAME = regex(r"\w+")


@dataclass(frozen=True, slots=True)
class _Imports:
    """The words in the import statements of a file, and whether it is written as a program."""

    words: frozenset[str]
    program: bool


_known: dict[Path, tuple[tuple[int, int], _Imports]] = {}


def callers_of(
    project: Project, file: Path, names: Collection[str], limit: int, cancelled: Callable[[], bool] = lambda: False
) -> tuple[Path, ...]:
    """Files that import one of `names`, which `file` defines, or the module itself; programs first, then the nearest.

    A file is read again only when it has changed. What is found may still mean something else of the same name.
    """
    module = file.parent.name if file.name == "__init__.py" else file.stem
    wanted = {module, *names}
    found: list[tuple[bool, int, str]] = []
    for path in _python_files(project.root):
        if cancelled():
            return ()
        if path != file:
            imports = _imports_of(path, project.read(path))
            if imports is not None and not wanted.isdisjoint(imports.words):
                found.append((not imports.program, _distance(path, file), str(path)))
    return tuple(Path(path) for _, _, path in sorted(found)[:limit])


def _distance(one: Path, other: Path) -> int:
    """The number of steps from one file's folder to the other's."""
    shared = len(os.path.commonpath((one.parent, other.parent)).split(os.sep))
    return len(one.parent.parts) + len(other.parent.parts) - 2 * shared


def _python_files(root: Path) -> Iterator[Path]:
    """The project's files, the shallow ones first, up to a limit; those of one folder if there is no project."""
    deep = any(has(root, mark) for mark in (*REPOSITORY, *MARKERS, *NOTES))
    folders = [str(root)]
    count = 0
    for folder in folders:
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith(".py"):
                count += 1
                if count > _FILES:
                    return
                yield Path(entry.path)
            elif deep and len(folders) < _FILES and _is_own_folder(entry):
                folders.append(entry.path)


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED or not entry.is_dir(follow_symlinks=False):
        return False
    return not os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _imports_of(path: Path, text: str | None) -> _Imports | None:
    if text is not None:
        return _imports_in(text)
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size)
        known = _known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        imports = _imports_in(read_text(path, _LARGEST, errors="replace"))
    except OSError:
        return None
    if len(_known) >= _KEPT:
        _known.clear()
    _known[path] = stamp, imports
    return imports


def _imports_in(text: str) -> _Imports:
    words: set[str] = set()
    for match in _IMPORT.finditer(text):
        for part in match.groups(default=""):
            words.update(_NAME.findall(part))
    return _Imports(frozenset(words), "__main__" in text)
