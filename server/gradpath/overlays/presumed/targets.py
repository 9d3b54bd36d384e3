"""Targets of losses: a target that the caller passes is presumed to be data."""

from __future__ import annotations

from collections.abc import Mapping

from gradpath.autograd.ops import find_op
from gradpath.autograd.tensor import SWITCHED_OFF, Tensor
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Call, Item, Parameter, Undefined
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.presumed import conditions, weights
from gradpath.overlays.presumed.presumed_tensors import presume_tensor
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.tensor_value import TensorValue

_EITHER = frozenset({"huberloss", "l1loss", "mseloss", "smoothl1loss"})
"""Losses whose arguments may change places: what is computed without gradients is as likely the target itself."""

_ON_PURPOSE = SWITCHED_OFF | {"detach"}


def presume(machine: Machine, name: str, given: Mapping[str, Value]) -> None:
    """`loss(input, target)`: if the prediction was cut off, a target from the caller is presumed to have no graph.

    The `name` is that of the function or class of the loss, "" for a criterion that is not seen, and for a difference.
    Without a cut, nothing is presumed: a backward through the loss may be all about the target.
    """
    prediction, target = given.get("input"), given.get("target")
    if isinstance(prediction, Unknown) and prediction.kind is Kind.CUT:
        prediction = presume_tensor(machine, prediction)
    if not isinstance(target, Unknown) or not isinstance(prediction, TensorValue) or not _is_handed_over(target):
        return
    either = not name or name.rpartition(".")[2].replace("_", "").lower() in _EITHER
    either = either and (weights.FED, target.number) not in machine.remembered  # Data: a model was called with it.
    if is_cut_off(prediction.tensor, deliberately=either) and machine.autograd.grad_enabled:
        target.kind, target.provenance = Kind.PLAIN, conditions.DATA.of(conditions.name_of(target))


def is_cut_off(tensor: Tensor, *, deliberately: bool) -> bool:
    """True if an input of a tensor lost its graph; `deliberately` leaves out blocks without gradients."""
    if tensor.requires_grad or tensor.is_open:
        return False
    cuts = [each.cut for each in tensor.lineage() if each.cut is not None]
    return any(not (deliberately and cut.how.rpartition(".")[2] in _ON_PURPOSE) for cut in cuts)


def _is_handed_over(value: Unknown) -> bool:
    """True if a caller, or what a snippet leaves out, gives it: a parameter, a name that nothing binds, a part of one.

    What a tensor's method made of such a thing is one, too.
    """
    if value.kind is not Kind.ANYTHING or value.tensor is not None or value.is_data:
        return False
    while not role_of(value):
        match value.origin:
            case Parameter() | Undefined():
                return True
            case Item(of=Unknown() as whole) | Attribute(of=Unknown() as whole):
                value = whole
            case Call(of=Unknown() as whole, name=name) if find_op(f"torch.Tensor.{name}") is not None:
                value = whole
            case _:
                return False
    return False
