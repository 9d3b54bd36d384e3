"""Modules of libraries as values, and the registry in which overlays say what a dotted name means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Value

Names = Mapping[str, Value]
"""Dotted name to a value, or to a host function `(machine, arguments) -> value`."""


class Namespace(Object):
    """A module of a library, such as `torch.nn`."""

    __slots__ = ("name",)
    kind_name = "module"

    def __init__(self, name: str) -> None:
        self.name = name

    def attribute(self, machine: Machine, name: str) -> Value:
        return machine.library.module(machine, f"{self.name}.{name}")

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        machine.modules[f"{self.name}.{name}"] = value

    def decision_key(self) -> object:
        return ("module", self.name)


class Fields(Object):
    """A named tuple: items by position and by name (`values, indices = x.max(dim=0)`)."""

    __slots__ = ("items", "names")
    kind_name = "tuple"

    def __init__(self, items: tuple[Value, ...], names: tuple[str, ...]) -> None:
        self.items = items
        self.names = names

    def parts(self) -> tuple[Value, ...]:
        return self.items

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return iter(self.items)

    def length(self, machine: Machine) -> int | None:
        return len(self.items)

    def item(self, machine: Machine, key: Value) -> Value:
        if isinstance(key, int) and -len(self.items) <= key < len(self.items):
            return self.items[key]
        if isinstance(key, slice):
            return self.items[key]
        return super().item(machine, key)

    def attribute(self, machine: Machine, name: str) -> Value:
        if name in self.names:
            return self.items[self.names.index(name)]
        return super().attribute(machine, name)


def as_value(name: str, meaning: object) -> Value:
    """An overlay's entry as a value: host functions become callable."""
    if callable(meaning) and not isinstance(meaning, Object):
        function: Callable[[Machine, Arguments], Value] = meaning
        return NativeFunction(name, function)
    return meaning
