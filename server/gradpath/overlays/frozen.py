"""Unknown models whose parameters the program freezes: what such a model makes of data may as well have no graph.

A model counts as frozen from `model.requires_grad_(False)`, the same (or `detach_()`) for each of
`model.parameters()`, or a call named for it, until a part of it is set free, or another part is put in.
"""

from __future__ import annotations

import re
from functools import cache

from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Object, Unknown, Value
from gradpath.overlays import weights
from gradpath.overlays.roles import role_of
from gradpath.patterns import regex

_FROZEN = "frozen model"

_FREEZING = regex(r"^_?(un)?freeze(_(all|grads?|model|module|net|network|parameters|params|weights))?$")
_SWITCHING = regex(r"^_?((set|toggle|switch|enable)_)?(requires_grads?|grads?)$", re.I)


def flag(machine: Machine, target: Unknown, value: Value, looked_up: int = 0) -> None:
    """`target.requires_grad_(value)`, or the assignment to the flag, on a model or on one of its parameters.

    One parameter stands for all, unless something was asked since it came up. `looked_up` attributes of it are no such
    question.
    """
    if role_of(target) == "model":
        models = [target]
    elif value is not False or machine.unknown_count <= target.number + looked_up:
        models = weights.models_of_parameter(target)
    else:
        models = []
    for model in models:
        _switch(machine, model, value)
        if isinstance(value, bool):
            weights.flag(machine, model, value)


def called(machine: Machine, callee: Unknown, arguments: Arguments) -> None:
    """`model.freeze()`, `freeze(model)`, `set_requires_grad([one, other], False)`, of which nothing is seen."""
    freezes, switches = _speaks(callee.name)
    values = arguments.all()
    if freezes is None and (not switches or len(values) != 2):
        return
    value: Value = values[1] if freezes is None else not freezes
    targets = [callee.owner] if freezes is not None and not values else values[:1]
    for target in targets:
        for each in target.items if isinstance(target, List) else [target]:
            if isinstance(each, Unknown) and role_of(each) == "model":
                _switch(machine, each, value)


@cache
def _speaks(name: str) -> tuple[bool | None, bool]:
    """Whether a name says to freeze (or, if false, to thaw), and whether it says to do what an argument tells."""
    freezing = _FREEZING.match(name)
    return None if freezing is None else not freezing[1], _SWITCHING.match(name) is not None


def _switch(machine: Machine, model: Unknown, value: Value) -> None:
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
    for tensor in weights.of(machine, model):
        tensor.flag = True


def is_frozen(machine: Machine, model: Unknown) -> bool:
    """Whether a model, or one that it is a part of, is frozen."""
    return any((_FROZEN, number) in machine.remembered for number in weights.line(model))
