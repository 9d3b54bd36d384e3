"""The assumptions of the configuration about calls whose code is not seen (`assume`)."""

from __future__ import annotations

from collections.abc import Mapping

from gradpath.autograd.provenance import of_any
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call
from gradpath.interpreter.values import Arguments, Unknown, Value
from gradpath.overlays.presumed.clearing import dotted_name
from gradpath.overlays.presumed.presumed_tensors import graph_sources
from gradpath.overlays.torch.tensor_value import TensorValue, wrap

Assumptions = Mapping[str, tuple[str, ...]]
"""`differentiable`, `pure` and `backward`, each with the names of calls: whole dotted names, or their last parts."""


def assumed_call(machine: Machine, assume: Assumptions, unknown: Unknown, arguments: Arguments) -> Value:
    """The result of a call about which something is assumed, else NotImplemented."""
    name = dotted_name(unknown)
    for kind, calls in assume.items():
        if any(name == call or name.endswith(f".{call}") for call in calls):
            match kind:
                case "backward":
                    return _backward(machine, arguments)
                case "differentiable":
                    return _differentiable(machine, unknown, arguments)
                case "pure":
                    return machine.unknown_from(Call(unknown, unknown.name, tuple(arguments.all())))
    return NotImplemented


def _backward(machine: Machine, arguments: Arguments) -> Value:
    """The call is `backward()` on the first of its arguments that has a graph."""
    for value in arguments.all():
        tensors = graph_sources(machine, (value,)) if isinstance(value, (TensorValue, Unknown)) else []
        if any(tensor.requires_grad for tensor in tensors):
            kept = {name: value for name, value in arguments.keywords.items() if name == "retain_graph"}
            return machine.call(machine.attribute(wrap(tensors[0]), "backward"), Arguments([], kept))
    return None


def _differentiable(machine: Machine, unknown: Unknown, arguments: Arguments) -> Value:
    """Return a result that depends on the graphs of the arguments."""
    sources = graph_sources(machine, tuple(arguments.all()))
    if not machine.autograd.grad_enabled or not any(tensor.requires_grad for tensor in sources):
        return machine.unknown_from(Call(unknown, unknown.name, tuple(arguments.all())))
    made = machine.autograd.presumed(sources, name=unknown.name or "call")
    made.provenance = of_any(tensor.provenance for tensor in sources if tensor.requires_grad)
    if made.node is not None:
        made.node.provenance = made.provenance
    return wrap(made)
