"""Functions that are handed to code which is not seen, such as hooks: they may be called at any time from there on.

What such a function assigns to attributes is unknown then, and what it puts into lists and dicts may be in them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.interpreter.containers import Container
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Arguments, BoundMethod, Function, Instance, Value
from gradpath.source.nodes import Noted, nodes


def hand_over(machine: Machine, arguments: Arguments) -> None:
    """Let what the functions among the arguments write be open, since somebody may call them."""
    for value in arguments.all():
        match value:
            case Function():
                _open(machine, value, UNDEFINED)
            case BoundMethod(function=Function() as function):
                _open(machine, function, value.receiver)
            case _:
                for each in _objects(value):
                    _forget_numbers(machine, each)


def _objects(value: Value, depth: int = 3) -> Iterator[Instance]:
    """The plain objects of the program that a value is or holds."""
    if type(value) is Instance:
        yield value
    elif depth > 0 and isinstance(value, (tuple, Container)):
        for part in value if isinstance(value, tuple) else value.parts():
            yield from _objects(part, depth - 1)


def _forget_numbers(machine: Machine, instance: Instance) -> None:
    """Let go of the numbers that methods of an object write: whoever has it may have called them with losses."""
    for each in instance.cls.mro:
        for member in each.members.values():
            if isinstance(member, Function) and member.name != "__init__":
                parameters = member.node.args.args
                own = parameters[0].arg if parameters else ""
                for owner, attribute in _written(member.node):
                    if owner == own and type(instance.attributes.get(attribute)) in (int, float):
                        machine.library.forget(machine, instance, attribute)


def _open(machine: Machine, function: Function, receiver: Value) -> None:
    parameters = function.node.args.args
    for owner, attribute in _written(function.node):
        own = receiver is not UNDEFINED and bool(parameters) and parameters[0].arg == owner
        value = receiver if own else function.scope.get(owner)
        if attribute and isinstance(value, Instance) and attribute in value.attributes:
            machine.library.forget(machine, value, attribute)
        elif not attribute and isinstance(value, Container):
            value.open = True


_known: Noted[tuple[tuple[str, str], ...]] = Noted("_callbacks_known")


def _written(node: ast.AST) -> tuple[tuple[str, str], ...]:
    """The variables of which a function writes an attribute, or into which it puts something (with "")."""
    known = _known.get(node)
    if known is None:
        known = _known[node] = tuple(dict.fromkeys(_found(node)))
    return known


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
