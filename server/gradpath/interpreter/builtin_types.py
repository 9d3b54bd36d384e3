"""Builtin types as classes, which the program can call and derive from."""

from __future__ import annotations

from collections.abc import Callable

from gradpath.interpreter.bounds import is_light
from gradpath.interpreter.containers import List
from gradpath.interpreter.iteration import Container, Iteration, iterate
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict, Holder, Set
from gradpath.interpreter.origins import Call, Item
from gradpath.interpreter.values import (
    CONSTANTS,
    UNDEFINED,
    Arguments,
    Class,
    Instance,
    NativeFunction,
    Object,
    Unknown,
    Value,
    identity,
)

Convert = Callable[[Machine, Arguments], Value]


class TypeClass(Class):
    """A builtin type such as `list`: calling it converts; `holds` says which values are its instances.

    `methods` are those that instances of the program's subclasses inherit.
    """

    __slots__ = ("convert", "holds", "methods")

    is_data = True

    def __init__(
        self, name: str, convert: Convert, holds: Callable[[Value], bool], methods: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(name)
        self.convert = convert
        self.holds = holds
        self.methods = methods

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return self.convert(machine, arguments)

    def create_for(self, machine: Machine, subclass: Class) -> Instance | None:
        if not self.methods:
            return None
        content = self.convert(machine, Arguments())
        return Holder(subclass, content) if isinstance(content, Container) else None

    def native_member(self, name: str) -> Value:
        if name not in self.methods:
            return UNDEFINED
        return NativeFunction(f"{self.name}.{name}", lambda machine, arguments: self._apply(machine, name, arguments))

    def _apply(self, machine: Machine, name: str, arguments: Arguments) -> Value:
        receiver, *rest = arguments.positional or [None]
        more = Arguments(rest, arguments.keywords, arguments.open)
        if isinstance(receiver, Holder) and name == "__init__":
            content = self.convert(machine, more)
            if isinstance(content, Container):
                receiver.content = content
            return None
        content = receiver.content if isinstance(receiver, Holder) else receiver
        if not isinstance(content, Container):
            return machine.unknown(f"{self.name}.{name}", None, tuple(arguments.all()))
        if name == "__getitem__" and isinstance(receiver, Holder):
            return receiver.looked_up(machine, more.get(0, "key", None))
        special = _SPECIAL.get(name)
        return (
            machine.call(machine.attribute(content, name), more) if special is None else special(machine, content, more)
        )


_NUMBERS = frozenset({"bool", "float", "int"})
_NUMBERS_AND_TEXTS = frozenset({"bool", "bytes", "complex", "float", "int", "str"})


def is_instance(machine: Machine, value: Value, kind: Value) -> bool | None:
    """`isinstance(value, kind)`; None where that is not known."""
    if isinstance(kind, tuple):
        if not is_light(kind):
            return None
        answers = [is_instance(machine, value, each) for each in kind]
        return True if True in answers else (None if None in answers else False)
    if isinstance(value, Unknown) and value.kind in (Kind.LIVE, Kind.PARAMETER) and isinstance(kind, TypeClass):
        # It is used as a tensor, but the result of a model may be several.
        return False if value.kind is Kind.PARAMETER or kind.name in _NUMBERS_AND_TEXTS else None
    if isinstance(value, Unknown) or not isinstance(kind, Class):
        return machine.library.is_instance(value, kind)
    if isinstance(kind, TypeClass):
        if isinstance(value, Object) and value.type_name() in _NUMBERS:  # It was read out of a tensor.
            return value.type_name() == kind.name or (None if kind.name in _NUMBERS else False)
        return kind.holds(value) or (isinstance(value, Instance) and value.cls.is_subclass(kind))
    test = getattr(kind, "holds", None)
    if test is not None:
        answer: bool | None = test(value)
        return answer
    if isinstance(value, Instance):
        if value.cls.is_subclass(kind):
            return True
        return None if value.cls.open else False
    return False if isinstance(value, (*CONSTANTS, tuple, List, Dict, Set)) else None


def _length(machine: Machine, content: Container, arguments: Arguments) -> Value:
    return machine.call(machine.builtins["len"], Arguments([content]))


def _iterator(machine: Machine, content: Container, arguments: Arguments) -> Value:
    host, endless = iterate(machine, content)
    return Iteration(host, endless=endless)


_SPECIAL: dict[str, Callable[[Machine, Container, Arguments], Value]] = {
    "__getitem__": lambda m, c, a: c.item(m, a.get(0, "key", None)),
    "__setitem__": lambda m, c, a: c.set_item(m, a.get(0, "key", None), a.get(1, "value", None)),
    "__delitem__": lambda m, c, a: c.delete_item(m, a.get(0, "key", None)),
    "__contains__": lambda m, c, a: c.contains(m, a.get(0, "key", None)),
    "__len__": _length,
    "__iter__": _iterator,
}

_COMMON = frozenset({"__init__", "clear", "copy", "pop", *_SPECIAL})

MAPPING = _COMMON | {"get", "items", "keys", "setdefault", "update", "values"}
SEQUENCE = _COMMON | {"append", "count", "extend", "index", "insert", "remove", "reverse", "sort"}


def type_question(value: Value, kind: Value) -> tuple[object, ...]:
    """The key of the unknown answer of `isinstance`: what one callee gives is of one type each time."""
    return ("isinstance", _source(value), identity(kind))


def _source(value: Value) -> object:
    match value:
        case Unknown(origin=Call(of=Unknown() as callee, name=name)):
            return ("given by", callee.number, name)
        case Unknown(origin=Item(of=Unknown() as whole, key=int() | str() as key)):
            return ("item", _source(whole), key)
    return identity(value)
