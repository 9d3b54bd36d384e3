"""Which file a module's name means, by the paths alone: no interpreter is asked and nothing is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradpath.names.environment import editable
from gradpath.names.layout import LEVELS, Layout, find_root, layout_of, outside_packages

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_BUILT_IN = frozenset(sys.builtin_module_names) | {"__future__", "typing", "os", "abc", "types", "enum", "collections"}
_USUAL = "src"


def nothing(path: Path) -> str | None:
    """The texts of an editor in which nothing is open."""
    return None


@dataclass(frozen=True, slots=True)
class Project:
    """The files that belong together: those at and below `root`, and what its environment installs in editable form.

    `python` is the setting (see `environment.editable`). `read` gives the text of a file that is open in an editor, by
    its absolute path; it wins over the disk. Everything else that is installed is other people's code and is never
    located, so that torch, NumPy and their like stay what the overlays say of them.
    """

    root: Path
    python: str | None = None
    read: Callable[[Path], str | None] = nothing

    def locate(self, module: str, importer: Path, *, script: bool = False) -> Path | None:
        """The file of a module as code in the file `importer` names it, with leading dots where it is relative.

        A package is its `__init__.py`; one without is its folder. None where the project has no such module. `script`
        says that `importer` is run as a program, so that its own folder counts even where that is a package.
        """
        name = module.lstrip(".")
        level = len(module) - len(name)
        parts = name.split(".") if name else []
        if level:
            folder = importer.parent
            for _ in range(level - 1):
                folder = folder.parent
            return self._below(folder, parts) if parts else self._package(folder)
        found = self._absolute(parts, importer, script)
        return found if found is None or self._is_own(found, importer) else None

    def member(self, package: Path, name: str) -> Path | None:
        """The file of the module `name` in the package that `locate` gave as `package`; None where it has none."""
        if package.name == "__init__.py":
            return self._step(package.parent, name)
        return None if package.suffix == ".py" else self._step(package, name)

    def is_file(self, path: Path) -> bool:
        """Whether a file is on disk or open in the editor."""
        return os.path.isfile(path) or self.read(path) is not None

    def _absolute(self, parts: Sequence[str], importer: Path, script: bool) -> Path | None:
        if not parts or parts[0] in _BUILT_IN:
            return None
        spaces: list[Path] = []
        for root in self._roots(importer, script and parts[0] not in sys.stdlib_module_names):
            for found in self._in(root, parts):
                # A module does not import itself: it wants the library that it is named after.
                if found.suffix == ".py" and found != importer:
                    return found
                spaces.append(found)
        return spaces[0] if spaces and parts[0] not in sys.stdlib_module_names else None

    def _in(self, root: Layout, parts: Sequence[str]) -> Iterator[Path]:
        own = root.packages.get(parts[0])
        if own is not None:
            found = self._below(own, parts[1:]) if len(parts) > 1 else self._package(own)
            if found is not None:
                yield found
        for folder in root.folders:
            found = self._below(folder, parts)
            if found is not None:
                yield found

    def _roots(self, importer: Path, script: bool) -> Iterator[Layout]:
        """Where an absolute import may begin, the likeliest first.

        A script's imports begin in its own folder, those of a package in the folder around it; since nobody says which
        script is run, every folder up to the root is tried, the nearest first.
        """
        start = importer.parent
        outside = outside_packages(start)
        if script and outside != start:
            yield Layout((start,))
        for folder in _upwards(outside, self.root):
            yield Layout((folder,))
            configured = layout_of(folder)
            yield Layout((folder / _USUAL, *configured.folders), configured.packages)
        yield editable(self.root, self.python)

    def _package(self, path: Path) -> Path | None:
        """The file behind a path that stands for a module: the folder of a package, or a file with or without `.py`."""
        for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if self.is_file(file):
                return file
        return path if os.path.exists(path) else None

    def _below(self, folder: Path, parts: Sequence[str]) -> Path | None:
        """The file of a dotted name that begins in `folder`."""
        path: Path | None = None
        for part in parts:
            if path is not None:
                if path.suffix == ".py" and path.name != "__init__.py":
                    return None
                folder = path.parent if path.name == "__init__.py" else path
            path = self._step(folder, part)
            if path is None:
                return None
        return path

    def _step(self, folder: Path, name: str) -> Path | None:
        """One name in a folder: a regular package, else a module, else a folder."""
        if not name.isidentifier():
            return None
        inner = folder / name
        for file in (inner / "__init__.py", folder / f"{name}.py"):
            if self.is_file(file):
                return file
        return inner if os.path.isdir(inner) else None

    def _is_own(self, path: Path, importer: Path) -> bool:
        """Whether a file is not an installed copy, or is one of the package that the importer belongs to."""
        installed = _installed_in(path)
        return installed is None or installed == _installed_in(importer)


def project_of(file: Path, python: str | None = None, read: Callable[[Path], str | None] = nothing) -> Project:
    """The project that a file belongs to; `file` is absolute and need not exist."""
    return Project(find_root(file.parent), python, read)


def _upwards(folder: Path, root: Path) -> Iterator[Path]:
    """`folder` and the folders above it up to `root`; `folder` alone where it does not lie in `root`."""
    yield folder
    if folder.is_relative_to(root):
        for parent in list(folder.parents)[:LEVELS]:
            if folder == root or not parent.is_relative_to(root):
                return
            yield parent


def _installed_in(path: Path) -> Path | None:
    """The folder of installed packages and the name there under which a file lies."""
    parts = path.parts
    for index, part in enumerate(parts[:-1]):
        if part in _INSTALLED:
            return Path(*parts[: index + 2])
    return None
