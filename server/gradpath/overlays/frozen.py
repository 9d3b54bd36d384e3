"""Unknown models whose parameters the program freezes: what such a model makes of data may as well have no graph.

A model counts as frozen from `model.requires_grad_(False)`, or the same for each of `model.parameters()`, until a part
of it is set free, or another part is put in.
"""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Object, Unknown, Value
from gradpath.overlays import weights
from gradpath.overlays.roles import role_of

_FROZEN = "frozen model"


def flag(machine: Machine, target: Unknown, value: Value) -> None:
    """`target.requires_grad_(value)`, or the assignment to the flag, on a model or on one of its parameters."""
    models = [target] if role_of(target) == "model" else weights.models_of_parameter(target)
    for model in models:
        if value is False:
            machine.remembered[_FROZEN, model.number] = True
        else:
            thaw(machine, model)


def part_set(machine: Machine, model: Unknown, value: Value) -> None:
    """`model.part = value`: a new part has parameters of its own."""
    if isinstance(value, Object) and not (isinstance(value, Unknown) and value.is_data):
        thaw(machine, model)


def thaw(machine: Machine, model: Unknown) -> None:
    """Some of the model's parameters, or of those that it is a part of, are trained again."""
    for number in weights.line(model):
        machine.remembered.pop((_FROZEN, number), None)


def is_frozen(machine: Machine, model: Unknown) -> bool:
    """Whether a model, or one that it is a part of, is frozen."""
    return any((_FROZEN, number) in machine.remembered for number in weights.line(model))
