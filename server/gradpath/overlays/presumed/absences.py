"""Gradients that are certainly None: no unseen code can have run a backward that filled them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.provenance import OBSERVED, Presumption
from gradpath.autograd.tensor import Node, Tensor
from gradpath.interpreter.containers import everything_in
from gradpath.interpreter.events import BackwardRan, Cleared, GradientAbsent, GradientSet, Handed, Lent
from gradpath.interpreter.iteration import Iteration
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import stood_for
from gradpath.interpreter.values import Arguments, BoundMethod, Function, Instance, Unknown, Value
from gradpath.overlays.presumed import conditions, model_parts, weights
from gradpath.overlays.presumed.presumed_tensors import graph_sources
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.source.nodes import nodes
from gradpath.support.traversal import reachable


def is_absent(machine: Machine, tensor: Tensor) -> bool:
    """True if a tensor without a known gradient certainly has none."""
    if isinstance(tensor.provenance, Presumption) or tensor.is_open:
        return False  # What is presumed to have a graph may be a leaf as well.
    if tensor.node is not None:
        return tensor.is_result
    if not tensor.flag:
        return not tensor.aliasing_unsure
    if tensor.provenance is not OBSERVED or tensor.aliasing_unsure or tensor.left is not None:
        return False
    if weights.count_put_in(machine) > 0 or _is_run_unseen(machine, tensor):
        return False
    entry = machine.trace.entry
    own = isinstance(entry, ast.Module) or _was_made_in(machine, entry, tensor)
    taken = not own or not (_is_computed(tensor) or tensor.is_weight)  # It may be in all that it was taken from.
    handed = max((at for each, at in _handed(machine) if each is None or tensor in each.lineage()), default=-1)
    shown = any(each is None or tensor in each.lineage() for each, _ in _shown(machine))
    events = machine.trace.events
    for index in range(len(events) - 1, -1, -1):
        if index < handed:
            return False
        match events[index]:
            case Cleared(tensors=tensors, kept=kept) if any(each is tensor for each in tensors):
                return not kept
            case GradientSet(tensor=given) if given is tensor:
                return False
            case Lent():
                return False
            case BackwardRan(executed=executed) if (handed != -1 or taken) and any(map(_is_unseen, executed)):
                return False
            case BackwardRan(executed=executed) if shown and any(node.is_open for node in executed):
                return False
    return own and handed == -1


def note_absent(machine: Machine, tensor: Tensor, *presumed: Presumption) -> None:
    """A gradient is asked for that is None; it may depend on presumptions that there is none."""
    machine.absences[machine.node] = presumed
    machine.emit(GradientAbsent(tensor, machine.site()))


def is_cleared(machine: Machine, parameter: Unknown) -> bool:
    """True if the gradients of an unseen model were cleared, and no backward has filled that of `parameter` since.

    A model that was never called may be a part of any other one.
    """
    owners = model_parts.models_of_parameter(parameter)
    held = [tensor for model in owners for tensor in weights.of(machine, model)]
    clear = next((each for each in reversed(machine.trace.of(Cleared)) if held and held[0] in each.tensors), None)
    if clear is None or not all(each.flag and each.grad is None and is_absent(machine, each) for each in held):
        return False
    since = machine.trace.events[machine.trace.events.index(clear) :]
    used = any(weights.has_computed(machine, each) for each in owners)
    if not used and any(isinstance(each, BackwardRan) for each in since):
        return False
    owner = clear.owner
    said, whose = (conditions.CLEARED, owner) if isinstance(owner, Unknown) else (conditions.PARAMETER, owners[0])
    note_absent(machine, held[0], said.of(conditions.name_of(whose)))
    return True


def _is_run_unseen(machine: Machine, tensor: Tensor) -> bool:
    """True if a parameter is of a module that an object holds whose class has its methods from an unseen base."""
    held = (part for each in machine.run_unseen for part in each.attributes.values())
    modules = (each for each in held if isinstance(each, ModuleInstance))
    return any(value.tensor is tensor for each in modules for _, value in each.parameters())


def is_hidden(machine: Machine, tensor: Tensor) -> bool:
    """True if nothing that is not seen was given a tensor, but for models and losses, whose results show it."""
    if weights.count_put_in(machine) > 0 or may_be_used(machine, tensor):
        return False
    return not any(each is None or tensor in each.lineage() for each, _ in _handed(machine))


def is_in_no_other_graph(machine: Machine, tensor: Tensor) -> bool:
    """True if no graph leads to a tensor but those that are seen to; `is_hidden` says so of what was computed."""
    hidden = is_hidden(machine, tensor) and not _may_be_looked_up(machine, tensor)
    return hidden and (tensor.node is not None or _is_unused_leaf(machine, tensor))


def _may_be_looked_up(machine: Machine, tensor: Tensor) -> bool:
    """True if an unknown key was looked up in a dict, and a tensor may be its entry."""
    return any(isinstance(each, TensorValue) and each.tensor is tensor for each in stood_for(machine))


def with_gradients_of_their_own(machine: Machine) -> tuple[Tensor, ...]:
    """The leaves with a gradient that nothing unseen has got, so that none of it can clear that gradient."""
    runs = (run for run in machine.trace.of(BackwardRan) if run.call.accumulates)
    leaves = dict.fromkeys(node.accumulates for run in runs for node in run.call.givers)
    with_gradient = (leaf for leaf in leaves if leaf is not None and leaf.grad is not None)
    return tuple(leaf for leaf in with_gradient if _is_own_leaf(machine, leaf) and is_hidden(machine, leaf))


def _is_own_leaf(machine: Machine, leaf: Tensor) -> bool:
    """True if the running code made a leaf that is no parameter, and no unseen code may call a function with it."""
    entry = machine.trace.entry
    if leaf.is_weight or not _is_computed(leaf) or _FUNCTIONS in machine.remembered:
        return False
    return isinstance(entry, ast.Module) or _was_made_in(machine, entry, leaf)


def _is_unused_leaf(machine: Machine, leaf: Tensor) -> bool:
    """True if the running code made a leaf, and nothing that is not seen got a graph with it, or a function."""
    if not _is_own_leaf(machine, leaf):
        return False
    edge = machine.autograd.edge(leaf)
    shown = [node for each, _ in _shown(machine) if each is not None and (node := machine.autograd.edge(each))]
    return not any(each is edge for each in reachable(shown, lambda node: node.edges))


def _is_computed(leaf: Tensor) -> bool:
    """True if an operation has made a leaf, or a function like `torch.zeros`."""
    return bool(leaf.operation) or leaf.device is not None


_FUNCTIONS = "functions of the program were handed over"


def may_be_used(machine: Machine, tensor: Tensor) -> bool:
    """True if more may be computed from a tensor than is seen.

    It was stored in an object that is not seen, which may be a part of any module; or it is one of those that a loop
    made of which a few iterations represent all, as another loop does that would use them; or it is the entry of an
    unknown key.
    """
    if _may_be_looked_up(machine, tensor) or any(each is None or tensor in each.lineage() for each in _put(machine)):
        return True
    guessed = machine.late_loops.difference(number for number, _ in machine.loops())
    made = (number for each in tensor.lineage() for number, _ in getattr(each.origin, "loops", ()))
    return bool(guessed) and not guessed.isdisjoint(made)


def note_put(machine: Machine, value: Value) -> None:
    """A value was stored in an attribute or an item of what is not seen."""
    _put(machine).extend(found for each in everything_in(value) for found in _leading(machine, each))


def _put(machine: Machine) -> list[Tensor | None]:
    found = machine.remembered.setdefault("put in what is not seen", [])
    assert isinstance(found, list)
    return found


def _handed(machine: Machine) -> list[tuple[Tensor | None, int]]:
    """The tensors passed to unseen code (None for other values), with the number of events at that time."""
    found = machine.remembered.setdefault("handed over", [])
    assert isinstance(found, list)
    return found


def _shown(machine: Machine) -> list[tuple[Tensor | None, int]]:
    """The same for models and losses, whose results show the graph as long as these are followed."""
    found = machine.remembered.setdefault("shown to models", [])
    assert isinstance(found, list)
    return found


def note_handed(machine: Machine, arguments: Arguments, *, computes: bool) -> None:
    """Something that is not seen is called: it may run a backward through what it is handed, now or later.

    What only `computes` runs none, as a model or a loss, but gives a result with that graph.
    """
    at = len(machine.trace.events)
    if any(isinstance(each, Function | BoundMethod | Instance) for each in arguments.all()):
        machine.remembered[_FUNCTIONS] = True
    known = _shown(machine) if computes else _handed(machine)
    leading = [each for value in everything_in(*arguments.all()) for each in _leading(machine, value)]
    known.extend((each, at) for each in leading)
    kept = () if computes else tuple(each for each in leading if each is not None and each.node is not None)
    if kept:
        machine.emit(Handed(kept, machine.site()))


def note_anything_handed(machine: Machine) -> None:
    """Something that is not seen was handed values of which not all are known."""
    _handed(machine).append((None, len(machine.trace.events)))


def _leading(machine: Machine, value: Value) -> Iterator[Tensor | None]:
    """The tensors by which a value that is no container leads to a graph; None where it may lead to any."""
    match value:
        case TensorValue():
            yield from [value.tensor] if value.tensor.requires_grad else []
        case Unknown():
            yield from (each for each in graph_sources(machine, (value,)) if each.requires_grad)
        case Function():
            if any(isinstance(each, ast.Attribute) and each.attr == "backward" for each in nodes(value.node)):
                yield None
        case Instance() | BoundMethod() | Iteration():
            yield None


def _is_unseen(node: Node) -> bool:
    """True if a gradient that arrives at a node may reach anything that was handed to what is not seen."""
    return node.is_open or node.onward is not None


def _was_made_in(machine: Machine, entry: ast.AST, tensor: Tensor) -> bool:
    """True if the entered function made a tensor itself, so that no other code had it before."""
    first, last = getattr(entry, "lineno", 0), getattr(entry, "end_lineno", 0)
    frames = tensor.origin.frames()
    return any(each.path == machine.file and first < each.line <= last for each in frames)
