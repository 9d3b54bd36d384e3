"""Lists and iterators. An `open` container holds more than what is seen: its length is not known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.numbers import Length, LengthTest, unseen
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
    from gradpath.interpreter.scope import Frame


class Container(Object):
    """A value that holds items; `open` says that it holds more than what is seen."""

    __slots__ = ("open",)

    open: bool


_OF_TENSORS = frozenset({"backward", "clone", "detach", "requires_grad_"})
"""What is asked of a list by a program that takes it for a tensor."""


class List(Container):
    """A list (or deque).

    `filled` are the loops in which it was begun: made or emptied in a late iteration, or else given its first item.
    `tested` are the comparisons of its length where it stood for longer ones.
    """

    __slots__ = ("filled", "items", "tested")

    def __init__(
        self, items: list[Value], *, open: bool = False, filled: tuple[tuple[int, int], ...] | None = None
    ) -> None:
        self.items = items
        self.open = open
        self.filled = filled
        self.tested: list[LengthTest] | None = None

    def type_name(self) -> str:
        return "list"

    def parts(self) -> Sequence[Value]:
        return self.items

    def truth(self, machine: Machine) -> bool | None:
        return True if self.items else (None if self.open else False)

    def length(self, machine: Machine) -> int | None:
        return None if self.open else len(self.items)

    def is_longer(self, machine: Machine) -> bool:
        """Whether it stands for longer ones: earlier iterations of a loop filled it, and this one stands for many."""
        return self.filled is not None and machine.grows(self.filled)

    def least_length(self, machine: Machine) -> Value:
        """The length of a list that stands for longer ones."""
        if self.tested is None:
            self.tested = []
        shown, hidden = len(self.items), unseen(machine, self.tested)
        key = ("longer", id(self), shown, hidden)
        return machine.remembered.setdefault(key, Length(shown + hidden, shown, self.tested))

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return iter(self.items)

    def item(self, machine: Machine, key: Value) -> Value:
        if isinstance(key, slice):
            return List(self.items[key], open=self.open)
        if isinstance(key, int) and (key < 0 or not self.open) and -len(self.items) <= key < len(self.items):
            return self.items[key]
        if isinstance(key, int) and 0 <= key < len(self.items):
            return self.items[key]
        if isinstance(key, int) and not self.open:
            raise machine.error("IndexError", "list index out of range")
        chosen = machine.library.chosen(machine, self.items, key)
        return any_of(machine, self.items, "item of a list") if chosen is UNDEFINED else chosen

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        if isinstance(key, slice):
            new = sequence(machine, value)
            if new is None:
                self.open = True
            else:
                self.items[key] = new
                self.tested = None
        elif isinstance(key, int) and -len(self.items) <= key < len(self.items):
            self.items[key] = value
        elif self.items:
            self.items[-1] = value

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
            return List(left.items + right.items, open=left.open or right.open)
        if operator == "mul" and isinstance(other, int) and len(self.items) * other <= 4096:
            return List(self.items * other, open=self.open)
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
        return machine.unknown("comparison of lists", None, (self, other))

    def attribute(self, machine: Machine, name: str) -> Value:
        method = _LIST_METHODS.get(name)
        if method is None:
            if name in _OF_TENSORS and type(self) is List and not self.open:
                raise machine.error("AttributeError", f"'list' object has no attribute '{name}'", self)
            return super().attribute(machine, name)
        return NativeFunction(f"list.{name}", lambda m, a: method(m, self, a))


def extend(machine: Machine, target: List, value: Value) -> None:
    """Append all items of `value`; an unknown iterable leaves the list open."""
    items = sequence(machine, value)
    if items is None:
        target.items.append(machine.unknown("item of unknown", None, (value,)))
        target.open = True
    else:
        target.items.extend(items)
        target.open = target.open or bool(getattr(value, "open", False))


def _append(machine: Machine, target: List, arguments: Arguments) -> Value:
    value = arguments.get(0, "object", None)
    if target.filled is None:
        target.filled = machine.loops()
    target.items.append(value)
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
    target.items.insert(index if isinstance(index, int) else 0, arguments.get(1, "object", None))
    return None


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
    return machine.unknown("index of an item", None, (target,))


_LIST_METHODS: dict[str, Callable[[Machine, List, Arguments], Value]] = {
    "append": _append,
    "appendleft": lambda m, t, a: t.items.insert(0, a.get(0, "object", None)),
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
    "count": lambda m, t, a: m.unknown("count in a list", None, (t,)),
}


class Iteration(Object):
    """An iterator in progress.

    `endless` says that the number of its items is not known, or not bounded; `counted` is the length of the `range`
    behind it; `returned` gets what the body of a generator returns, and `frame` is the one that it runs in. The host
    must not refer to this object: a generator that nobody holds ends at once.
    """

    __slots__ = ("counted", "endless", "frame", "host", "returned")

    def __init__(self, host: Iterator[Value], *, endless: bool = False, counted: int | None = None) -> None:
        self.host = host
        self.endless = endless
        self.counted = counted
        self.returned: list[Value] = []
        self.frame: Frame | None = None

    def type_name(self) -> str:
        return "generator"

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return self.host

    def truth(self, machine: Machine) -> bool | None:
        return True

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "__next__":
            return NativeFunction("next", lambda m, a: self.advance(m))
        if name == "__iter__":
            return NativeFunction("iter", lambda m, a: self)
        if name == "send" and isinstance(self.host, Generator):
            return NativeFunction("send", lambda m, a: self.advance(m, a.get(0, "value", None)))
        if name == "close":
            return NativeFunction("close", lambda m, a: self.close())
        return super().attribute(machine, name)

    def close(self) -> None:
        """End a generator where it stands: its `with` blocks are left, its `finally` blocks run."""
        if isinstance(self.host, Generator):
            self.host.close()

    def advance(self, machine: Machine, sent: Value = None, default: Value = UNDEFINED) -> Value:
        """The next item; raises StopIteration in the interpreted program, or gives `default`."""
        try:
            if isinstance(self.host, Generator) and sent is not None:
                item: Value = self.host.send(sent)
                return item
            return next(self.host)
        except StopIteration:
            if default is not UNDEFINED:
                return default
            raise machine.error("StopIteration", "") from None


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
    return isinstance(value, CONSTANTS) or (isinstance(value, tuple) and all(map(_is_plain, value)))


def iterate(machine: Machine, value: Value) -> tuple[Iterator[Value], bool]:
    """The items of any value, and whether their number is unknown (then the iterator does not end by itself)."""
    match value:
        case Iteration():
            return value.host, value.endless
        case Container():
            items = list(value.iterate(machine) or ())
            if value.open:
                return itertools.chain(items, _endless(machine, value, items)), True
            return iter(items), False
        case tuple() | range() | str() | bytes():
            return iter(value), False
        case Object():
            found = value.iterate(machine)
            if found is not None:
                return found, False
            return _endless(machine, value, ()), True
        case _:
            raise machine.error("TypeError", f"'{type(value).__name__}' object is not iterable", value)


def _endless(machine: Machine, source: Value, seen: Sequence[Value]) -> Iterator[Value]:
    """Items of an unknown iterable, without end; each is a new one."""
    fresh = getattr(source, "fresh_item", None)
    while True:
        if fresh is not None:
            yield fresh(machine)
        elif isinstance(source, Unknown):
            yield machine.library.unknown_item(machine, source, None)
        else:
            yield _another(machine, seen)


def _another(machine: Machine, seen: Sequence[Value]) -> Value:
    """One more item of a list of which not all are seen: like the others, but with a graph of its own, if any."""
    alike = all(isinstance(each, CONSTANTS) or getattr(each, "kind", None) is Kind.PLAIN for each in seen)
    return machine.unknown("item of an iterable", None, tuple(seen) if alike else ())


SOME = 2
"""How many items of an unknown iterable stand for all of them in a list, a comprehension or a sum."""

BARREN = 8
"""Items in a row of an endless iterable that a test may turn down before nothing more is taken to pass it."""


def sequence(machine: Machine, value: Value, limit: int = 4096) -> list[Value] | None:
    """All items of `value`; None where their number is not known."""
    if isinstance(value, Unknown):
        return None
    if not isinstance(value, (Object, tuple, range, str, bytes)):
        raise machine.error("TypeError", f"'{type(value).__name__}' object is not iterable", value)
    host, endless = iterate(machine, value)
    if endless:
        return None
    items = list(itertools.islice(host, limit + 1))
    return None if len(items) > limit else items


def sample(machine: Machine, value: Value, limit: int = 4096) -> tuple[list[Value], bool]:
    """The items of `value`, or some of them: (items, whether there may be more)."""
    host, endless = iterate(machine, value)
    if not endless:
        items = list(itertools.islice(host, limit))
        return items, len(items) == limit
    known = value.items if isinstance(value, List) else ()
    count = max(SOME, len(known))
    return list(itertools.islice(host, count)), True


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
    return machine.unknown("membership", ("in", mine, tuple(identity(item) for item in items)), (wanted,))


def same_constants(left: Sequence[Value], right: Sequence[Value]) -> bool | None:
    """Whether two sequences of constants are equal; None where one holds something else."""
    if all(isinstance(item, CONSTANTS) for item in (*left, *right)):
        return list(left) == list(right)
    return None
