"""Models that take the place of others in a variable: an optimizer that was made before has the old parameters."""

from __future__ import annotations

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.containers import everything_in
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call
from gradpath.interpreter.values import Instance, Unknown, Value
from gradpath.overlays.presumed.clearing import dotted_name
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.nn import ModuleInstance, tensors_of


def note_successor(machine: Machine, model: Unknown, before: Value) -> None:
    """A variable that held `before` has got another value; remember it if both are models, of which one is new."""
    if before is model or not _is_made_apart(model, before):
        return
    match before:
        case ModuleInstance():
            first = next(iter(tensors_of(before.parameters())), None)
            machine.remembered["successor", model.number] = first
        case Unknown() if role_of(before) == "model":
            machine.remembered["successor", model.number] = before


def predecessor(machine: Machine, model: Unknown) -> Unknown | Tensor | None:
    """The model that is not seen, or a parameter of the one that is, whose place in a variable a model took."""
    found = machine.remembered.get(("successor", model.number))
    return found if isinstance(found, (Unknown, Tensor)) else None


def _is_made_apart(model: Unknown, before: Value) -> bool:
    """True if a model was loaded, or made by a class or as the one before, of nothing that may hold that one."""
    match model.origin:
        case Call(of=Unknown() as callee):
            same = isinstance(before, Unknown) and isinstance(before.origin, Call) and before.origin.of is callee
            name = dotted_name(callee)
            makes = name == "torch.load" or name.rpartition(".")[2][:1].isupper() or (same and callee.owner is None)
            return makes and not any(_may_hold(each) for each in everything_in(*model.sources[1:]))
    return False


def _may_hold(argument: Value) -> bool:
    return isinstance(argument, Instance) or (isinstance(argument, Unknown) and role_of(argument) == "model")
