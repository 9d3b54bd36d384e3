"""The question of what something unknown gives, which the rows of `presumptions.py` answer."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Computed, Item, Made
from gradpath.interpreter.values import CONSTANTS, Arguments, BoundMethod, Function, Instance, Unknown, Value, is_data
from gradpath.overlays.presumed import conditions, plain_data
from gradpath.overlays.presumed.presumed_tensors import (
    graph_sources,
    is_of_frozen,
    note_gradients_off,
    presume_tensor,
)
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """The question of what an unknown value gives: when it is called, or for an index or an attribute (`key`).

    `role` is what the name of the unknown suggests.
    """

    machine: Machine
    unknown: Unknown
    role: str
    arguments: Arguments
    key: Value = None

    @property
    def grad_enabled(self) -> bool:
        return self.machine.autograd.grad_enabled

    @property
    def body(self) -> ast.AST:
        """The code that asks: a function, or what the path entered."""
        function = self.machine.frame.function
        return self.machine.trace.entry if function is None else function.node

    @property
    def has_graph(self) -> bool:
        """True if an argument has a graph, not only one of which nothing is seen."""
        given = graph_sources(self.machine, tuple(self.arguments.all()))
        return any(each.requires_grad and not (each.node is not None and each.node.is_open) for each in given)

    @property
    def is_cut_off(self) -> bool:
        """True if an argument was taken off a graph, or computed of what was."""
        given = graph_sources(self.machine, tuple(self.arguments.all()))
        return any(one.cut is not None for each in given for one in each.lineage())

    @property
    def is_of_tensors(self) -> bool:
        """True if an argument is known to be a tensor, with a graph or without."""
        return bool(graph_sources(self.machine, tuple(self.arguments.all())))

    @property
    def is_partly_detached(self) -> bool:
        """True if a graph is given to what is no part of a model, and a value that it returns is detached."""
        owner = self.unknown.owner
        if not self.grad_enabled or (owner is not None and role_of(owner)):
            return False
        return self.machine.node in plain_data.partly_detached(self.body) and self.has_graph


def has_graph(machine: Machine, values: Iterable[Value]) -> bool:
    """True if one of some values has a graph, or is presumed to."""
    return any(tensor.requires_grad for tensor in graph_sources(machine, tuple(values)))


def tells_of_graph(value: object) -> bool:
    """True if it is computed of whether something has a graph or a gradient of which that is not known."""
    if not isinstance(value, Unknown):
        return False
    match value.origin:
        case Attribute(of=Unknown() as of, name="requires_grad" | "grad_fn" | "is_leaf" | "grad"):
            return of.kind is not Kind.PARAMETER
        case Computed(made=Made.STATE):
            return True
        case Computed(sources=sources):
            return tells_of_graph(value.negates) or any(map(tells_of_graph, sources))
    return False


def has_default(value: object, outcome: bool) -> bool:
    """True if a value that is not known has a default, of which the truth is `outcome`."""
    return isinstance(value, Unknown) and isinstance(value.hint, CONSTANTS) and bool(value.hint) is outcome


def tells_of_word(value: object, of: bool = False) -> bool:
    """True if it is computed of a part of a text that has a default, as of what `spec.split("-")` gives."""
    if not isinstance(value, Unknown):
        return False
    part = of or isinstance(value.origin, Item)
    return (part and isinstance(value.hint, str)) or any(tells_of_word(each, part) for each in value.sources)


def is_open(value: Value) -> bool:
    """True if a value may have a graph of which nothing is seen: what made it may have parameters of its own."""
    if isinstance(value, (Instance, Function, BoundMethod)):
        return True  # A module that is handed to its loss.
    if isinstance(value, TensorValue):
        return value.tensor.is_open
    return isinstance(value, Unknown) and value.kind not in (Kind.PLAIN, Kind.CUT)


def computed_without_gradients(machine: Machine, made: Unknown, arguments: Arguments) -> None:
    """Note that something unseen was called while gradients are off, which it may have switched on again."""
    note_gradients_off(machine, made)
    if made.kind is Kind.ANYTHING and _computes_of_data(machine, made, arguments):
        made.kind, made.provenance = Kind.PLAIN, conditions.GRADIENTS_OFF.of(conditions.callee(made))
    if machine.autograd.inference:
        if made.kind is Kind.CUT:
            presume_tensor(machine, made)  # While the block lasts that marks it.
    elif made.kind is Kind.CUT or has_graph(machine, arguments.all()):
        machine.autograd.kept_off = conditions.GRADIENTS_OFF.of(conditions.callee(made))


def _computes_of_data(machine: Machine, made: Unknown, arguments: Arguments) -> bool:
    """True if no method, which may have kept a graph, gave it, and it got data that no frozen model made."""
    callee, given = made.sources[0], [each for each in arguments.all() if not is_data(each)]
    if (
        not isinstance(callee, Unknown)
        or callee.owner is not None
        or any(is_of_frozen(machine, each) for each in given)
    ):
        return False
    return bool(given) and all(isinstance(each, Unknown) and each.kind is Kind.PLAIN for each in given)
