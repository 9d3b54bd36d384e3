"""Functions that are passed to unseen code, such as hooks: they may be called at any time from then on.

What such a function assigns to attributes is unknown then, and what it puts into lists and dicts may be in them. The
same holds for the functions, methods and callable objects of the program that it calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.interpreter.iteration import Container
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.readings import parts_of
from gradpath.interpreter.values import UNDEFINED, Arguments, BoundMethod, Function, Instance, Value
from gradpath.source.nodes import nodes, noted


def hand_over(machine: Machine, arguments: Arguments) -> None:
    """Make unknown whatever the functions among the arguments write, since unseen code may call them."""
    opened: set[tuple[int, int]] = set()
    for value in arguments.all():
        called = _called_as(value)
        if called is not None:
            _open(machine, *called, opened)
        if not isinstance(value, (Function, BoundMethod)):
            for each in _objects(value):
                _forget_numbers(machine, each)


def _called_as(value: Value) -> tuple[Function, Value] | None:
    """The function of the program that a call of the value runs, and its `self`."""
    match value:
        case Function():
            return value, UNDEFINED
        case BoundMethod(function=Function() as function):
            return function, value.receiver
        case Instance():
            method = value.cls.find("__call__")
            return (method, value) if isinstance(method, Function) else None
    return None


def _objects(value: Value, depth: int = 3) -> Iterator[Instance]:
    """The plain objects of the program that a value is or holds."""
    if type(value) is Instance:
        yield value
    elif depth > 0 and isinstance(value, (tuple, Container)):
        for part in parts_of(value):
            yield from _objects(part, depth - 1)


def _forget_numbers(machine: Machine, instance: Instance) -> None:
    """Make unknown the numbers that methods of an object write: unseen code may have called them with losses."""
    if not any(type(each) in (int, float) for each in instance.attributes.values()):
        return
    for each in instance.cls.mro:
        for member in each.members.values():
            if isinstance(member, Function) and member.name != "__init__":
                parameters = member.node.args.args
                own = parameters[0].arg if parameters else ""
                for owner, attribute in _written(member.node):
                    if owner == own and type(instance.attributes.get(attribute)) in (int, float):
                        machine.library.forget(machine, instance, attribute)


def _open(machine: Machine, function: Function, receiver: Value, opened: set[tuple[int, int]]) -> None:
    """Let what a function writes be open, and what those write that it calls."""
    if (id(function), id(receiver)) in opened:
        return
    opened.add((id(function), id(receiver)))
    parameters = [each.arg for each in function.node.args.args]

    def value_of(name: str) -> Value:
        if receiver is not UNDEFINED and parameters[:1] == [name]:
            return receiver
        return UNDEFINED if name in parameters else function.scope.get(name)

    for owner, attribute in _written(function.node):
        value = value_of(owner)
        if attribute and isinstance(value, Instance) and attribute in value.attributes:
            machine.library.forget(machine, value, attribute)
        elif not attribute and isinstance(value, Container):
            value.open = True
    for owner, method in _calls(function.node):
        value = value_of(owner)
        if method:
            called = _called_as(BoundMethod(value.cls.find(method), value)) if isinstance(value, Instance) else None
        else:
            called = _called_as(value)
        if called is not None:
            _open(machine, *called, opened)


@noted
def _written(node: ast.AST) -> tuple[tuple[str, str], ...]:
    """The variables of which a function writes an attribute, or into which it puts something (with "")."""
    return tuple(dict.fromkeys(_found(node)))


def _found(node: ast.AST) -> Iterator[tuple[str, str]]:
    for each in nodes(node):
        match each:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Store()):
                yield name, attribute
            case (
                ast.Subscript(value=holder, ctx=ast.Store())
                | ast.Call(func=ast.Attribute(value=holder, attr=("add" | "append" | "extend" | "insert" | "update")))
            ):
                match holder:
                    case ast.Name(id=name):
                        yield name, ""
                    case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                        yield name, attribute


@noted
def _calls(node: ast.AST) -> tuple[tuple[str, str], ...]:
    """The variables that a function calls (with ""), or of which it calls a method."""
    return tuple(dict.fromkeys(_callees(node)))


def _callees(node: ast.AST) -> Iterator[tuple[str, str]]:
    for each in nodes(node):
        match each:
            case ast.Call(func=ast.Name(id=name)):
                yield name, ""
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                yield name, method
