"""Parameters that are annotated with a class of the program: instances of it, of which the fields are unknown."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Named, OfClass
from gradpath.interpreter.filling import fill, filling_of
from gradpath.interpreter.iteration import SOME
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.receivers import presumed_instance
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, Function, Instance, Value
from gradpath.overlays.presumed.fitting import class_of_items, fitting_class, is_used_by_its_methods, read_for
from gradpath.overlays.presumed.parameter_uses import usage_in
from gradpath.overlays.presumed.unknowns import unknown_parameter
from gradpath.overlays.torch.nn import MODULE, ModuleInstance

_MAKING = "instances of annotated classes that are being made"


def annotated_parameter(
    machine: Machine, function: Function, argument: ast.arg, default: Value, tree: ast.Module | None
) -> Value:
    """The presumed instance for a parameter without an argument; `UNDEFINED` if its class is unknown.

    Its class is that of the annotation, or the only class of the checked file `tree` that fits; one that fits its items
    makes it a list of instances. Of a class with an unseen base that is no module, or without a `forward` of its own
    where more than its methods is used, less would be known than of an unknown value. The path decides whether it is
    one: another path shows what does not depend on that.
    """
    if default is not UNDEFINED and not isinstance(default, Instance):
        return UNDEFINED
    fitted = argument.annotation is None
    if fitted:
        cls: Value = fitting_class(function, tree, argument) if tree is not None and default is UNDEFINED else None
        machine.surveyed.update(() if tree is None else read_for(function, tree))
    elif isinstance(argument.annotation, ast.Name):
        cls = function.scope.get(argument.annotation.id)
    else:
        return UNDEFINED
    several = cls is None and fitted and tree is not None
    if several and tree is not None:
        cls = class_of_items(function, tree, argument)
    if not isinstance(cls, Class) or cls.node is None or (cls.open and MODULE not in cls.mro):
        return UNDEFINED
    making = machine.remembered.setdefault(_MAKING, set())
    assert isinstance(making, set)
    if cls in making or any(base.name in ("ABC", "Protocol") for base in cls.mro):
        return UNDEFINED
    if not machine.path.decide(OfClass(argument, cls.name, fitted, several), argument, True, machine.site, idle=True):
        return UNDEFINED
    making.add(cls)
    try:
        if several:
            return List([_another(machine, function, cls) for _ in range(SOME)])
        made = _instance(machine, function, cls)
        if tree is not None:
            _fill(machine, made, usage_in(function, argument.arg, tree).methods)
    finally:
        making.discard(cls)
    if isinstance(made, ModuleInstance) and not fitted and not _has_forward(cls):
        machine.surveyed.update(() if tree is None else read_for(function, tree))
        if tree is None or not is_used_by_its_methods(function, tree, argument, cls):
            return UNDEFINED
    if not isinstance(made, ModuleInstance):
        return made
    if making:
        made.borrowed = True
        return made  # A part of what is being made belongs to that.
    machine.emit(Named(argument.arg, made, machine.site()))
    return made


def _fill(machine: Machine, made: Instance, asked: Collection[str]) -> None:
    """Call the methods that alone fill what those read that are `asked`: `cache.batches()` comes after `fill()`."""
    reading = (each for each in map(made.cls.find, asked) if isinstance(each, Function))
    filling = {name: filled for each in reading for name, filled in filling_of(made, each.node).items()}
    fill(machine, made, {name: filled for name, filled in filling.items() if name not in asked}, {})


def _another(machine: Machine, function: Function, cls: Class) -> Instance:
    """An instance that shares no model and no optimizer with those that were made before."""
    for argument in _arguments_of(cls):
        machine.unknowns.pop(("parameter", argument), None)
    return _instance(machine, function, cls)


def _arguments_of(cls: Class) -> list[ast.arg]:
    initialiser = cls.find("__init__")
    spec = initialiser.node.args if isinstance(initialiser, Function) else None
    return [] if spec is None else [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]


def _instance(machine: Machine, function: Function, cls: Class) -> Instance:
    fields = list(_fields(cls))
    if not fields or isinstance(cls.find("__init__"), Function):
        return presumed_instance(machine, cls, function.node)
    made = cls.create(machine)
    for field, annotation in fields:
        made.attributes[field] = unknown_parameter(machine, ast.arg(field, annotation), cls.find(field))
    after = cls.find("__post_init__")
    if isinstance(after, Function):
        machine.call(after, Arguments([made]))
    return made


def _fields(cls: Class) -> Iterator[tuple[str, ast.expr]]:
    """The annotated names of a class body and of its bases, with their annotations."""
    for each in reversed(cls.mro):
        for statement in each.node.body if each.node is not None else ():
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                yield statement.target.id, statement.annotation


def _has_forward(cls: Class) -> bool:
    """True if a class of modules has a `forward` that does something."""
    forward = cls.find("forward")
    if not isinstance(forward, Function) or isinstance(forward.node, ast.Lambda):
        return False
    return any(not isinstance(each, (ast.Pass, ast.Raise, ast.Expr)) for each in forward.node.body)
