"""Lists, and what else works on sequences of items, such as sorting and membership."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gradpath.interpreter.bounds import ITEMS, is_light
from gradpath.interpreter.iteration import COPIED, SOME, Container, sample, sequence
from gradpath.interpreter.numbers import AtLeast, Length, LengthTest, unseen
from gradpath.interpreter.origins import Made
from gradpath.interpreter.values import (
    CONSTANTS,
    UNDEFINED,
    Arguments,
    NativeFunction,
    Object,
    Unknown,
    Value,
    identity,
)

if TYPE_CHECKING:
    from gradpath.interpreter.machine import Machine


_OF_TENSORS = frozenset({"backward", "clone", "detach", "requires_grad_"})
"""The methods and attributes by which a program uses a list as a tensor."""


class Slice(Object):
    """A slice of which some bound is not known; `count` is that of one from the start on: `[:count]`."""

    __slots__ = ("count",)
    kind_name = "slice"

    def __init__(self, count: Value = UNDEFINED) -> None:
        self.count = count


class List(Container):
    """A list (or deque).

    `filled` are the loops in which it was begun: made or emptied in a late iteration, or else given its first item.
    `tested` are the comparisons of its length where it stood for longer ones. `written` is what was put last at a place
    that is not known, and that place.
    """

    __slots__ = ("filled", "items", "tested", "written")
    kind_name = "list"

    def __init__(
        self, items: list[Value], *, open: bool = False, filled: tuple[tuple[int, int], ...] | None = None
    ) -> None:
        self.items = items
        self.open = open
        self.filled = filled
        self.tested: list[LengthTest] | None = None
        self.written: tuple[Value, Value] | None = None

    def parts(self) -> Sequence[Value]:
        return self.items

    def shown(self) -> int:
        return max(SOME, len(self.items))

    def is_longer(self, machine: Machine) -> bool:
        """True if the list may be longer: earlier iterations of a loop filled it, and this one represents many."""
        return self.filled is not None and machine.grows(self.filled)

    def least_length(self, machine: Machine) -> Value:
        """The length of a list that may be longer."""
        if self.tested is None:
            self.tested = []
        shown, hidden = len(self.items), unseen(machine, self.tested)
        key = ("longer", id(self), shown, hidden)
        return machine.remembered.setdefault(key, Length(shown + hidden, shown, self.tested))

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return iter(self.items)

    def item(self, machine: Machine, key: Value) -> Value:
        if isinstance(key, slice):
            machine.budget.spend(len(self.items) // COPIED)
            chosen = self.items[key]
            is_whole = key.stop is None and len(chosen) == len(self.items) and key.start != -len(chosen)
            return List(chosen, open=self.open, filled=self.filled if is_whole else None)
        if isinstance(key, Slice):  # Any of them may be in it.
            return List(list(self.items), open=True)
        if self.written is not None and key is self.written[0]:
            return self.written[1]
        if isinstance(key, int) and (key < 0 or not self.open) and -len(self.items) <= key < len(self.items):
            return self.items[key]
        if isinstance(key, int) and 0 <= key < len(self.items):
            return self.items[key]
        if isinstance(key, int) and not self.open:
            raise machine.error("IndexError", "list index out of range")
        found = machine.library.chosen(machine, self.items, key)
        return any_of(machine, self.items, "item of a list") if found is UNDEFINED else found

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        if isinstance(key, slice):
            new = sequence(machine, value)
            if new is None:
                self.open = True
            else:
                self._replace(machine, key, new)
                self.tested = None
        elif isinstance(key, int) and -len(self.items) <= key < len(self.items):
            self.items[key] = value
        else:
            self.written = (key, value)
            if self.items and not (isinstance(key, AtLeast) and key.minimum >= len(self.items)):
                self.items[-1] = value

    def _replace(self, machine: Machine, key: slice, new: list[Value]) -> None:
        """`self[key] = new`, of which Python asks that a slice with steps gets as many items as it has."""
        try:
            self.items[key] = new
        except ValueError as error:
            raise machine.error("ValueError", str(error), self) from None
        self.trim(machine)

    def trim(self, machine: Machine) -> None:
        """Keep no more items than are to be seen, after some have been added."""
        machine.budget.spend(len(self.items) // COPIED)
        if len(self.items) > ITEMS:
            del self.items[ITEMS:]
            self.open = True

    def delete_item(self, machine: Machine, key: Value) -> None:
        if isinstance(key, (int, slice)) and (isinstance(key, slice) or -len(self.items) <= key < len(self.items)):
            del self.items[key]
            if isinstance(key, slice):
                self.tested = None

    def contains(self, machine: Machine, item: Value) -> Value:
        return contains(machine, self.items, item, self.open)

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if operator == "add" and isinstance(other, List):
            left, right = (other, self) if reflected else (self, other)
            made = List(left.items + right.items, open=left.open or right.open)
            made.trim(machine)
            return made
        if operator == "mul" and isinstance(other, int):
            times = min(other, ITEMS // max(1, len(self.items)) + 1)
            made = List(self.items * times, open=self.open)
            made.trim(machine)
            return made
        if operator == "mul" and isinstance(other, Unknown):
            return List(self.items * 2, open=True)
        return NotImplemented

    def inplace(self, machine: Machine, operator: str, other: Value) -> Value:
        if operator == "add":
            extend(machine, self, other)
            return self
        return NotImplemented

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if operator in ("eq", "ne") and isinstance(other, List):
            settled = same_constants(self.items, other.items)
            if settled is not None and not self.open and not other.open:
                return settled if operator == "eq" else not settled
        return machine.unknown("comparison of lists", None, (self, other), data=True)

    def attribute(self, machine: Machine, name: str) -> Value:
        method = _LIST_METHODS.get(name)
        if method is None:
            if name in _OF_TENSORS and type(self) is List and not self.open:
                raise machine.error("AttributeError", f"'list' object has no attribute '{name}'", self)
            return super().attribute(machine, name)
        return NativeFunction(f"list.{name}", lambda m, a: method(m, self, a))


def extend(machine: Machine, target: List, value: Value) -> None:
    """Append all items of `value`; an unknown iterable leaves the list open."""
    items, more = sample(machine, value)
    if target.filled is None:
        target.filled = machine.loops()
    target.items.extend(items)
    target.open = target.open or more or bool(getattr(value, "open", False))
    target.trim(machine)


def _append(machine: Machine, target: List, arguments: Arguments) -> Value:
    return _put(machine, target, len(target.items), arguments.get(0, "object", None))


def _put(machine: Machine, target: List, place: int, value: Value) -> Value:
    if target.filled is None:
        target.filled = machine.loops()
    target.items.insert(place, value)
    machine.note_stored(target, None, value)
    return None


def _pop(machine: Machine, target: List, arguments: Arguments) -> Value:
    index = arguments.get(0, "index", -1)
    if target.items and isinstance(index, int) and -len(target.items) <= index < len(target.items):
        return target.items.pop(index)
    if not target.open and not target.items:
        raise machine.error("IndexError", "pop from empty list")
    return any_of(machine, target.items, "item of a list")


def _insert(machine: Machine, target: List, arguments: Arguments) -> Value:
    index = arguments.get(0, "index", 0)
    place = max(-ITEMS, min(index, ITEMS)) if isinstance(index, int) else 0
    return _put(machine, target, place, arguments.get(1, "object", None))


def _remove(machine: Machine, target: List, arguments: Arguments) -> Value:
    wanted = identity(arguments.get(0, "value", None))
    for index, item in enumerate(target.items):
        if identity(item) == wanted:
            del target.items[index]
            return None
    return None


def _clear(machine: Machine, target: List, arguments: Arguments) -> Value:
    target.items.clear()
    target.open, target.tested = False, None
    target.filled = machine.loops() if machine.late_loops else None
    return None


def _sort(machine: Machine, target: List, arguments: Arguments) -> Value:
    target.items[:] = ordered(machine, list(target.items), arguments)
    return None


def _index(machine: Machine, target: List, arguments: Arguments) -> Value:
    wanted = identity(arguments.get(0, "value", None))
    for index, item in enumerate(target.items):
        if identity(item) == wanted:
            return index
    return machine.unknown("index of an item", None, (target,), data=True)


_LIST_METHODS: dict[str, Callable[[Machine, List, Arguments], Value]] = {
    "append": _append,
    "appendleft": lambda m, t, a: _put(m, t, 0, a.get(0, "object", None)),
    "extend": lambda m, t, a: extend(m, t, a.get(0, "iterable", ())),
    "insert": _insert,
    "pop": _pop,
    "popleft": lambda m, t, a: _pop(m, t, Arguments([0])),
    "remove": _remove,
    "clear": _clear,
    "copy": lambda m, t, a: List(list(t.items), open=t.open),
    "reverse": lambda m, t, a: t.items.reverse(),
    "sort": _sort,
    "index": _index,
    "count": lambda m, t, a: m.unknown("count in a list", None, (t,), made=Made.NUMBER),
}


def ordered(machine: Machine, items: list[Value], arguments: Arguments) -> list[Value]:
    """The items sorted, where their keys are plain values that can be compared; else as they are."""
    key = arguments.keywords.get("key")
    keys = items if key is None else [machine.call(key, Arguments([item])) for item in items]
    if not all(_is_plain(each) for each in keys):
        return items
    try:
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=arguments.keywords.get("reverse") is True)  # type: ignore[arg-type]
    except TypeError:
        return items
    return [items[index] for index in order]


def _is_plain(value: Value) -> bool:
    if isinstance(value, tuple):
        return is_light(value) and all(map(_is_plain, value))
    return isinstance(value, CONSTANTS)


def is_slender(value: Value, most: int = ITEMS) -> bool:
    """True if a value and everything nested in it are small enough to be traversed."""
    todo: list[Sequence[Value]] = [(value,)]
    while todo:
        parts = todo.pop()
        most -= len(parts)
        if most < 0:
            return False
        for part in parts:
            if isinstance(part, tuple):
                todo.append(part)
            elif isinstance(part, Container):
                todo.append(part.parts())
    return True


def everything_in(*values: Value) -> Iterator[Value]:
    """Some values, and all that tuples and containers among them hold: each once, though one may hold itself."""
    seen: dict[int, Value] = {}
    todo = [*values]
    while todo:
        value = todo.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            yield value
            todo += value if isinstance(value, tuple) else value.parts() if isinstance(value, Container) else ()


def handed_out(result: Value) -> Value:
    """What a function has returned; of a dict that it was handed, what it has put there."""
    return tuple(result.named.values()) if isinstance(result, Unknown) and result.named else result


def any_of(machine: Machine, items: Sequence[Value], cause: str) -> Value:
    """An item of which it is not known which one it is: the only candidate, else an unknown that comes from all."""
    if len(items) == 1:
        return items[0]
    return machine.unknown(cause, None, tuple(items))


def contains(machine: Machine, items: Sequence[Value], wanted: Value, open: bool) -> Value:
    """`wanted in items`, where that is settled by constants or identity."""
    if not items and not open:
        return False
    mine = identity(wanted)
    if any(identity(item) == mine for item in items):
        return True
    if not open and isinstance(wanted, CONSTANTS) and all(isinstance(item, CONSTANTS) for item in items):
        return wanted in items
    return machine.unknown("membership", ("in", mine, tuple(identity(item) for item in items)), (wanted,), data=True)


def same_constants(left: Sequence[Value], right: Sequence[Value]) -> bool | None:
    """True if two sequences of constants are equal; None where one holds something else."""
    if all(isinstance(item, CONSTANTS) for item in (*left, *right)):
        return list(left) == list(right)
    return None
