"""Whole numbers of which only a lower bound is known: the counters of late iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradpath.interpreter.values import Object, Value, identity

if TYPE_CHECKING:
    from gradpath.interpreter.machine import Machine


class AtLeast(Object):
    """An int that is `minimum` or more."""

    __slots__ = ("minimum",)

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum

    def type_name(self) -> str:
        return "int"

    def truth(self, machine: Machine) -> bool | None:
        return True if self.minimum > 0 else None

    def unary(self, machine: Machine, operator: str) -> Value:
        return self if operator == "pos" else machine.unknown("arithmetic", None, (self,))

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if type(other) is int:
            if operator == "add":
                return AtLeast(self.minimum + other)
            if operator == "sub" and not reflected:
                return AtLeast(self.minimum - other)
            if operator == "mul" and other > 0:
                return AtLeast(self.minimum * other)
        if isinstance(other, AtLeast) and operator == "add":
            return AtLeast(self.minimum + other.minimum)
        if isinstance(other, Object):
            return NotImplemented
        key = ("binary", operator, reflected, id(self), identity(other))
        return machine.unknown("arithmetic of a counter", key, (self, other), fresh=True)

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if isinstance(other, (int, float)):
            match operator:
                case "eq" | "le" if other < self.minimum:
                    return False
                case "ne" | "gt" if other < self.minimum:
                    return True
                case "lt" if other <= self.minimum:
                    return False
                case "ge" if other <= self.minimum:
                    return True
        if isinstance(other, Object) and not isinstance(other, AtLeast):
            return NotImplemented
        key = ("compare", operator, reflected, id(self), identity(other))
        return machine.unknown("comparison of a counter", key, (self, other))
