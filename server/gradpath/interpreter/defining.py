"""Class statements: the class that a body makes, and the program's own metaclasses, which take part in it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradpath.interpreter.classes import OpenClass, innermost, instantiate
from gradpath.interpreter.expressions import evaluate
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.scope import Scope
from gradpath.interpreter.values import (
    UNDEFINED,
    Arguments,
    Class,
    Descriptor,
    Function,
    Instance,
    NativeFunction,
    Unknown,
    Value,
)


def define(machine: Machine, node: ast.ClassDef) -> Class:
    """Execute a class body and make the class."""
    bases: list[Class] = []
    for each in node.bases:
        value = evaluate(machine, each)
        if isinstance(value, Class):
            bases.append(value)
        elif isinstance(value, Unknown):
            bases.append(OpenClass(value))
    bases = [*_presumed_bases(machine, node, bases), *bases]
    before = machine.frame.scope
    machine.frame.scope = Scope(before, transparent=True)
    try:
        for _ in machine.run_block(node.body):
            pass
        members = machine.frame.scope.variables
    finally:
        machine.frame.scope = before
    keywords = {each.arg: evaluate(machine, each.value) for each in node.keywords if each.arg is not None}
    meta = keywords.pop("metaclass", None)
    made = _make_class(machine, meta if isinstance(meta, Class) else None, node.name, bases, members)
    made.node = node
    for member in members.values():
        function = innermost(member)
        if function is not None and function.owner is None:
            function.owner = made
    for base in made.mro[1:]:
        base.subclassed(machine, made)
    _announce(machine, made, keywords)
    return made


def _presumed_bases(machine: Machine, node: ast.ClassDef, bases: Sequence[Class]) -> list[Class]:
    """What a base that is not seen derives from, as the methods of a class tell."""
    if not any(base.open for base in bases):
        return []
    known = machine.library.known_by_methods(
        frozenset(each.name for each in node.body if isinstance(each, ast.FunctionDef))
    )
    return [] if known is None or any(known in base.mro for base in bases) else [known]


def _announce(machine: Machine, made: Class, keywords: dict[str, Value]) -> None:
    """Tell descriptors their names (`__set_name__`), and a base that it has a subclass (`__init_subclass__`)."""
    for name, member in list(made.members.items()):
        if isinstance(member, Instance) and isinstance(member.cls.find("__set_name__"), Function):
            machine.special(member, "__set_name__", Arguments([made, name]))
    for base in made.mro[1:]:
        hook = base.members.get("__init_subclass__")
        function = hook.function if isinstance(hook, Descriptor) else hook
        if isinstance(function, Function):
            machine.call(function, Arguments([made], keywords))
            return


def call_class(machine: Machine, cls: Class, arguments: Arguments) -> Value:
    """Call a class; its metaclass may have its own way."""
    caller = UNDEFINED if cls.meta is None else cls.meta.find("__call__")
    if isinstance(caller, Function):
        return machine.call(caller, arguments.shifted(cls))
    return instantiate(machine, cls, arguments)


def _make_class(
    machine: Machine, meta: Class | None, name: str, bases: Sequence[Class], members: dict[str, Value]
) -> Class:
    """The class of a `class` statement; a metaclass may make it in its `__new__` and see it in its `__init__`."""
    meta = meta or next((base.meta for base in bases if base.meta is not None), None)
    if meta is None:
        return Class(name, bases, members)
    namespace = Dict()
    for key, value in members.items():
        namespace.store(key, value)
    arguments = [meta, name, tuple(bases), namespace]
    maker = meta.find("__new__")
    made = machine.call(maker, Arguments(arguments)) if isinstance(maker, Function) else None
    if not isinstance(made, Class):
        made = Class(name, bases, members)
        made.meta = meta
    initialiser = meta.find("__init__")
    if isinstance(initialiser, Function):
        machine.call(initialiser, Arguments([made, *arguments[1:]]))
    return made


def _new(machine: Machine, arguments: Arguments) -> Value:
    meta, name, bases, namespace = (arguments.get(index, "", None) for index in range(4))
    if not isinstance(name, str) or not isinstance(bases, tuple) or not isinstance(namespace, Dict):
        return machine.unknown("class made by a metaclass", None, tuple(arguments.all()))
    members = {key: value for key, value in namespace.entries.values() if isinstance(key, str)}
    made = Class(name, [base for base in bases if isinstance(base, Class)], members)
    made.meta = meta if isinstance(meta, Class) else made.meta
    return made


def _call(machine: Machine, arguments: Arguments) -> Value:
    cls, *rest = arguments.positional or [None]
    if not isinstance(cls, Class):
        return machine.unknown("call of a class", None, tuple(arguments.all()))
    return instantiate(machine, cls, Arguments(rest, arguments.keywords, arguments.open))


TYPE: dict[str, Value] = {
    "__new__": NativeFunction("type.__new__", _new),
    "__call__": NativeFunction("type.__call__", _call),
    "__init__": NativeFunction("type.__init__", lambda machine, arguments: None),
}
"""The method of `type` that a metaclass inherits."""
