"""Criteria that nothing calls: what they are given is presumed to be a prediction, which has a graph, and its target.

A function or class is a criterion by its name, which is all that a loss function posted alone says of itself.
"""

from __future__ import annotations

import ast

from gradpath.autograd.backward import backward
from gradpath.autograd.tensor import SWITCHED_OFF, Tensor
from gradpath.interpreter.entered import Entered
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Unknown, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.roles import TARGET, role_of, role_of_name
from gradpath.overlays.torch.operations import tensors_in
from gradpath.source.index import holds, inside, methods_called, variables
from gradpath.source.nodes import Definition, last_name, noted
from gradpath.support.lazy_regex import regex

_WORDS = regex(r"(?<![a-z])(loss|criterion|objective)(?![a-z])|Loss(?![a-z])|Criterion(?![a-z])|loss$")
_OTHERWISE = regex(r"_?(build|create|load|log|make|parse|plot|print|record|save|setup|show|write)_")
"""Names of functions that do something with a criterion, or by one: `create_mask_level_criterion`."""

_METHODS = ("forward", "__call__")


def is_criterion(function: Definition, owner: str | None) -> bool:
    """True if a function is called a loss, or is what calling an instance of a class that is called one runs."""
    if owner is not None and function.name in _METHODS:
        return _WORDS.search(owner) is not None
    return _WORDS.search(function.name) is not None and _OTHERWISE.match(function.name) is None


@noted
def predictions(function: Definition) -> frozenset[str]:
    """The parameters of a criterion that may be predictions: without a default, not called a target, and no model.

    None of what becomes an array as it is: NumPy refuses what has a graph.
    """
    spec = function.args
    required = [*spec.posonlyargs, *spec.args][: len(spec.posonlyargs) + len(spec.args) - len(spec.defaults)]
    given = [each.arg for each in required if each.arg not in ("self", "cls")]
    if any(role_of_name(name) in ("model", "loader") for name in given):
        return frozenset()
    return frozenset(name for name in given if not TARGET.match(name)) - _arrays(function)


def _arrays(function: Definition) -> frozenset[str]:
    """The names of what a function hands to NumPy with its graph: `x.cpu().numpy()`."""
    found = set()
    for owner, method, _ in methods_called(function):
        value = owner
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr != "detach":
            value = value.func.value
        if method == "numpy" and isinstance(value, ast.Name):
            found.add(value.id)
    return frozenset(found)


def presume(machine: Machine, argument: ast.arg, made: Value, default: Value) -> None:
    """Presume of a parameter that it has a graph, or that it has none, as criteria are given."""
    if not isinstance(made, Unknown) or made.is_data or default is not UNDEFINED or role_of(made):
        return
    if argument.arg in machine.predictions:
        made.kind, made.provenance = Kind.LIVE, conditions.PREDICTION.of(argument.arg)
    elif TARGET.match(argument.arg):
        made.kind, made.provenance = Kind.PLAIN, conditions.DATA.of(argument.arg)


def back_propagate(machine: Machine, entered: Entered, result: Value) -> None:
    """Run a backward through the loss that a criterion has returned, also where that has no graph."""
    function, tensors = entered.function, tensors_in(machine, result)
    roots = [each for each in tensors if each.node is not None]
    owner = None if function.owner is None else function.owner.name
    if not roots and isinstance(function.node, Definition) and is_criterion(function.node, owner):
        roots = tensors[:1]
    if roots and not _is_cut_on_purpose(roots[0]) and not _is_made_while_off(roots[0], function.node):
        engines.at_result(machine, function, lambda: backward(machine.autograd, roots, seeds=()))


def _is_cut_on_purpose(loss: Tensor) -> bool:
    """True if a loss is computed or handed out without its graph, as a number for the log is."""
    return loss.cut is not None and loss.cut.how.rpartition(".")[2] in _ON_PURPOSE


def _is_made_while_off(loss: Tensor, function: ast.AST) -> bool:
    """True if the function itself switches gradients off for the operation that gives the loss."""
    blocks = [each for each in inside(function, ast.With) if _switches_off(each)]
    return any(holds(block, frame.node) for frame in loss.origin.frames() for block in blocks)


def _switches_off(block: ast.With) -> bool:
    heads = [name for item in block.items for name in variables(item.context_expr)]
    return any(last_name(each) in SWITCHED_OFF for each in heads)


_ON_PURPOSE = frozenset({"data", "detach", "inference_mode", "no_grad"})
