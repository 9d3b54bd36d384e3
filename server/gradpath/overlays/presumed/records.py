"""Records of what an agent saw, did and got: what is learnt from them is data, as the observations are."""

from __future__ import annotations

from gradpath.autograd.ops import find_op
from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Call, Computed, Item, Made
from gradpath.interpreter.values import Unknown, Value, is_data
from gradpath.overlays.presumed import conditions

_RECORD = "holds what a network was called with"
"""With the number of an unknown, the key under which a path remembers that it holds observations."""


def note(machine: Machine, given: Value) -> None:
    """A network was called with a part of something: that holds observations."""
    match given:
        case Unknown(origin=Attribute(of=Unknown() as whole) | Item(of=Unknown() as whole)):
            machine.remembered[_RECORD, whole.number] = True


def presume_weight(machine: Machine, score: Tensor, weight: Value) -> None:
    """`ratio * advantage`: what weighs a log-probability that was cut off is data, if it comes from such a record.

    An advantage comes from the record that has the observations and actions. Where the log-probability has a graph,
    nothing is presumed.
    """
    if score.requires_grad or score.is_open or not machine.autograd.grad_enabled:
        return
    if not isinstance(weight, Unknown) or weight.is_data or weight.kind is not Kind.ANYTHING:
        return
    scored = any(each.operation.endswith("log_prob") for each in score.lineage())
    if scored and _is_recorded(machine, weight) and any(each.cut is not None for each in score.lineage()):
        weight.kind, weight.provenance = Kind.PLAIN, conditions.DATA.of(conditions.name_of(weight))


def _is_recorded(machine: Machine, value: object) -> bool:
    """True if a value is a part of what holds observations, or is computed of such parts and numbers alone."""
    if not isinstance(value, Unknown):
        return is_data(value)
    if value.is_data or value.kind is Kind.PLAIN:
        return True
    if value.kind is not Kind.ANYTHING or value.tensor is not None:
        return False
    match value.origin:
        case Attribute(of=Unknown() as whole) | Item(of=Unknown() as whole):
            return (_RECORD, whole.number) in machine.remembered
        case Call(of=Unknown() as owner, name=name, arguments=arguments) if find_op(f"torch.Tensor.{name}") is not None:
            return all(_is_recorded(machine, each) for each in (owner, *arguments))
        case Computed(sources=sources, made=Made.ARITHMETIC):
            return all(_is_recorded(machine, each) for each in sources)
    return False
