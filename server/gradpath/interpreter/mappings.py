"""Dicts, sets, and the program's own kinds of containers.

Keys that Python compares by value are compared by identity unless they are constants.
"""

from __future__ import annotations

import operator as host
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from collections.abc import Set as Collected
from itertools import islice
from typing import TYPE_CHECKING

from gradpath.interpreter.bounds import shown
from gradpath.interpreter.containers import List, contains
from gradpath.interpreter.iteration import ORDINAL, SOME, Container, endless, sample, sequence
from gradpath.interpreter.origins import Call, Computed, Item, Made
from gradpath.interpreter.values import (
    CONSTANTS,
    KINDS,
    UNDEFINED,
    Arguments,
    Class,
    Function,
    Instance,
    NativeFunction,
    Object,
    Unknown,
    Value,
    identity,
)

if TYPE_CHECKING:
    from gradpath.interpreter.machine import Machine


def place_of(key: Value) -> object:
    """The key of a value in a dict or set: its `identity`, except that writes into a tensor do not change its key."""
    own = None if type(key) in KINDS else getattr(key, "dict_key", None)
    return identity(key) if own is None else own()


def _name_among(machine: Machine, key: Value) -> tuple[object, ...] | None:
    """The same for each time that a program goes through the same names, of which none is seen, also in records."""
    match key:
        case Unknown(origin=Item(of=Unknown(number=names), key=None)):
            ordinal = machine.remembered.get((ORDINAL, key.number))
            return None if ordinal is None else (names, ordinal)
        case Unknown(origin=Item(of=Unknown() as record, key=int() | str() as place)):
            found = _name_among(machine, record)
            return None if found is None else (*found, place)
    return None


def stood_for(machine: Machine) -> list[Value]:
    """The entries of dicts of which one was taken for that of an unknown key, which each of them may be."""
    found = machine.remembered.setdefault("entries of which one was taken for another", [])
    assert isinstance(found, list)
    return found


