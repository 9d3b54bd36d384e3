"""The mappings that unseen models and losses give, such as `losses = model(x)` whose `losses.values()` are summed.

Those that the program has asked for by name are its entries; of one whose entries have no names yet, there are two.
"""

from __future__ import annotations

from collections.abc import Callable

from gradpath.interpreter.containers import List
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call, Item
from gradpath.interpreter.values import Arguments, Unknown, Value

_ENTRIES = 2
_OF_MODELS = (Kind.LIVE, Kind.PART)
_NAMES = "names of entries"


def entries(machine: Machine, mapping: Unknown) -> list[tuple[Value, Value]] | None:
    """The names and values of an unseen mapping, which may be one of several results; None for what is none.

    The names stay the same when the model is called again.
    """
    whole = mapping.origin.of if isinstance(mapping.origin, Item) else mapping
    made = whole.origin if isinstance(whole, Unknown) else None
    if mapping.kind not in _OF_MODELS or not isinstance(made, Call) or mapping.tensor is not None:
        return None
    names = machine.remembered.setdefault((_NAMES, mapping.number), List([]))
    assert isinstance(names, List)
    if not names.items:
        number = made.of.number if isinstance(made.of, Unknown) else mapping.number
        place = mapping.origin.key if isinstance(mapping.origin, Item) else None
        names.items = [machine.unknown("name", ("entry", number, place, each)) for each in range(_ENTRIES)]
    return [(name, machine.library.unknown_item(machine, mapping, name)) for name in names.items]


def name_of_entry(machine: Machine, mapping: Unknown, name: Value) -> Value:
    """The name of the entry that `mapping[name]` asks for: the first of one whose entries were gone through unnamed."""
    if mapping.kind is not Kind.LIVE or not isinstance(name, str):
        return name
    names = machine.remembered.setdefault((_NAMES, mapping.number), List([]))
    assert isinstance(names, List)
    if names.items and isinstance(names.items[0], Unknown):
        return names.items[0]
    if name not in names.items:
        names.items.append(name)
    return name


def name_at(machine: Machine, mapping: Unknown, place: int | None) -> Value | None:
    """The name that iterating over a mapping gives at a place; None where it is not known to be one, or ends before."""
    names = machine.remembered.get((_NAMES, mapping.number))
    if not isinstance(names, List) or place is None or place >= len(names.items):
        return None
    return names.items[place]


def _method(part: Callable[[tuple[Value, Value]], Value]) -> Callable[[Machine, Unknown, Arguments], Value]:
    def method(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
        found = None if arguments.all() else entries(machine, receiver)
        return NotImplemented if found is None else List([part(each) for each in found])

    return method


METHODS = {
    "items": _method(lambda entry: entry),
    "keys": _method(lambda entry: entry[0]),
    "values": _method(lambda entry: entry[1]),
}
"""The methods that go through a mapping."""
