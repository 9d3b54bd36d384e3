"""Assignments by which a program means to freeze or to thaw something, and which set an attribute that nothing reads.

A module has no flag of its own: `layer.requires_grad = False` leaves its parameters as they are, and so
does a misspelt flag of a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.ownership import FlagMissed
from gradpath.interpreter.values import Value
from gradpath.support.lazy_regex import regex

FLAG = "requires_grad"
_MEANT = regex(r"^requi\w*_?grad\w*$")


def on_tensor(machine: Machine, tensor: Tensor, name: str, value: Value) -> None:
    """`weight.require_grad = False`."""
    if tensor.is_parameter and is_near(name):
        tell(machine, value, [tensor])


def tell(machine: Machine, value: Value, tensors: Iterable[Tensor], *, by_name: bool = False) -> None:
    """Note the parameters whose flag is another one than the program thinks that it sets."""
    missed = tuple(each for each in tensors if each.flag is not value)
    if isinstance(value, bool) and missed:
        machine.emit(FlagMissed(missed, value, machine.site(), by_name))


def is_near(name: str) -> bool:
    """True if a name is meant to be `requires_grad`, and is another one."""
    return name != FLAG and _MEANT.match(name) is not None
