"""Assignments by which a program means to freeze something, and which set an attribute that nothing reads.

A module has no flag of its own: `layer.requires_grad = False` leaves its parameters as they are, and so
does a misspelt flag of a parameter.
"""

from __future__ import annotations

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.ownership import FlagMissed
from gradpath.interpreter.values import Value
from gradpath.support.lazy_regex import regex

FLAG = "requires_grad"
_MEANT = regex(r"^requi\w*_?grad\w*$")


def on_module(machine: Machine, name: str, value: Value, tensors: list[Tensor]) -> None:
    """`layer.requires_grad = False`, of a module with those parameters."""
    missed = tuple(each for each in tensors if each.flag)
    if name == FLAG and value is False and missed:
        machine.emit(FlagMissed(missed, machine.site()))


def on_tensor(machine: Machine, tensor: Tensor, name: str, value: Value) -> None:
    """`weight.require_grad = False`."""
    if value is False and tensor.flag and tensor.is_parameter and is_near(name):
        machine.emit(FlagMissed((tensor,), machine.site()))


def is_near(name: str) -> bool:
    """True if a name is meant to be `requires_grad`, and is another one."""
    return name != FLAG and _MEANT.match(name) is not None
