"""Optimizers that something unseen makes of parameters, or of a model, that the program hands it.

It has these parameters, or those that the model has then, and no others.
"""

from __future__ import annotations

import ast

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Attribute
from gradpath.interpreter.values import Arguments, Unknown, Value
from gradpath.overlays.presumed import model_parts, weights
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.optim import TORCH_OPTIM, OptimizerInstance, collect, note_given
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.overlays.torch.used_up import Drawn
from gradpath.source.index import inside, methods_called
from gradpath.source.nodes import last_name, noted

_TRAINING = frozenset({"step", "zero_grad"})
"""The methods by which a program uses an optimizer, and nothing else that is made of parameters."""


def note(machine: Machine, made: Unknown, arguments: Arguments) -> None:
    """Tell the trace which parameters `made` has, if the program hands them over and uses it as an optimizer."""
    if not _trains(machine):
        return
    parameters = [each for each in arguments.all() if _is_of_parameters(each)]  # `make(settings, net.parameters())`
    handed = parameters[0] if len(parameters) == 1 else arguments.get(0, "params", None)
    if not _is_of_parameters(handed):
        models = [each for each in arguments.all() if isinstance(each, ModuleInstance) or role_of(each) == "model"]
        if models in ([], [handed]) and _is_part(handed):
            models = [handed]
        elif len(models) != 1 or not _is_made_once(machine):
            return
        handed = machine.call(machine.attribute(models[0], "parameters"), Arguments())
    optimizer = OptimizerInstance(TORCH_OPTIM["SGD"])
    try:
        collect(machine, optimizer, handed, {})
    except AutogradError:
        return  # What a class that is not seen refuses is not known.
    given = note_given(machine, optimizer, made)
    if given.models:
        machine.remembered[weights.HANDED, made.number] = given.models


def _is_of_parameters(value: Value) -> bool:
    match value:
        case Drawn():
            return True
        case Unknown():
            return bool(model_parts.models_of_parameter(value))
        case TensorValue(tensor=tensor):
            return tensor.is_parameter
        case List(items=[_, *_] as items):
            return all(map(_is_of_parameters, items))
        case Dict():
            return _is_of_parameters(value.look_up("params"))
    return False


def _is_part(value: Value) -> bool:
    """True for an attribute of a network that is not seen, such as a list of parameters of a part of it."""
    match value:
        case Unknown(origin=Attribute(of=Unknown() as whole)):
            return role_of(whole) == "model"
    return False


def _trains(machine: Machine) -> bool:
    """True if what a call gives is bound to a name by which the body, or its class, calls all methods of an optimizer.

    An average of parameters has a step at the most.
    """
    function = machine.frame.function
    named = _targets(machine.body).get(machine.node)
    owner = None if function is None else function.owner
    bodies = [machine.body] if owner is None or owner.node is None else [machine.body, owner.node]
    return named is not None and any(named in _trainers(each) for each in bodies)


def _is_made_once(machine: Machine) -> bool:
    """True if the body has one such call: of two optimizers of a model each has a part, and it is not known which."""
    called = [last_name(each.func) for each in inside(machine.body, ast.Call)]
    return isinstance(machine.node, ast.Call) and called.count(last_name(machine.node.func)) == 1


@noted
def _targets(body: ast.AST) -> dict[ast.AST, str]:
    """The names that calls are bound to, also as attributes."""
    return {
        node.value: last_name(target)
        for node in inside(body, ast.Assign)
        if isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, (ast.Name, ast.Attribute))
    }


@noted
def _trainers(body: ast.AST) -> frozenset[str]:
    """The names on which a body calls all methods of an optimizer."""
    asked: dict[str, set[str]] = {}
    for owner, method, _ in methods_called(body):
        if method in _TRAINING:
            asked.setdefault(last_name(owner), set()).add(method)
    return frozenset(name for name, methods in asked.items() if methods == _TRAINING)
