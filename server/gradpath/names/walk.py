"""The Python files and notebooks below a folder, as far as they are the project's own.

A walk leaves out what `.gitignore` files leave out, what `exclude` of the configuration names, and the folders where
tools keep other people's code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.gitignore import Pattern, pattern_of, verdict
from gradpath.support.reading import CONFIGURATION, read_text
from gradpath.support.words import words

SUFFIXES = (".py", ".ipynb")
SKIPPED_FOLDERS = words(
    """__pycache__ __pypackages__ _build bower_components buck-out build dist node_modules site-packages venv .bzr
    .direnv .eggs .git .hg .ipynb_checkpoints .mypy_cache .nox .pytest_cache .ruff_cache .svn .tox .venv"""
)

Excludes = Callable[[Path], "tuple[Path, Sequence[str]]"]
"""A function from a folder to the folder of its configuration and the `exclude` patterns in it."""


Complain = Callable[[str, OSError], None]
"""The callback for a folder, as it is shown, that cannot be read."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one file, which count from a folder so many names below the root of the file system."""

    depth: int
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that is still to be walked: how it is shown, the names on the way to it, and what is ignored there."""

    shown: str
    names: tuple[str, ...]
    ignored: tuple[_Rules, ...]


def walk(argument: str, excludes: Excludes, complain: Complain) -> Iterator[str]:
    """The paths of the files below a folder, as they are shown, in no particular order."""
    top = os.path.realpath(argument)
    names = Path(top).parts
    inherited = _gitignores_above(top)
    if any(_left_out(inherited, names[:end], folder=True) for end in range(1, len(names) + 1)):
        inherited = ()  # A folder that is named although the repository ignores it is meant.
    stack = [_Folder("" if argument == "." else argument, names, inherited)]
    while stack:
        here = stack.pop()
        path = os.path.join(*here.names)
        try:
            with os.scandir(path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            complain(here.shown or argument, error)
            continue
        gitignores = (*here.ignored, *_gitignore_in(path))
        root, patterns = excludes(Path(path))
        configured = _rules(str(root), patterns)
        for entry in entries:
            shown = os.path.join(here.shown, entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder:
                if entry.name in SKIPPED_FOLDERS or os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    continue
            elif not entry.name.endswith(SUFFIXES) or not os.path.isfile(entry.path):
                continue
            inside = (*here.names, entry.name)
            if _left_out(gitignores, inside, folder=is_folder) or _excluded(configured, inside, folder=is_folder):
                continue
            if is_folder:
                stack.append(_Folder(shown, inside, gitignores))
            else:
                yield shown


def _left_out(rules: Sequence[_Rules], names: tuple[str, ...], *, folder: bool) -> bool:
    """The innermost file that speaks of the path decides, as in git."""
    for each in reversed(rules):
        if len(names) > each.depth:
            answer = verdict(each.patterns, names[each.depth :], folder=folder)
            if answer is not None:
                return answer
    return False


def _excluded(rules: Sequence[_Rules], names: tuple[str, ...], *, folder: bool) -> bool:
    """True if a configuration names a file or folder, or a folder around it: the walk may begin below that."""
    around = (names[:end] for each in rules for end in range(each.depth + 1, len(names)))
    return _left_out(rules, names, folder=folder) or any(_left_out(rules, each, folder=True) for each in around)


def _gitignores_above(folder: str) -> tuple[_Rules, ...]:
    """The `.gitignore` files of the repository above `folder`, outermost first; none outside a repository."""
    rules: list[_Rules] = []
    path = Path(folder)
    for parent in (path, *path.parents):
        if parent != path:
            rules[:0] = _gitignore_in(str(parent))
        if os.path.exists(parent / ".git"):  # `Path.exists` raises where the folder is closed.
            return tuple(rules)
    return ()


def _gitignore_in(folder: str) -> tuple[_Rules, ...]:
    try:
        lines = read_text(os.path.join(folder, ".gitignore"), CONFIGURATION, errors="replace").split("\n")
    except OSError:
        return ()  # There is none, or it cannot be read, which git passes over as well.
    return _rules(folder, lines)


def _rules(base: str, lines: Sequence[str]) -> tuple[_Rules, ...]:
    patterns = tuple(pattern for pattern in map(pattern_of, lines) if pattern is not None)
    return (_Rules(len(Path(base).parts), patterns),) if patterns else ()
