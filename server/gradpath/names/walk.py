"""The Python files and notebooks below a folder, as far as they are the project's own.

A walk leaves out what `.gitignore` files leave out, what `exclude` of the configuration names, and the folders where
tools keep other people's code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gradpath.reading import CONFIGURATION, read_text
from gradpath.records import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".py", ".ipynb")
SKIPPED_FOLDERS = frozenset(
    {
        "__pycache__",
        "__pypackages__",
        "_build",
        "bower_components",
        "buck-out",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
        ".bzr",
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
    }
)

Excludes = Callable[[Path], "tuple[Path, Sequence[str]]"]
"""From a folder to the folder of its configuration and the `exclude` patterns that stand there."""


Complain = Callable[[str, OSError], None]
"""What is told of a folder, as it is shown, that cannot be read."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one file, which count from the folder `base` (absolute)."""

    base: str
    spec: GitIgnoreSpec

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Whether the absolute `path` is left out; None where no pattern speaks of it."""
        relative = os.path.relpath(path, self.base).replace(os.sep, "/")
        return self.spec.check_file(relative + "/" if folder else relative).include


def walk(argument: str, excludes: Excludes, complain: Complain) -> Iterator[str]:
    """The paths of the files below a folder, as they are shown, in no particular order."""
    top = os.path.realpath(argument)
    inherited = _gitignores_above(top)
    if _left_out(top, inherited, folder=True):
        inherited = ()  # A folder that is named although the repository ignores it is meant.
    stack: list[tuple[str, str, tuple[_Rules, ...]]] = [("" if argument == "." else argument, top, inherited)]
    while stack:
        shown, folder, outer = stack.pop()
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            complain(shown or argument, error)
            continue
        gitignores = (*outer, *_gitignore_in(folder))
        configured = _exclude_rules(*excludes(Path(folder)))
        for entry in entries:
            name = os.path.join(shown, entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder:
                if entry.name in SKIPPED_FOLDERS or os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    continue
            elif not entry.name.endswith(SUFFIXES) or not os.path.isfile(entry.path):
                continue
            if _left_out(entry.path, gitignores, folder=is_folder):
                continue
            if _left_out(entry.path, configured, folder=is_folder):
                continue
            if is_folder:
                stack.append((name, entry.path, gitignores))
            else:
                yield name


def _left_out(path: str, rules: Sequence[_Rules], *, folder: bool) -> bool:
    """The innermost file that speaks of the path decides, as in git."""
    for rule in reversed(rules):
        verdict = rule.verdict(path, folder=folder)
        if verdict is not None:
            return verdict
    return False


def _gitignores_above(folder: str) -> tuple[_Rules, ...]:
    """The `.gitignore` files of the repository above `folder`, outermost first; none outside a repository."""
    rules: list[_Rules] = []
    path = Path(folder)
    for parent in (path, *path.parents):
        if parent != path:
            rules[:0] = _gitignore_in(str(parent))
        if (parent / ".git").exists():
            return tuple(rules)
    return ()


def _gitignore_in(folder: str) -> tuple[_Rules, ...]:
    try:
        lines = read_text(os.path.join(folder, ".gitignore"), CONFIGURATION, errors="replace").splitlines()
    except OSError:
        return ()  # There is none, or it cannot be read, which git passes over as well.
    return _rules(folder, lines)


def _exclude_rules(base: Path, patterns: Sequence[str]) -> tuple[_Rules, ...]:
    return _rules(str(base), patterns) if patterns else ()


def _rules(base: str, lines: Sequence[str]) -> tuple[_Rules, ...]:
    # Imported here because a check of single files, which an editor runs on every save, never needs it.
    from pathspec import GitIgnoreSpec

    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git passes over a pattern that it cannot read.
        good.append(line)
    return (_Rules(base, GitIgnoreSpec.from_lines(good)),) if good else ()
