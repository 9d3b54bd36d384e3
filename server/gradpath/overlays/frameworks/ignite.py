"""Ignite: an `Engine` calls its process function for each batch."""

from __future__ import annotations

from gradpath.interpreter.classes import innermost
from gradpath.interpreter.iteration import iterate
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names


class Engine(Object):
    """`ignite.engine.Engine(process_function)`."""

    __slots__ = ("process",)

    def __init__(self, process: Value) -> None:
        self.process = process

    def attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case "run":
                return NativeFunction("Engine.run", self._run)
            case "on":
                return NativeFunction(name, lambda m, a: NativeFunction("on", lambda n, b: b.get(0, "handler", None)))
            case "add_event_handler" | "register_events" | "terminate" | "load_state_dict":
                return NativeFunction(name, engines.nothing)
        return super().attribute(machine, name)

    def _run(self, machine: Machine, arguments: Arguments) -> Value:
        host, _ = iterate(machine, arguments.get(0, "data", ()))
        function = innermost(self.process)
        body = machine.node if function is None else function.node
        engines.repeat(machine, body, host, lambda batch: machine.call(self.process, Arguments([self, batch])))
        return machine.unknown("state of an engine")


def _engine(machine: Machine, arguments: Arguments) -> Value:
    return Engine(arguments.get(0, "process_function", None))


NAMES: Names = {"ignite.engine.Engine": _engine, "ignite.engine.engine.Engine": _engine}

FOLLOWED = True