class Dict(Container):
    """A dict; keys are compared by value where they are constants, by identity otherwise.

    One that is `shared` was made by the top level of another module: importing modules may have filled it.
    """

    __slots__ = ("default", "entries", "shared")
    kind_name = "dict"

    def __init__(self, entries: dict[object, tuple[Value, Value]] | None = None, *, open: bool = False) -> None:
        self.entries: dict[object, tuple[Value, Value]] = {} if entries is None else entries
        self.open = open
        self.default: Value = UNDEFINED
        self.shared = False

    def parts(self) -> Sequence[Value]:
        return [value for _, value in self.entries.values()]

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return iter([key for key, _ in self.entries.values()])

    def look_up(self, key: Value) -> Value:
        entry = self.entries.get(place_of(key))
        return UNDEFINED if entry is None else entry[1]

    def known_as(self, machine: Machine, key: Value) -> Value:
        """The key that is there for a name when a program goes through the same names again; else the key itself."""
        name = None if place_of(key) in self.entries else _name_among(machine, key)
        if name is None:
            return key
        return next((each for each, _ in self.entries.values() if _name_among(machine, each) == name), key)

    def store(self, key: Value, value: Value) -> None:
        self.entries[place_of(key)] = (key, value)

    def item(self, machine: Machine, key: Value) -> Value:
        key = self.known_as(machine, key)
        found = self.look_up(key)
        if found is not UNDEFINED:
            return found
        if self.default is not UNDEFINED:
            made = machine.call(self.default, Arguments())
            self.store(key, made)
            return made
        if (
            isinstance(key, CONSTANTS)
            and not self.open
            and all(isinstance(k, CONSTANTS) for k, _ in self.entries.values())
        ):
            raise machine.error("KeyError", key if isinstance(key, str) else shown(key), self)
        if not self.open and (len(self.entries) == 1 or self._is_all_without_graph(machine)):
            return self.parts()[-1]  # Any other key would raise.
        live = self._live_entries(machine)
        if live and not (self.open and isinstance(key, CONSTANTS)):
            return self._stand_in(machine, key, live)
        chosen = self.chosen(machine, key)
        if chosen is not UNDEFINED:
            return chosen
        numbers = not self.open and bool(self.entries) and all(map(_is_number, self.parts()))
        kind = Made.NUMBER if numbers else Made.SOMETHING
        made = machine.unknown("item of a dict", ("item", id(self), identity(key)), (self,), made=kind)
        self.store(key, made)
        return made

    def chosen(self, machine: Machine, key: Value) -> Value:
        """The entry that a key that is not known is taken for; `UNDEFINED` where nothing determines it."""
        default = self.look_up(key.hint) if isinstance(key, Unknown) and isinstance(key.hint, CONSTANTS) else UNDEFINED
        return machine.library.chosen(machine, self.parts(), key, default)

    def _live_entries(self, machine: Machine) -> Sequence[Value]:
        """The entries that stand for any of them: all if all are on a graph.

        Where no key is seen, as in a memory of nodes, some entries may have been written yet and others not: those that
        are on a graph.
        """
        if self.is_live(machine):
            return self.parts()
        if not all(_is_unseen(key) for key, _ in self.entries.values()):
            return ()
        return [each for each in self.parts() if machine.library.is_live(each)]

    def _stand_in(self, machine: Machine, key: Value, parts: Sequence[Value]) -> Value:
        """The entry that an unknown key is taken for: the newest for the first such key, another one for the next.

        Two keys may be two entries, such as the losses of several tasks; where there are more keys than entries, the
        last ones are of nothing that is known.
        """
        standing = machine.remembered.setdefault(("stand-ins", machine.id_of(self), *machine.loops()[:-1]), [])
        assert isinstance(standing, list)
        place = _name_among(machine, key) or place_of(key)
        if place not in standing:
            standing.append(place)
        index = standing.index(place)
        if index >= len(parts):
            return machine.unknown("item of a dict", None, (self,))
        stood_for(machine).extend(parts)
        return parts[-1 - index]

    def _is_all_without_graph(self, machine: Machine) -> bool:
        parts = self.parts()
        may_be_filled = any(isinstance(each, Container) for each in parts)
        return bool(parts) and not may_be_filled and all(map(machine.library.lacks_graph, parts))

    def is_live(self, machine: Machine) -> bool:
        """True if each entry is a tensor on a graph: the newest stands for any of them."""
        return bool(self.entries) and all(map(machine.library.is_live, self.parts()))

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        key = self.known_as(machine, key)
        before = self.look_up(key)
        self.store(key, value)
        machine.note_stored(self, key, value, before)

    def delete_item(self, machine: Machine, key: Value) -> None:
        self.entries.pop(place_of(self.known_as(machine, key)), None)

    def contains(self, machine: Machine, item: Value) -> Value:
        mine = place_of(self.known_as(machine, item))
        if mine in self.entries:
            return True
        if not self.entries and not self.open:
            return False
        keys = [key for key, _ in self.entries.values()]
        if not self.open and isinstance(item, CONSTANTS) and all(isinstance(key, CONSTANTS) for key in keys):
            return item in keys
        asked = machine.unknown("membership", ("in", mine, id(self), len(keys)), (item,), data=True)
        if isinstance(asked, Unknown) and self._live_entries(machine):
            asked.hint = True
        return asked

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if operator == "or" and isinstance(other, Dict):
            left, right = (other, self) if reflected else (self, other)
            return Dict({**left.entries, **right.entries}, open=left.open or right.open)
        return NotImplemented

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        return machine.unknown("comparison of dicts", None, (self, other), data=True)

    def attribute(self, machine: Machine, name: str) -> Value:
        method = _DICT_METHODS.get(name)
        if method is None:
            return super().attribute(machine, name)
        return NativeFunction(f"dict.{name}", lambda m, a: method(m, self, a))


class Namespace(Dict):
    """The `__dict__` of an instance: what is stored there is an attribute."""

    __slots__ = ("attributes",)

    def __init__(self, attributes: dict[str, Value], *, open: bool) -> None:
        self.attributes = attributes
        super().__init__({place_of(name): (name, value) for name, value in attributes.items()}, open=open)

    def store(self, key: Value, value: Value) -> None:
        super().store(key, value)
        if isinstance(key, str):
            self.attributes[key] = value

    def delete_item(self, machine: Machine, key: Value) -> None:
        super().delete_item(machine, key)
        if isinstance(key, str):
            self.attributes.pop(key, None)


def _is_unseen(key: Value) -> bool:
    """True for a key of which nothing is known, and for a number that was read out of a tensor."""
    return isinstance(key, Unknown) or (isinstance(key, Object) and key.type_name() == "int")


def _is_number(value: Value) -> bool:
    """True for a number, and for one of several."""
    if isinstance(value, Unknown):
        return isinstance(value.origin, Computed) and value.origin.made is Made.NUMBER
    return type(value) in (int, float)


