"""Which file a module's name means, by the paths alone: no interpreter is asked and nothing is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gradpath.names.environment import Environment, editable, hooked
from gradpath.names.folders import has
from gradpath.names.layout import Layout, find_root, layout_of, outside_packages, upwards
from gradpath.support.fast_dataclasses import dataclass

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_BUILT_IN = frozenset(sys.builtin_module_names) | {"__future__", "typing", "os", "abc", "types", "enum", "collections"}
_USUAL = "src"


def nothing(path: Path) -> str | None:
    """The texts of an editor in which nothing is open."""
    return None


def no_module(module: str, importer: Path, environment: Environment) -> Path | None:
    """The resolver that finds no module."""
    return None


@dataclass(frozen=True, slots=True)
class Project:
    """The files that belong together: those at and below `root`, and what its environment installs in editable form.

    `python` is the setting (see `environment.editable`). `read` gives the text of a file that is open in an editor, by
    its absolute path; it wins over the disk. `ask` is asked, with the importer, for what paths alone do not decide: the
    modules that an import hook of the environment finds. Everything else that is installed is third-party code and is
    never located, so that torch, NumPy and their like keep the meaning that the overlays give them.
    """

    root: Path
    python: str | None = None
    read: Callable[[Path], str | None] = nothing
    ask: Callable[[str, Path, Environment], Path | None] = no_module

    def locate(self, module: str, importer: Path, roots: Sequence[Layout] | None = None) -> Path | None:
        """The file of a module as code in the file `importer` names it, with leading dots where it is relative.

        A package is its `__init__.py`; one without is its folder. None where the project has no such module. `roots`
        are what `roots(importer)` gives, for those who ask often.
        """
        name = module.lstrip(".")
        level = len(module) - len(name)
        parts = name.split(".") if name else []
        if level:
            folder = importer.parent
            for _ in range(level - 1):
                folder = folder.parent
            return self._below(folder, parts) if parts else self._initial(folder)
        found = self._absolute(parts, importer, self.roots(importer) if roots is None else roots)
        return found if found is None or self._is_own(found, importer) else None

    def roots(self, importer: Path, *, script: bool = False) -> tuple[Layout, ...]:
        """The folders that an absolute import in the file `importer` may start from, the likeliest first.

        A script's imports begin in its own folder, those of a package in the folder around it; since it is unknown
        which script is run, every folder up to the root is tried, the nearest first. `script` says that `importer`
        itself is run as a program, so that its folder counts even where that is a package. So does the root, from
        which programs are run whatever lies in it.
        """
        start = importer.parent
        outside = outside_packages(start)
        found = [Layout((start,), inner=True)] if script and outside != start else []
        if start.is_relative_to(self.root) and not outside.is_relative_to(self.root):
            found.append(Layout((self.root,), inner=True))
        for folder in upwards(outside, self.root):
            configured = layout_of(folder)
            folders = (folder, *((folder / _USUAL,) if has(folder, _USUAL) else ()), *configured.folders)
            found.append(Layout(tuple(dict.fromkeys(folders)), configured.packages))
        found.append(editable(self.root, self.python))
        return tuple(found)

    def member(self, package: Path, name: str) -> Path | None:
        """The file of the module `name` in the package that `locate` gave as `package`; None where it has none."""
        if package.name == "__init__.py":
            return self._step(package.parent, name)
        return None if package.suffix == ".py" else self._step(package, name)

    def is_file(self, path: Path) -> bool:
        """True if a file is on disk or open in the editor."""
        return os.path.isfile(path) or self.read(path) is not None

    def _absolute(self, parts: Sequence[str], importer: Path, roots: Sequence[Layout]) -> Path | None:
        if not parts or parts[0] in _BUILT_IN:
            return None
        standard = parts[0] in sys.stdlib_module_names
        spaces: list[Path] = []
        for root in roots:
            if root.inner and standard:
                continue
            for found in self._in(root, parts):
                if found.suffix != ".py":
                    spaces.append(found)
                elif found != importer:  # A module does not import itself: it wants the library that it is named after.
                    return found
        if spaces or standard:
            return None if standard else spaces[0]
        environment = hooked(self.root, self.python)
        return None if environment is None else self.ask(".".join(parts), importer, environment)

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

    def _package(self, path: Path) -> Path | None:
        """The file of a module's path: the folder of a package, or a file with or without `.py`."""
        single = path if path.suffix == ".py" else path.with_name(f"{path.name}.py")
        return single if self.is_file(single) else self._initial(path)

    def _initial(self, folder: Path) -> Path | None:
        initial = folder / "__init__.py"
        return initial if self.is_file(initial) else folder if os.path.isdir(folder) else None

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
        is_there = has(folder, name)
        initial = inner / "__init__.py"
        if (is_there and has(inner, "__init__.py") and os.path.isfile(initial)) or self.read(initial) is not None:
            return initial
        single = folder / f"{name}.py"
        if (has(folder, single.name) and os.path.isfile(single)) or self.read(single) is not None:
            return single
        return inner if is_there and os.path.isdir(inner) else None

    def _is_own(self, path: Path, importer: Path) -> bool:
        """True if a file is not an installed copy, or is one of the package that the importer belongs to."""
        installed = _installed_in(path)
        return installed is None or installed == _installed_in(importer)


def project_of(
    file: Path,
    python: str | None = None,
    read: Callable[[Path], str | None] = nothing,
    ask: Callable[[str, Path, Environment], Path | None] = no_module,
) -> Project:
    """The project that a file belongs to; `file` is absolute and need not exist."""
    return Project(find_root(file.parent), python, read, ask)


def _installed_in(path: Path) -> Path | None:
    """The folder of installed packages that contains a file, and the file's name there."""
    parts = path.parts
    for index, part in enumerate(parts[:-1]):
        if part in _INSTALLED:
            return Path(*parts[: index + 2])
    return None
