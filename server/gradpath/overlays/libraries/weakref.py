"""`weakref`: nothing that the program still uses is taken away, so that a weak reference is as good as the thing."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import make_dict
from gradpath.interpreter.values import Arguments, NativeFunction, Value
from gradpath.overlays.namespace import Names


def _reference(machine: Machine, arguments: Arguments) -> Value:
    """`ref(x)`: called, it gives `x`."""
    value = arguments.get(0, "object", None)
    return NativeFunction("ref", lambda machine, arguments: value)


NAMES: Names = {
    "weakref.WeakKeyDictionary": make_dict,
    "weakref.WeakValueDictionary": make_dict,
    "weakref.ref": _reference,
    "weakref.proxy": lambda machine, arguments: arguments.get(0, "object", None),
}
