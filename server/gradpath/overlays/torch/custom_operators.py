"""`torch.library.custom_op`: operators whose body is not differentiated: a formula is registered."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Value
from gradpath.overlays.namespace import Names


class CustomOperator(Object):
    """The decorated function: its call returns an unknown."""

    __slots__ = ()
    kind_name = "CustomOpDef"

    def attribute(self, machine: Machine, name: str) -> Value:
        if name.startswith("register_"):
            return NativeFunction(name, lambda machine, arguments: _registered(arguments))
        return super().attribute(machine, name)

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.unknown("call of a custom operator", None, tuple(arguments.all()))


def _registered(arguments: Arguments) -> Value:
    """The registered function, or a decorator for one: `@op.register_fake`, `@op.register_kernel("cuda")`."""
    given = next((value for value in arguments.all() if isinstance(value, Object)), None)
    return NativeFunction("register", lambda machine, later: later.get(0, "fn", None)) if given is None else given


def _custom_op(machine: Machine, arguments: Arguments) -> Value:
    """`custom_op(name, mutates_args=...)` as a decorator, or with the function as its second argument."""
    if isinstance(arguments.get(1, "fn", None), Object):
        return CustomOperator()
    return NativeFunction("custom_op", lambda machine, later: CustomOperator())


NAMES: Names = {"torch.library.custom_op": _custom_op, "torch.library.triton_op": _custom_op}
