"""`argparse`: an option probably has its default, which decides the branch that is tried first."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import CONSTANTS, Arguments, NativeFunction, Object, Unknown, Value
from gradpath.overlays.namespace import Names

_SWITCHES = {"store_true": False, "store_false": True}
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})


class Parser(Object):
    """An `ArgumentParser`, with the defaults of the options that were added to it."""

    __slots__ = ("defaults",)
    kind_name = "ArgumentParser"

    def __init__(self) -> None:
        self.defaults: dict[str, Value] = {}

    def attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case "add_argument":
                return NativeFunction(name, self._add)
            case "set_defaults":
                return NativeFunction(name, lambda m, a: self.defaults.update(a.keywords))
            case "parse_args":
                return NativeFunction(name, self._parse)
            case "parse_known_args":
                return NativeFunction(
                    name, lambda m, a: (self._parse(m, a), m.unknown("argparse", None, (), data=True))
                )
            case _ if name in _GROUPS:
                return NativeFunction(name, lambda m, a: self)
        return machine.unknown("argparse", ("attr", machine.id_of(self), name), (), data=True)

    def _add(self, machine: Machine, arguments: Arguments) -> Value:
        names = [name for name in arguments.positional if isinstance(name, str)]
        long = next((name for name in names if name.startswith("--")), names[0] if names else "")
        target = arguments.keywords.get("dest", long.lstrip("-").replace("-", "_"))
        action = arguments.keywords.get("action")
        default = arguments.keywords.get("default", _SWITCHES.get(action) if isinstance(action, str) else None)
        is_given = arguments.keywords.get("required") is True or not long.startswith("-")
        if isinstance(target, str) and ("default" in arguments.keywords or not is_given):
            self.defaults[target] = default
        return machine.unknown("argparse", None, (), data=True)

    def _parse(self, machine: Machine, arguments: Arguments) -> Value:
        options = machine.unknown("call of parse_args", None, (), data=True)
        assert isinstance(options, Unknown)
        for name, default in self.defaults.items():
            option = options.attribute(machine, name)
            if isinstance(option, Unknown) and isinstance(default, CONSTANTS):
                option.hint = default
        return options


NAMES: Names = {"argparse.ArgumentParser": lambda machine, arguments: Parser()}
