"""`collections`: deques, dicts with an order or a default, and what the program derives from them."""

from __future__ import annotations

from gradpath.interpreter.builtin_types import MAPPING, SEQUENCE, TypeClass
from gradpath.interpreter.containers import List, extend
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict, make_dict
from gradpath.interpreter.numbers import Length
from gradpath.interpreter.values import UNDEFINED, Arguments, NativeFunction, Value
from gradpath.overlays.namespace import Names


def _deque(machine: Machine, arguments: Arguments) -> Value:
    made = List([])
    if arguments.positional:
        extend(machine, made, arguments.positional[0])
    limit = arguments.get(1, "maxlen", None)
    if isinstance(limit, int):
        made = Bounded(made.items[-limit:], limit)
    elif limit is not None:
        made.open = True
    return made


class Bounded(List):
    """A deque of limited length: an item appended at one end drops one at the other."""

    __slots__ = ("limit",)

    def __init__(self, items: list[Value], limit: int, *, open: bool = False) -> None:
        super().__init__(items, open=open)
        self.limit = limit

    def least_length(self, machine: Machine) -> Value:
        least = super().least_length(machine)
        return self.limit if isinstance(least, Length) and least.minimum >= self.limit else least

    def attribute(self, machine: Machine, name: str) -> Value:
        method = super().attribute(machine, name)
        if name not in ("append", "extend"):
            return method

        def bounded(machine: Machine, arguments: Arguments) -> Value:
            machine.call(method, arguments)
            del self.items[: -self.limit]
            return None

        return NativeFunction(f"deque.{name}", bounded)


def _defaultdict(machine: Machine, arguments: Arguments) -> Value:
    made = Dict()
    made.default = arguments.get(0, "default_factory", UNDEFINED)
    if made.default is None:
        made.default = UNDEFINED
    return made


def _is_dict(value: Value) -> bool:
    return isinstance(value, Dict)


NAMES: Names = {
    "collections.deque": TypeClass("deque", _deque, lambda value: isinstance(value, List), SEQUENCE),
    "collections.OrderedDict": TypeClass("OrderedDict", make_dict, _is_dict, MAPPING),
    "collections.UserDict": TypeClass("UserDict", make_dict, _is_dict, MAPPING),
    "collections.defaultdict": TypeClass("defaultdict", _defaultdict, _is_dict, MAPPING),
    "collections.Counter": lambda machine, arguments: Dict(open=True),
}
