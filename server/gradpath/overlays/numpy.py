"""NumPy, as far as it meets tensors: it refuses those that require grad, and what it gives has no graph."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.operations import tensors_in
from gradpath.overlays.tensor_methods import refuse_numpy

CONVERSIONS = (
    "array",
    "asarray",
    "mean",
    "sum",
    "std",
    "var",
    "median",
    "max",
    "min",
    "stack",
    "concatenate",
    "average",
)


def _converting(name: str) -> NativeFunction:
    def convert(machine: Machine, arguments: Arguments) -> Value:
        tensors = tensors_in(machine, tuple(arguments.positional[:1]))
        for tensor in tensors:
            refuse_numpy(machine, tensor)
        return machine.unknown("numpy array", None, tuple(arguments.all()))

    return NativeFunction(name, convert)


NAMES: Names = {f"numpy.{name}": _converting(name) for name in CONVERSIONS}
