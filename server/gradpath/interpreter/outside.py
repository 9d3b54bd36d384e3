"""Builtin functions that reach outside of the program or only describe a value: what they give is plain data."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.operators import binary
from gradpath.interpreter.values import UNDEFINED, Arguments, Instance, Object, Unknown, Value, identity


def _data(cause: str, machine: Machine, arguments: Arguments) -> Value:
    return machine.unknown(cause, None, tuple(arguments.all()), data=True)


def leave(machine: Machine, arguments: Arguments) -> Value:
    """`exit()`, `sys.exit()`: ends the program."""
    raise machine.error("SystemExit", "")


def _pow(machine: Machine, arguments: Arguments) -> Value:
    power = binary(machine, ast.Pow, arguments.get(0, "base", None), arguments.get(1, "exp", None))
    modulus = arguments.get(2, "mod", None)
    return power if modulus is None else binary(machine, ast.Mod, power, modulus)


def _divmod(machine: Machine, arguments: Arguments) -> Value:
    left, right = arguments.get(0, "x", None), arguments.get(1, "y", None)
    return binary(machine, ast.FloorDiv, left, right), binary(machine, ast.Mod, left, right)


def _callable(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.get(0, "obj", None)
    if isinstance(value, Instance) and value.cls.find("__call__") is not UNDEFINED:
        return True
    if isinstance(value, Unknown) or (isinstance(value, Instance) and value.cls.open):
        return machine.unknown("callable", ("callable", identity(value)), (value,), data=True)
    if not isinstance(value, Object) or value.refuses_calls:
        return False
    return type(value).call not in (Object.call, Instance.call)


def _id(machine: Machine, arguments: Arguments) -> Value:
    return machine.unknown("id", ("id", identity(arguments.get(0, "obj", None))), data=True)


FUNCTIONS: Mapping[str, Callable[[Machine, Arguments], Value]] = {
    **dict.fromkeys(("ascii", "bin", "chr", "format", "hex", "input", "oct", "repr"), partial(_data, "text")),
    **dict.fromkeys(("hash", "ord"), partial(_data, "number")),
    **dict.fromkeys(("bytearray", "compile", "dir", "memoryview", "open"), partial(_data, "file")),
    **dict.fromkeys(("breakpoint", "help"), lambda machine, arguments: None),
    **dict.fromkeys(("exit", "quit"), leave),
    "divmod": _divmod,
    "callable": _callable,
    "id": _id,
    "pow": _pow,
}
