"""`dataclasses.replace` and `copy.replace`: the same object with other values for some fields."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Instance, Value
from gradpath.overlays.namespace import Names


def replace(machine: Machine, arguments: Arguments) -> Value:
    """`replace(obj, **changes)`."""
    source = arguments.get(0, "obj", None)
    if not isinstance(source, Instance):
        return machine.unknown("replace", None, tuple(arguments.all()))
    made = source.cls.create(machine)
    made.attributes.update(source.attributes)
    made.attributes.update({name: value for name, value in arguments.keywords.items() if name != "obj"})
    return made


NAMES: Names = {"dataclasses.replace": replace, "copy.replace": replace}
