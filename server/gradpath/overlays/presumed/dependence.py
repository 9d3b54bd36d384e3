"""On which weights of unseen models a value may depend, though no call of a model gave it: `model.encode(x)`."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.iteration import Container
from gradpath.interpreter.kinds import OF_TENSORS
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Call, Item
from gradpath.interpreter.values import Instance, Unknown, Value
from gradpath.overlays.presumed import uses, weights
from gradpath.overlays.presumed.roles import role_of

DEEPEST = 6
"""Steps from a value to what it came from."""


def hearsay(machine: Machine, unknown: Unknown) -> list[Tensor]:
    """A tensor that may have a graph with the weights that a value may depend on; empty if there are no such weights.

    No backward through the value runs through it.
    """
    found: dict[Unknown, None] = {}
    match unknown.origin:
        case Call(of=Unknown() as callee) if role_of(callee) == "model" and not uses.is_inherited(callee):
            values = unknown.sources[1:]  # Its own weights are on the graph of what it gives.
        case Attribute() | Item() if unknown.kind in OF_TENSORS:
            values = ()
        case _:
            values = unknown.sources
    if _collect(machine, values, found, DEEPEST):
        found |= dict.fromkeys(weights.models(machine))
    sources = [weights.weights_of(machine, model) for model in found]
    return [machine.autograd.presumed(list(dict.fromkeys(sources)))] if sources else []


def _collect(machine: Machine, values: Sequence[Value], found: dict[Unknown, None], depth: int) -> bool:
    """The models upstream of some values other than tensors, and whether there is an object that may hold any."""
    holds_any = False
    for value in values:
        machine.budget.spend()
        match value:
            case Unknown() if value.is_data or value.tensor is not None:
                pass
            case Unknown() if role_of(value) == "model":
                found[value] = None
            case Unknown() if depth:
                holds_any |= _collect(machine, value.sources, found, depth - 1)
            case tuple() if depth:
                holds_any |= _collect(machine, value, found, depth - 1)
            case Container() if depth:
                holds_any |= _collect(machine, tuple(value.parts()), found, depth - 1)
            case Instance():
                holds_any = True
    return holds_any
