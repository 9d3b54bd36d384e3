"""Quick imports of this package's own modules: where they are is known, and so is where their bytecode is.

Python looks for a module in five ways, in every folder again, and works out the path of its bytecode from that of its
source; for the four hundred small modules that a check loads this took a sixth of the time of a short file. Whatever is
not as usual, such as bytecode that is missing or older than its source, is left to Python.
"""

from __future__ import annotations

import io
import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from types import CodeType, ModuleType

PACKAGE, _, _ = __name__.partition(".")

_PLAIN = MAGIC_NUMBER + bytes(4)
"""How bytecode begins that belongs to a source of a certain time and size, which follow."""


class _Loader(SourceFileLoader):
    """Python's own loader, but for the way to the bytecode."""

    def __init__(self, name: str, path: str, cached: str) -> None:
        super().__init__(name, path)
        self.cached = cached

    def get_code(self, fullname: str) -> CodeType | None:
        """The bytecode of the module."""
        return _kept(self.path, self.cached) or super().get_code(fullname)


def _kept(path: str, cached: str) -> CodeType | None:
    """The bytecode that is kept of a source, if it is that of the source as it is."""
    try:
        source = os.stat(path)
        with io.FileIO(cached) as file:
            data = file.readall()
        stamp = b"".join((int(each) & 0xFFFF_FFFF).to_bytes(4, "little") for each in (source.st_mtime, source.st_size))
        code = marshal.loads(memoryview(data)[16:]) if data[:16] == _PLAIN + stamp else None
    except (OSError, EOFError, TypeError, ValueError):
        return None
    return code if isinstance(code, CodeType) and code.co_filename == path else None


class _Finder:
    """Finds the modules of this package beside those of it that are there already."""

    def __init__(self) -> None:
        self._listed: dict[str, tuple[frozenset[str], str, str]] = {}

    def find_spec(self, name: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where a module is, as Python asks each finder."""
        above, _, last = name.rpartition(".")
        if not above or name[: len(PACKAGE) + 1] != f"{PACKAGE}.":
            return None
        folder = os.path.dirname(sys.modules[above].__file__ or "")
        if f"{last}.py" in self._files(folder)[0]:
            return self._spec(name, folder, last)
        inner = f"{folder}{os.sep}{last}"
        if last in self._files(folder)[0] and "__init__.py" in self._files(inner)[0]:
            return self._spec(name, inner, "__init__")
        return None

    def _spec(self, name: str, folder: str, stem: str) -> ModuleSpec:
        _, before, after = self._files(folder)
        path, cached = f"{folder}{os.sep}{stem}.py", f"{before}{stem}{after}"
        spec = ModuleSpec(name, _Loader(name, path, cached), origin=path, is_package=stem == "__init__")
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        spec.has_location = True
        spec.cached = cached
        return spec

    def _files(self, folder: str) -> tuple[frozenset[str], str, str]:
        """The names in a folder, and what surrounds that of a module in the path of its bytecode."""
        known = self._listed.get(folder)
        if known is None:
            try:
                names = frozenset(os.listdir(folder))
            except OSError:
                names = frozenset()
            before, _, after = cache_from_source(f"{folder}{os.sep}-.py").rpartition("-.")
            known = self._listed[folder] = names, before, f".{after}"
        return known


def import_quickly() -> None:
    """From now on find the modules of this package before Python looks for them."""
    if getattr(sys.implementation, "cache_tag", None) and not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
