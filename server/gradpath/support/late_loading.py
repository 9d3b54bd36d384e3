"""Packages whose modules are loaded when a function of theirs is called, and not when it is imported.

A check loads far more code than it runs: a program without a fault needs no fix. A package that calls `load_late` in
its `__init__` is imported as any other, but `from package.module import function` gives a stand-in: its first call
loads the module, and puts the functions in the place of all stand-ins that were imported, so that later calls are
plain ones. Whatever begins with a capital, a class or a constant, is needed at once and loads the module where it is
imported, and so does whatever is asked of the module inside a function. So the modules of such a package do nothing on
import but define, and their lower-case names are functions (`tests/support/test_late_loading.py`).

The check of a right program takes a sixth to a fifth less time with it, that of a faulty one a sixteenth
(`python -m bench`); `lazy import`, which Python 3.15 brings, does the same without any of this.
"""

from __future__ import annotations

import sys
from _thread import RLock
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_PACKAGES: set[str] = set()
_LOADING = RLock()


def load_late(package: str) -> None:
    """Load the modules of a package on their first use; those that are loaded already stay as they are."""
    if not _PACKAGES:
        sys.meta_path.insert(0, _Finder)
    _PACKAGES.add(package)


def load(module: ModuleType) -> None:
    """Execute the code of a module that has been left for later; of any other, do nothing."""
    with _LOADING:
        if not isinstance(module, LateModule):
            return
        stand_ins = module.__dict__.pop("_stand_ins")
        loader: Any = module.__dict__.pop("_code")
        object.__setattr__(module, "__class__", ModuleType)
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = loader
        loader.exec_module(module)
        for importer, stand_in in stand_ins:
            stand_in.function = getattr(module, stand_in.name)
            names = [name for name, value in importer.items() if value is stand_in]
            importer.update(dict.fromkeys(names, stand_in.function))


class LateModule(ModuleType):
    """A module that has not been executed; `load` makes a plain one of it."""

    _stand_ins: list[tuple[dict[str, Any], _StandIn]]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # Not of the program: the import system asks for what a module may lack.
            raise AttributeError(name)
        asking = sys._getframe(1)
        if asking.f_code.co_name != "<module>" or not name.lstrip("_")[:1].islower():
            load(self)
            return getattr(self, name)
        stand_in = _StandIn(self, name)
        self._stand_ins.append((asking.f_globals, stand_in))
        return stand_in

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("__"):
            load(self)
        ModuleType.__setattr__(self, name, value)


class _StandIn:
    """A function of a late module, for whoever imported it before the module was loaded."""

    __slots__ = ("_module", "function", "name")

    def __init__(self, module: ModuleType, name: str) -> None:
        self._module, self.name = module, name
        self.function: Any = None

    def __call__(self, *arguments: object, **keywords: object) -> object:
        return self._function()(*arguments, **keywords)

    def __getattr__(self, name: str) -> object:
        return getattr(self._function(), name)

    def _function(self) -> Any:
        load(self._module)
        return self.function


class _Finder:
    """Finds the modules of late packages where Python would, and has them made and not executed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: object = None) -> ModuleSpec | None:
        if name.rpartition(".")[0] not in _PACKAGES:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None and spec.submodule_search_locations is None:
            later: Any = _Later(spec.loader)
            spec.loader = later
        return spec


class _Later:
    """The loader that leaves the code of a module to another one, which has it executed later."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = LateModule(spec.name)
        module.__dict__.update(_stand_ins=[], _code=self._loader)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave it."""
