"""Where a project keeps its packages, as its own configuration says."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from gradpath.names.folders import has, held
from gradpath.source.nodes import nodes
from gradpath.support import toml
from gradpath.support.fast_dataclasses import dataclass, field
from gradpath.support.lazy_regex import regex
from gradpath.support.reading import CONFIGURATION, read_text

REPOSITORY = (".git", ".hg", ".svn")
"""Markers of the root of a repository, which contains everything that may belong together."""

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "gradpath.toml", "requirements.txt")
"""Markers of the root of a project where there is no repository."""

NOTES = (".gitignore", "LICENSE", "LICENSE.txt", "Pipfile", "README", "README.md", "README.rst", "environment.yml")
"""Weak markers, which are mostly in the root of a project and sometimes below it: they count if there is no other."""

LEVELS = 12
"""The number of parent folders that are searched for a root."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Folders that modules are imported from, and packages that lie in a folder of another name.

    `inner` marks a folder that is itself a package, where modules may well be called like the standard library's.
    """

    folders: tuple[Path, ...] = ()
    packages: Mapping[str, Path] = field(default_factory=dict)
    inner: bool = False


def find_root(folder: Path) -> Path:
    """The root of the project that contains `folder`: the repository's, else the nearest with a marker, else its own.

    A folder that is a package is not a root itself: then it is the folder that contains the outermost package.
    """
    marked: Path | None = None
    noted: Path | None = None
    for each in (folder, *islice(folder.parents, LEVELS - 1)):
        found = held(each, _MARKS)
        if not _REPOSITORY.isdisjoint(found):
            return each
        if marked is None and not _MARKERS.isdisjoint(found):
            marked = each
        if noted is None and found:
            noted = each
    return marked or noted or outside_packages(folder)


_REPOSITORY = frozenset(REPOSITORY)
_MARKERS = frozenset(MARKERS)
_MARKS = (*REPOSITORY, *MARKERS, *NOTES)


def outside_packages(folder: Path) -> Path:
    """The nearest folder at or above `folder` that is no regular package: no import can name one called `my-code`."""
    while has(folder, "__init__.py") and folder.name.isidentifier() and folder.parent != folder:
        folder = folder.parent
    return folder


def layout_of(folder: Path) -> Layout:
    """The content of the configuration files in `folder`; a file is read again when it has changed."""
    found = [
        reader(folder, str(file), *stamp)
        for file, reader in ((folder / name, reader) for name, reader in _READERS.items() if has(folder, name))
        if (stamp := _stamp(file)) is not None
    ]
    folders = dict.fromkeys(path for layout in found for path in layout.folders)
    packages = {name: path for layout in found for name, path in layout.packages.items()}
    return Layout(tuple(folders), packages)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _of_pyproject(folder: Path, file: str, modified: int, size: int) -> Layout:
    try:
        tools = _table(toml.loads(read_text(file, CONFIGURATION)), "tool")
    except (OSError, ValueError):
        return Layout()
    setuptools = _table(tools, "setuptools")
    folders: list[object] = [
        *_list(_table(setuptools, "packages", "find").get("where")),
        *_list(_table(tools, "pytest", "ini_options").get("pythonpath")),
        *_list(_table(tools, "pyright").get("extraPaths")),
        *_list(_table(tools, "ruff").get("src")),
        *_list(_table(tools, "pdm", "build").get("package-dir")),
        *_list(_table(tools, "uv", "build-backend").get("module-root")),
    ]
    wheel = _table(tools, "hatch", "build", "targets", "wheel")
    folders += [os.path.dirname(str(package)) or "." for package in _list(wheel.get("packages"))]
    for entry in _list(_table(tools, "poetry").get("packages")):
        if isinstance(entry, Mapping) and "from" in entry:
            folders.append(entry["from"])
    return _layout(folder, folders, _table(setuptools, "package-dir"))


_SPACES = regex(r"(?<=\S)[ \t]+")
"""Spaces inside of a line: the reader of such files takes quadratic time for a long run of them."""


@lru_cache(maxsize=64)
def _of_setup_cfg(folder: Path, file: str, modified: int, size: int) -> Layout:
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(_SPACES.sub(" ", read_text(file, CONFIGURATION)))
    except (OSError, ValueError, configparser.Error):
        return Layout()
    pairs = [
        line.partition("=")[::2] for line in parser.get("options", "package_dir", fallback="").splitlines() if line
    ]
    where = parser.get("options.packages.find", "where", fallback="").split()
    return _layout(folder, list(where), {name.strip(): path.strip() for name, path in pairs})


@lru_cache(maxsize=64)
def _of_setup_py(folder: Path, file: str, modified: int, size: int) -> Layout:
    packages: dict[str, object] = {}
    folders: list[object] = []
    try:
        for node in nodes(ast.parse(read_text(file, CONFIGURATION, errors="replace"))):
            match node:
                case ast.keyword(arg="package_dir", value=value):
                    packages.update(_pairs(value))
                case ast.Assign(targets=[ast.Name(id="package_dir")], value=value):
                    packages.update(_pairs(value))
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _FINDERS:
                    where = [each.value for each in node.keywords if each.arg == "where"]
                    folders += [each.value for each in (*node.args[:1], *where) if isinstance(each, ast.Constant)]
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return Layout()
    return _layout(folder, folders, packages)


_FINDERS = ("find_packages", "find_namespace_packages")


def _pairs(node: ast.expr) -> Iterator[tuple[str, object]]:
    """The texts that a table, or a call of `dict`, maps to texts."""
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Constant):
                    yield key.value, value.value
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            yield from (
                (each.arg, each.value.value) for each in keywords if each.arg and isinstance(each.value, ast.Constant)
            )


_READERS: dict[str, Callable[[Path, str, int, int], Layout]] = {
    "pyproject.toml": _of_pyproject,
    "setup.cfg": _of_setup_cfg,
    "setup.py": _of_setup_py,
}


def _layout(folder: Path, folders: list[object], packages: Mapping[str, object]) -> Layout:
    """A layout from what a file says, paths being relative to its folder; `""` names the root of all packages."""
    named = {name: value for name, value in packages.items() if isinstance(value, str)}
    if "" in named:
        folders.append(named.pop(""))
    paths = [_below(folder, value) for value in folders if isinstance(value, str) and "*" not in value]
    return Layout(
        tuple(path for path in dict.fromkeys(paths) if path != folder),
        {name: _below(folder, value) for name, value in named.items()},
    )


def _below(folder: Path, value: str) -> Path:
    return Path(os.path.normpath(folder / value))


def _table(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The table at a path of names; an empty one where there is none."""
    for name in names:
        inner = data.get(name)
        if not isinstance(inner, Mapping):
            return {}
        data = inner
    return data


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def upwards(folder: Path, root: Path) -> Iterator[Path]:
    """`folder` and the folders above it up to `root`; `folder` alone where it does not lie in `root`."""
    yield folder
    if folder.is_relative_to(root):
        for parent in list(folder.parents)[:LEVELS]:
            if folder == root or not parent.is_relative_to(root):
                return
            yield parent
