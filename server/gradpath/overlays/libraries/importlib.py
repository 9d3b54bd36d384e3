"""`importlib.import_module`: the module of a name that is known."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Value
from gradpath.overlays.namespace import Names


def _import_module(machine: Machine, arguments: Arguments) -> Value:
    name = arguments.get(0, "name")
    if isinstance(name, str) and not name.startswith("."):
        return machine.library.module(machine, name)
    return machine.unknown("module of a computed name")


NAMES: Names = {"importlib.import_module": _import_module}
