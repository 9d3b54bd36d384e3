"""What the names of the project's own modules mean."""

from __future__ import annotations

import ast
from pathlib import Path

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.modules import Allowance, Module
from gradpath.interpreter.values import UNDEFINED, Arguments, Value
from gradpath.names.files import Files
from gradpath.overlays.namespace import Names

_EMPTY = ast.Module([], [])


class ProjectModules:
    """The project's modules as one path sees them: each is run at most once on it."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._allowance = Allowance()
        self._known: dict[Path, Module | None] = {}

    def find(self, machine: Machine, name: str) -> Module | None:
        """The module that the code being run calls `name`; None where it is not the project's."""
        path = self._files.locate(name, machine.frame.path)
        return None if path is None else self._module(machine, path, name.lstrip("."))

    def _module(self, machine: Machine, path: Path, name: str) -> Module | None:
        if path not in self._known:
            self._known[path] = self._make(machine, path, name)
        return self._known[path]

    def _make(self, machine: Machine, path: Path, name: str) -> Module | None:
        checked = self._files.checked
        if path == self._files.path_of(checked.document.path):
            # Another module imports the checked one: it sees the names that are there by then, as in Python.
            return self._of(machine, path, name, checked.document.path, checked.tree)
        if path.suffix != ".py":
            return self._of(machine, path, name, str(path), _EMPTY)
        parsed = self._files.parsed(path)
        return None if parsed is None else self._of(machine, path, name, parsed.document.path, parsed.tree)

    def _of(self, machine: Machine, path: Path, name: str, shown: str, tree: ast.Module) -> Module:
        def member(machine: Machine, inner: str) -> Value:
            file = self._files.member(path, inner)
            found = None if file is None else self._module(machine, file, f"{name}.{inner}")
            return UNDEFINED if found is None else found

        checked = tree is self._files.checked.tree
        return Module(name, shown, tree, member, self._allowance, machine.globals if checked else None)


def _import_module(machine: Machine, arguments: Arguments) -> Value:
    name = arguments.get(0, "name")
    if isinstance(name, str) and not name.startswith("."):
        return machine.library.module(machine, name)
    return machine.unknown("module of a computed name")


NAMES: Names = {"importlib.import_module": _import_module}
