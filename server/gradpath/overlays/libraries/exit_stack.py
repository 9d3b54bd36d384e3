"""`contextlib.ExitStack`: blocks that are entered one by one and left together."""

from __future__ import annotations

from collections.abc import Callable

from gradpath.interpreter.classes import Context, context
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Value
from gradpath.overlays.namespace import Names


class ExitStack(Context):
    """`contextlib.ExitStack`: what was entered is left in reverse order, by the calls in `leaving`."""

    __slots__ = ("leaving",)

    def __init__(self) -> None:
        self.leaving: list[Callable[[Raised | None], bool]] = []

    def attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case "enter_context" | "enter_async_context":
                return NativeFunction(name, self._enter_context)
            case "callback" | "push_async_callback":
                return NativeFunction(name, self._callback)
            case "push":
                return NativeFunction(name, self._push)
            case "close" | "aclose":
                return NativeFunction(name, lambda m, a: self.leave(m, None))
            case "pop_all":
                return NativeFunction(name, lambda m, a: self._pop_all())
        return super().attribute(machine, name)

    def leave(self, machine: Machine, raised: Raised | None) -> bool:
        swallowed = False
        while self.leaving:
            if self.leaving.pop()(raised):
                swallowed, raised = True, None
        return swallowed

    def _enter_context(self, machine: Machine, arguments: Arguments) -> Value:
        enter, leave = context(machine, arguments.get(0, "cm", None))
        value = enter()
        self.leaving.append(leave)
        return value

    def _push(self, machine: Machine, arguments: Arguments) -> Value:
        manager = arguments.get(0, "exit", None)
        self.leaving.append(context(machine, manager)[1])
        return manager

    def _callback(self, machine: Machine, arguments: Arguments) -> Value:
        function, *rest = arguments.positional or [None]

        def call(raised: Raised | None) -> bool:
            machine.call(function, Arguments(list(rest), dict(arguments.keywords)))
            return False

        self.leaving.append(call)
        return function

    def _pop_all(self) -> Value:
        other = ExitStack()
        other.leaving, self.leaving = self.leaving, []
        return other


NAMES: Names = {
    "contextlib.ExitStack": lambda machine, arguments: ExitStack(),
    "contextlib.AsyncExitStack": lambda machine, arguments: ExitStack(),
}