def _get(machine: Machine, target: Dict, arguments: Arguments) -> Value:
    key = target.known_as(machine, arguments.get(0, "key", None))
    found = target.look_up(key)
    if found is not UNDEFINED:
        return found
    default = arguments.get(1, "default", None)
    if not target.entries and not target.open:
        return default
    if not target.open and isinstance(default, Object) and target.is_live(machine):
        return target.parts()[-1] if machine.decide(target.contains(machine, key), machine.node) else default
    if target.open or not (isinstance(key, CONSTANTS) or _is_told_apart(target, key)):
        chosen = target.chosen(machine, key)
        if chosen is not UNDEFINED:
            return chosen
        unknown = machine.unknown("item of a dict", ("item", id(target), identity(key)), (target,))
        if isinstance(unknown, Unknown) and isinstance(default, CONSTANTS):
            unknown.hint = default
        return unknown
    return default


def _is_told_apart(target: Dict, key: Value) -> bool:
    """True if a key is an instance that equals nothing but itself, and all keys of the dict are known."""
    plain = isinstance(key, Instance) and key.cls.find("__eq__") is UNDEFINED and not key.cls.open
    return plain and not any(isinstance(each, Unknown) for each, _ in target.entries.values())


def _setdefault(machine: Machine, target: Dict, arguments: Arguments) -> Value:
    key = target.known_as(machine, arguments.get(0, "key", None))
    found = target.look_up(key)
    if found is not UNDEFINED:
        return found
    default = arguments.get(1, "default", None)
    target.store(key, default)
    return default


def _dict_pop(machine: Machine, target: Dict, arguments: Arguments) -> Value:
    key = target.known_as(machine, arguments.get(0, "key", None))
    entry = target.entries.pop(place_of(key), None)
    if entry is not None:
        return entry[1]
    default = arguments.get(1, "default")
    return machine.unknown("item of a dict", None, (target,)) if default is UNDEFINED else default


def make_dict(machine: Machine, arguments: Arguments) -> Dict:
    """`dict(...)` of a dict or pairs, and of keywords."""
    made = Dict(open=arguments.open)
    update(machine, made, arguments)
    return made


def update(machine: Machine, target: Dict, arguments: Arguments) -> Value:
    """`dict.update` with a dict, pairs, or keywords; something unknown leaves the dict open."""
    for value in arguments.positional:
        if isinstance(value, Dict):
            if value.open:
                _blur(machine, target)
            for key, entry in value.entries.values():
                target.store(key, entry)
            target.open = target.open or value.open
            continue
        pairs, more = (_pairs_of(machine, value), True) if isinstance(value, Unknown) else sample(machine, value)
        if more:
            _blur(machine, target)
            target.open = True
        for pair in pairs:
            if isinstance(pair, tuple) and len(pair) == 2:
                target.store(pair[0], pair[1])
            else:
                target.open = True
    for name, value in arguments.keywords.items():
        target.store(name, value)
    return None


def _pairs_of(machine: Machine, value: Unknown) -> list[Value]:
    """Some of the pairs that a method of something unknown gives: `items()` and its like."""
    if not isinstance(value.origin, Call):
        return []
    if value.origin.name != "items" and not value.origin.name.startswith("named_"):
        return []
    item = machine.library.unknown_item
    pairs = islice(endless(machine, value, ()), SOME)
    return [(item(machine, pair, 0), item(machine, pair, 1)) for pair in pairs if isinstance(pair, Unknown)]


def _blur(machine: Machine, target: Dict) -> None:
    """Entries that something unknown is written over: settings may have other values now; tensors are presumed not."""
    for key, value in list(target.entries.values()):
        if isinstance(value, (*CONSTANTS, Instance, Class, Function)):
            target.store(key, blurred(machine, target, value, "item of a dict"))


def blurred(machine: Machine, owner: Object, value: Value, cause: str) -> Value:
    """What a setting is by now, if something unknown may have been written over it: probably what it was."""
    unknown = machine.unknown(cause, None, (owner,))
    if isinstance(unknown, Unknown) and isinstance(value, CONSTANTS):
        unknown.hint = value
    return unknown


def _dict_clear(machine: Machine, target: Dict, arguments: Arguments) -> Value:
    target.entries.clear()
    target.open = False
    return None


_DICT_METHODS: dict[str, Callable[[Machine, Dict, Arguments], Value]] = {
    "get": _get,
    "items": lambda m, t, a: List([(k, v) for k, v in t.entries.values()], open=t.open),
    "keys": lambda m, t, a: List([k for k, _ in t.entries.values()], open=t.open),
    "values": lambda m, t, a: List([v for _, v in t.entries.values()], open=t.open),
    "pop": _dict_pop,
    "update": update,
    "setdefault": _setdefault,
    "clear": _dict_clear,
    "copy": lambda m, t, a: Dict(dict(t.entries), open=t.open),
}


