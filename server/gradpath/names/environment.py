"""First-party code in the user's Python environment: packages installed in editable form.

Only files are read; no interpreter is started. Packages that are installed as a copy are third-party code and are not
examined.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gradpath.names.folders import has
from gradpath.names.import_hooks import hooked_packages
from gradpath.names.layout import Layout
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex
from gradpath.support.reading import CONFIGURATION, read_text

_FOLDERS = (".venv", "venv", "env", ".env")
_VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")


def editable(root: Path, python: str | None) -> Layout:
    """Folders and packages that the environment of the project at `root` imports from their sources.

    `python` is the setting: an interpreter or the folder of an environment, from `root` where it is relative. Without
    it a virtual environment in `root`, `VIRTUAL_ENV` and `CONDA_PREFIX` are tried, and the first that exists counts.
    """
    folders: dict[Path, None] = {}
    packages: dict[str, Path] = {}
    for site in environment_of(root, python).sites:
        found = _read(site).layout
        folders.update(dict.fromkeys(found.folders))
        packages.update(found.packages)
    return Layout(tuple(folders), packages)


def hooked(root: Path, python: str | None) -> Environment | None:
    """The project's environment, if it imports modules in a way that cannot be read from files, else None."""
    environment = environment_of(root, python)
    return environment if any(_read(site).hooked for site in environment.sites) else None


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python environment: its folder, and those of the packages that are installed in it."""

    prefix: Path
    sites: tuple[Path, ...] = ()

    def stamp(self) -> tuple[int, ...]:
        """When packages were last installed or removed; answers hold as long as this does."""
        return tuple(_modified(site) for site in self.sites)

    def folders(self) -> tuple[Path, ...]:
        """The folders that its Python imports from, apart from the standard library, as far as files say."""
        found = [path for site in self.sites for path in (site, *_read(site).layout.folders)]
        return tuple(dict.fromkeys(found))


def environment_of(root: Path, python: str | None) -> Environment:
    """The environment of the project at `root`; without packages where there is none."""
    for prefix in _prefixes(root, python):
        sites = _sites(prefix)
        if sites:
            return Environment(prefix, (*sites, *_shared_sites(prefix)))
    return Environment(root)


def _shared_sites(prefix: Path) -> Iterator[Path]:
    """Where the Python that a virtual environment was made with keeps its packages, if they count there too."""
    said = dict(map(_pair, _lines(prefix / "pyvenv.cfg")))
    if said.get("include-system-site-packages", "").lower() == "true" and os.path.isabs(said.get("home", "")):
        home = Path(said["home"])
        base = home.parent if home.name == "bin" else home
        yield from _sites(base)
        yield from _sites(base / "local")  # Where Debian has what pip installs.


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition("=")
    return key.strip().lower(), value.strip()


def _prefixes(root: Path, python: str | None) -> Iterator[Path]:
    if python:
        given = Path(os.path.normpath(root / os.path.expanduser(python)))
        inside = given.parent.name in ("bin", "Scripts")
        yield given if os.path.isdir(given) else given.parent.parent if inside else given.parent
        return
    for name in _FOLDERS:
        if has(root, name) and has(root / name, "pyvenv.cfg"):
            yield root / name
    for variable in _VARIABLES:
        if os.environ.get(variable):
            yield Path(os.environ[variable])


def _sites(prefix: Path) -> tuple[Path, ...]:
    found = []
    try:
        with os.scandir(prefix / "lib") as entries:
            versions = sorted(entry.name for entry in entries if entry.name.startswith("python"))
    except OSError:
        versions = []
    for version in versions:
        found += [prefix / "lib" / version / "site-packages", prefix / "lib" / version / "dist-packages"]
    found.append(prefix / "Lib" / "site-packages")
    return tuple(site for site in found if os.path.isdir(site))


@dataclass(frozen=True, slots=True)
class _Site:
    """The content of the files in a folder of installed packages; `hooked` if some of it is code to be run."""

    layout: Layout
    hooked: bool


def _read(site: Path) -> _Site:
    return _read_once(site, _modified(site))


def _modified(site: Path) -> int:
    try:
        return os.stat(site).st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=32)
def _read_once(site: Path, modified: int) -> _Site:
    """The files that pip, setuptools, hatch and others write for packages in editable form."""
    folders: dict[Path, None] = {}
    packages: dict[str, Path] = {}
    hooks: set[str] = set()
    try:
        names = sorted(os.listdir(site))
    except OSError:
        return _Site(Layout(), False)
    for name in names:
        if not name.endswith((".pth", ".egg-link")):
            continue
        for line in _lines(site / name):
            path = Path(os.path.normpath(site / line))
            if match := _HOOK.match(line):
                mapped = hooked_packages(site / f"{match[1]}.py")
                packages.update(mapped)
                hooks.update(() if mapped or match[1] in _HARMLESS else (match[1],))
            elif os.path.isdir(path) and not path.is_relative_to(site):
                folders[path] = None
    return _Site(Layout(tuple(folders), packages), bool(hooks))


def _lines(file: Path) -> list[str]:
    lines = [line.strip() for line in _text(file).splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


_HOOK = regex(r"import[ \t]+([\w.]+)")
_HARMLESS = frozenset({"_distutils_hack", "_virtualenv", "a1_coverage", "coverage", "os", "site", "sys", "types"})
"""Modules that environments import at their start for other reasons than to find packages."""


def _text(file: Path) -> str:
    try:
        return read_text(file, CONFIGURATION, errors="replace")
    except OSError:
        return ""
