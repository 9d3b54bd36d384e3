"""`functools.singledispatch`: the function that is registered for the class of the first argument."""

from __future__ import annotations

from gradpath.interpreter.builtin_types import is_instance
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Function, NativeFunction, Object, Value
from gradpath.overlays.namespace import Names


class Dispatched(Object):
    """A function with an implementation for each of several classes, the last registered first."""

    __slots__ = ("cases", "function")
    kind_name = "function"

    binds = True

    def __init__(self, function: Value) -> None:
        self.function = function
        self.cases: list[tuple[Value, Value]] = []

    def attribute(self, machine: Machine, name: str) -> Value:
        return NativeFunction(name, self._register) if name == "register" else super().attribute(machine, name)

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        first = arguments.get(0, "arg", None)
        for kind, implementation in self.cases:
            match is_instance(machine, first, kind):
                case True:
                    return machine.call(implementation, arguments)
                case None:
                    return machine.unknown("single dispatch", None, tuple(arguments.all()))
        return machine.call(self.function, arguments)

    def _register(self, machine: Machine, arguments: Arguments) -> Value:
        """`@f.register(kind)`, or `@f.register` over a function that annotates its first parameter."""
        kind, implementation = arguments.get(0, "cls", None), arguments.get(1, "func", None)
        if isinstance(kind, Function):
            implementation, kind = kind, _annotated(machine, kind)
        if implementation is None:
            return NativeFunction("register", lambda m, a: self._register(m, Arguments([kind, *a.positional])))
        self.cases.insert(0, (kind, implementation))
        return implementation


def _annotated(machine: Machine, function: Function) -> Value:
    first = next(iter(function.node.args.args), None)
    if first is None or first.annotation is None:
        return machine.unknown("class to dispatch on")
    return machine.evaluate(first.annotation)


def _dispatched(machine: Machine, arguments: Arguments) -> Value:
    function = arguments.get(0, "func", None)
    return Dispatched(function)


NAMES: Names = {"functools.singledispatch": _dispatched}
