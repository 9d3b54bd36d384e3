"""`operator`: Python's operators and look-ups as functions."""

from __future__ import annotations

import ast

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.operators import binary, get_item
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Value
from gradpath.overlays.namespace import Names

_OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "truediv": ast.Div,
    "pow": ast.Pow,
    "matmul": ast.MatMult,
}


def _operation(name: str, operator: type[ast.operator]) -> NativeFunction:
    return NativeFunction(name, lambda m, a: binary(m, operator, a.get(0, "a", None), a.get(1, "b", None)))


def _in_place(name: str, operator: type[ast.operator]) -> NativeFunction:
    def call(machine: Machine, arguments: Arguments) -> Value:
        left, right = arguments.get(0, "a", None), arguments.get(1, "b", None)
        if isinstance(left, Object):
            result = left.inplace(machine, name, right)
            if result is not NotImplemented:
                return result
        return binary(machine, operator, left, right)

    return NativeFunction(f"i{name}", call)


def _item_getter(machine: Machine, arguments: Arguments) -> Value:
    keys = arguments.positional

    def call(machine: Machine, given: Arguments) -> Value:
        found = tuple(get_item(machine, given.get(0, "obj", None), key) for key in keys)
        return found[0] if len(found) == 1 else found

    return NativeFunction("itemgetter", call)


def _attribute_getter(machine: Machine, arguments: Arguments) -> Value:
    paths = arguments.positional
    if not all(isinstance(path, str) for path in paths):
        return machine.unknown("attrgetter", None, tuple(paths))

    def call(machine: Machine, given: Arguments) -> Value:
        found: list[Value] = []
        for path in paths:
            value = given.get(0, "obj", None)
            for name in str(path).split("."):
                value = machine.attribute(value, name)
            found.append(value)
        return found[0] if len(found) == 1 else tuple(found)

    return NativeFunction("attrgetter", call)


NAMES: Names = {
    **{f"operator.{name}": _operation(name, operator) for name, operator in _OPERATORS.items()},
    **{f"operator.i{name}": _in_place(name, operator) for name, operator in _OPERATORS.items()},
    "operator.itemgetter": _item_getter,
    "operator.attrgetter": _attribute_getter,
}
