"""The object on which a method is entered that nothing calls: made by `__init__`, and left open where others set it."""

from __future__ import annotations

import ast

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter import classes
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.entered import Use
from gradpath.interpreter.filling import filling_of, methods_of, own_calls, parts_filled, run_later
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import AtLeast
from gradpath.interpreter.values import Arguments, Class, Instance, NativeFunction
from gradpath.source.nodes import nodes, noted
from gradpath.support.traversal import reachable


def presumed_instance(
    machine: Machine,
    cls: Class,
    function: ast.AST,
    use: Use | None = None,
) -> Instance:
    """An instance made by `__init__` with presumed arguments; what its body raises is not this path's fault.

    What other methods than `function` assign later is not known when a method is entered: any of them may have run.
    Nor is what it refuses to run without: whoever uses the object sets that first.
    `function` itself may have counted. With `FILLED`, what one method alone fills stays empty for it to fill.
    """
    instance = cls.create(machine)
    own = cls.find("__init__")
    other = function in getattr(cls.node, "body", ()) and getattr(function, "name", "") != "forward"
    initialiser = classes.innermost(own) if other or not isinstance(own, NativeFunction) else own
    if initialiser is not None:  # Other methods may set up what a base has made.
        before = set(machine.called)
        try:
            machine.call(initialiser, Arguments([instance], open=True))
        except AutogradError:
            machine.called &= before
        except Raised as raised:
            if raised.error is not None:  # What it called is entered itself, to tell of it.
                machine.called &= before
    machine.surveyed.update(method for each in cls.mro if each.node is not None for method in each.node.body)
    held = {name: value for name, value in instance.attributes.items() if isinstance(value, Instance)}
    filling = {} if use is None else filling_of(instance, function)
    known = frozenset[str]().union(*filling.values()) if use is Use.FILLED else frozenset[str]()
    if filling and use is Use.ALONE:
        machine.uses.add(Use.FILLED)
    others = _assigned_later(cls, function) | _emptied(function) | _set_by_users(instance, function)
    for name in others.union(held) - known:  # A subclass may fill what is empty.
        if name in instance.attributes:
            machine.library.forget(machine, instance, name, bound=name in others)
    filled = parts_filled(known)
    for name, part in held.items() if use is not None else ():  # Their methods may have run as well.
        for each in _assigned_later(part.cls, function).intersection(part.attributes) - filled.get(name, frozenset()):
            machine.library.forget(machine, part, each)
    for name in _counted(function):
        if type(number := instance.attributes.get(name)) is int:
            instance.attributes[name] = AtLeast(number)
    return instance


def _assigned_later(cls: Class, function: ast.AST) -> set[str]:
    """The attributes of `self` that methods other than `function` assign after `__init__`, or store items in."""
    methods = [method for each in cls.mro if each.node is not None for method in each.node.body]
    defined = [each for each in methods if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    later = run_later(cls)
    return set().union(*(_assigned(each) for each in defined if each is not function and each.name in later))


def _set_by_users(instance: Instance, function: ast.AST) -> set[str]:
    """The attributes of an instance that are None, and without which a method, or one that it calls, does not run."""
    empty = {name for name, value in instance.attributes.items() if value is None}
    if not empty:
        return empty
    methods = methods_of(instance.cls)
    led = reachable(own_calls(function) & methods.keys(), lambda name: own_calls(methods[name]) & methods.keys())
    return empty.intersection(_needed(function).union(*(_needed(methods[name]) for name in led)))


@noted
def _needed(method: ast.AST) -> frozenset[str]:
    """The attributes of `self` that a method asserts, or raises without."""
    tests = [each.test for each in nodes(method) if isinstance(each, ast.Assert)]
    tests += [each.test for each in nodes(method) if isinstance(each, ast.If) and isinstance(each.body[-1], ast.Raise)]
    asked = (each for test in tests for each in nodes(test) if isinstance(each, ast.Attribute))
    return frozenset(each.attr for each in asked if isinstance(each.value, ast.Name) and each.value.id == "self")


@noted
def _assigned(method: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in nodes(method):
        target = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(target, ast.Attribute) and isinstance(getattr(node, "ctx", None), ast.Store):
            found.add(target.attr)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr="append" | "extend" | "update")):
                found.add(name)
    return found


@noted
def _emptied(method: ast.AST) -> set[str]:
    """The attributes that a method empties, which others have filled: `del self.rewards[:]`."""
    found: set[str] = set()
    for node in nodes(method):
        match node:
            case ast.Subscript(value=ast.Attribute(attr=name), ctx=ast.Del()):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr="clear")):
                found.add(name)
    return found


@noted
def _counted(method: ast.AST) -> set[str]:
    """The attributes that a method raises by a number: `self.steps += 1`."""
    return {
        each.target.attr
        for each in nodes(method)
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Attribute) and isinstance(each.op, ast.Add)
    }
