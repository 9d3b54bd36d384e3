"""The meaning of names of the project's own modules."""

from __future__ import annotations

import ast
from pathlib import Path

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.modules import Allowance, Module
from gradpath.interpreter.values import UNDEFINED, Value
from gradpath.names.files import Files
from gradpath.overlays.relevance import is_chore

_EMPTY = ast.Module([], [])


class ProjectModules:
    """The project's modules as one path sees them: each is run at most once on it."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._allowance = Allowance()
        self._known: dict[Path, Module] = {}
        self._found: dict[tuple[str, str], Module | None] = {}

    @property
    def tree(self) -> ast.Module:
        """The tree of the checked file."""
        return self._files.checked.tree

    def find(self, machine: Machine, name: str) -> Module | None:
        """The module that the code being run calls `name`; None where it is not the project's."""
        key = name, machine.frame.path
        if key not in self._found:
            path = self._files.locate(*key)
            self._found[key] = None if path is None else self._module(machine, path, name.lstrip("."))
        return self._found[key]

    def _module(self, machine: Machine, path: Path, name: str) -> Module:
        if path not in self._known:
            self._known[path] = self._make(machine, path, name)
        return self._known[path]

    def _make(self, machine: Machine, path: Path, name: str) -> Module:
        def member(machine: Machine, inner: str) -> Value:
            file = self._files.member(path, inner)
            return UNDEFINED if file is None else self._module(machine, file, f"{name}.{inner}")

        def read() -> ast.Module:
            parsed = self._files.parsed(path)
            return _EMPTY if parsed is None else parsed.tree

        def is_opaque(statement: ast.stmt) -> bool:
            parsed = self._files.parsed(path)
            return parsed is not None and is_chore(statement, parsed.document.text)

        # Where another module imports the checked one, it sees the names that are there by then, as in Python.
        checked = path == self._files.path_of(self._files.checked.document.path)
        scope = machine.globals if checked else None
        return Module(name, self._files.shown(path), read, is_opaque, member, self._allowance, scope)