class Set(Container):
    """A set; items are compared as dict keys are."""

    __slots__ = ("members",)
    kind_name = "set"

    def __init__(self, items: Sequence[Value], *, open: bool = False) -> None:
        self.members = {place_of(item): item for item in items}
        self.open = open

    def parts(self) -> Sequence[Value]:
        return tuple(self.members.values())

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return iter(list(self.members.values()))

    def contains(self, machine: Machine, item: Value) -> Value:
        return contains(machine, list(self.members.values()), item, self.open)

    @property
    def _is_known(self) -> bool:
        """True if all members are known and comparable."""
        return not self.open and all(
            type(each) in _TOLD_APART or isinstance(each, (Class, Function)) or hasattr(each, "dict_key")
            for each in self.members.values()
        )

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if not isinstance(other, Set) or not (self._is_known and other._is_known):
            return machine.unknown("comparison of sets", None, (self, other))
        left, right = (other, self) if reflected else (self, other)
        return bool(getattr(host, operator)(left.members.keys(), right.members.keys()))

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        combine = _COMBINING.get(operator)
        if combine is None or not isinstance(other, Set) or not (self._is_known and other._is_known):
            return NotImplemented
        left, right = (other, self) if reflected else (self, other)
        both = {**right.members, **left.members}
        kept = combine(left.members.keys(), right.members.keys())
        return Set([both[place] for place in both if place in kept])

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "add":
            return NativeFunction("set.add", lambda m, a: self.members.update({place_of(a.get(0, "x")): a.get(0, "x")}))
        if name in ("discard", "remove"):
            return NativeFunction(f"set.{name}", lambda m, a: self.members.pop(place_of(a.get(0, "x")), None) and None)
        if name == "update":
            return NativeFunction("set.update", self._update)
        if name in _COMBINED:
            return NativeFunction(f"set.{name}", lambda m, a: self._combined(m, _COMBINED[name], a))
        return super().attribute(machine, name)

    def _combined(self, machine: Machine, operator: str, arguments: Arguments) -> Value:
        """`union` and its kin, which take any iterables."""
        made = Set(list(self.parts()), open=self.open)
        for value in arguments.positional:
            items = sequence(machine, value)
            both = NotImplemented if items is None else made.binary(machine, operator, Set(items), False)
            if not isinstance(both, Set):
                return machine.unknown("a combination of sets", None, (self, *arguments.positional))
            made = both
        return made

    def _update(self, machine: Machine, arguments: Arguments) -> Value:
        for value in arguments.positional:
            items = sequence(machine, value)
            self.open = self.open or items is None
            self.members.update({place_of(item): item for item in items or ()})
        return None


_COMBINED = {"difference": "sub", "intersection": "and", "symmetric_difference": "xor", "union": "or"}

_TOLD_APART = frozenset({bytes, int, str, type(None)})
"""Kinds of constants of which different ones are never equal; 1, 1.0 and True are."""

_COMBINING: Mapping[str, Callable[[KeysView[object], KeysView[object]], Collected[object]]] = {
    "and": host.and_,
    "or": host.or_,
    "sub": host.sub,
    "xor": host.xor,
}


class Holder(Instance):
    """An instance of the program's own kind of `dict` or `list`: it holds its items in `content`.

    `shared` says that its items are its attributes as well (`self.__dict__ = self`).
    """

    __slots__ = ("content", "shared")

    def __init__(self, cls: Class, content: Container) -> None:
        super().__init__(cls)
        self.content = content
        self.shared = False

    def parts(self) -> Sequence[Value]:
        return (*self.content.parts(), *self.attributes.values())

    def native_attribute(self, machine: Machine, name: str) -> Value:
        if self.shared and isinstance(self.content, Dict):
            return self.content.look_up(name)
        return UNDEFINED

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        if name == "__dict__" and value is self:
            self.shared = True
        elif self.shared:
            self.content.set_item(machine, name, value)
        else:
            super().set_attribute(machine, name, value)

    def looked_up(self, machine: Machine, key: Value) -> Value:
        """The item of `key`, which `__missing__` may make."""
        content = self.content
        missing = self.cls.find("__missing__") if isinstance(content, Dict) else UNDEFINED
        if isinstance(missing, Object) and isinstance(content, Dict) and content.contains(machine, key) is False:
            return machine.call(missing, Arguments([self, key]))
        return content.item(machine, key)


def plain_content(value: Value) -> Value:
    """The dict or list that an instance of the program's own subclass of them wraps; any other value itself."""
    return value.content if isinstance(value, Holder) else value
