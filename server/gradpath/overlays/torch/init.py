"""`torch.nn.init`: writes a tensor in place under `no_grad`."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.support.words import words

FUNCTIONS = words(
    """uniform normal trunc_normal constant ones zeros eye dirac xavier_uniform xavier_normal kaiming_uniform
    kaiming_normal orthogonal sparse"""
)


def _initialiser(name: str) -> NativeFunction:
    def initialise(machine: Machine, arguments: Arguments) -> Value:
        value = arguments.get(0, "tensor", None)
        if isinstance(value, TensorValue):
            machine.autograd.bump(value.tensor, f"torch.nn.init.{name}")
        return value

    return NativeFunction(name, initialise)


NAMES: Names = {
    f"torch.nn.init.{name}{suffix}": _initialiser(name + suffix) for name in FUNCTIONS for suffix in ("_", "")
}
