"""Iteration: the items of any value, as many as are known or worth their time."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from gradpath.interpreter.bounds import ITEMS, TOO_MUCH, Overworked, length_of
from gradpath.interpreter.values import CONSTANTS, UNDEFINED, NativeFunction, Object, Unknown, Value

if TYPE_CHECKING:
    from gradpath.interpreter.machine import Machine
    from gradpath.interpreter.ranges import Numbers
    from gradpath.interpreter.scope import Frame


class Container(Object):
    """A value that holds items; `open` says that it holds more than what is seen: its length is not known."""

    __slots__ = ("open",)

    open: bool

    def truth(self, machine: Machine) -> bool | None:
        return True if self.parts() else (None if self.open else False)

    def length(self, machine: Machine) -> int | None:
        return None if self.open else len(self.parts())

    def shown(self) -> int:
        """How many items represent it in an iteration, where it is open."""
        return SOME


class Iteration(Object):
    """An iterator in progress.

    `endless` says that the number of its items is not known, or not bounded; `counted` (of a `range` after it),
    `lengths` and `numbers` say more about it. `returned` gets what the body of a generator returns; `frame` is its own.
    The host must not refer to this object: a generator without references ends at once. `over` is what it draws from;
    `made` is where the program made it, `drained` where it took all that it yields.
    """

    __slots__ = (
        "counted",
        "depth",
        "drained",
        "endless",
        "frame",
        "host",
        "known",
        "lengths",
        "made",
        "numbers",
        "over",
        "returned",
    )
    kind_name = "generator"

    def __init__(
        self, host: Iterator[Value], *, endless: bool = False, counted: int | None = None, over: Sequence[Value] = ()
    ) -> None:
        self.host = host
        self.endless = endless
        self.counted = counted
        self.lengths: Sequence[tuple[Value, int]] = ()
        self.numbers: Numbers | None = None  # The range that it is.
        self.returned: list[Value] = []
        self.frame: Frame | None = None
        self.made: object = None
        self.drained: object = None
        self.over = over
        self.known: int = max(map(known_items, over), default=0)
        self.depth: int = 1 + max((each.depth for each in over if isinstance(each, Iteration)), default=0)
        if self.depth > DEEPEST:
            raise Overworked

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return self.host

    def truth(self, machine: Machine) -> bool | None:
        return True

    def attribute(self, machine: Machine, name: str) -> Value:
        if name in ("__next__", "next"):  # Iterators had the second one in Python 2, those of loaders for longer.
            return NativeFunction("next", lambda m, a: self.advance(m))
        if name == "__iter__":
            return NativeFunction("iter", lambda m, a: self)
        if name == "send" and isinstance(self.host, Generator):
            return NativeFunction("send", lambda m, a: self.advance(m, a.get(0, "value", None)))
        if name == "close":
            return NativeFunction("close", lambda m, a: self.close())
        return super().attribute(machine, name)

    def close(self) -> None:
        """Close a generator: its `with` blocks are left, its `finally` blocks run."""
        if isinstance(self.host, Generator):
            self.host.close()

    def advance(self, machine: Machine, sent: Value = None, default: Value = UNDEFINED) -> Value:
        """The next item; raises StopIteration in the interpreted program, or gives `default`."""
        budget = machine.budget
        before = budget.begin()
        try:
            if isinstance(self.host, Generator) and sent is not None:
                return cast(Value, self.host.send(sent))
            return next(self.host)
        except StopIteration:
            if default is not UNDEFINED:
                return default
            raise machine.error("StopIteration", "") from None
        except TOO_MUCH:
            self.give_up(machine)
            return next(self.host)
        finally:
            budget.end(before)

    def give_up(self, machine: Machine) -> None:
        """Draw nothing more from where the items came from: that was too much. Those that follow are unknown."""
        machine.give_up(machine.node)
        self.host, self.endless = endless(machine, self, ()), True


def known_items(value: Value) -> int:
    """How many items of a value the program itself has put there: each may be unlike the others."""
    if isinstance(value, tuple):
        return len(value)
    return value.known if isinstance(value, Iteration) else len(value.parts()) if isinstance(value, Container) else 0


def gone_through(value: Value) -> Value:
    """The iterable of a loop: for a progress bar (an object with a method of that name) what it wraps."""
    within = getattr(value, "gone_through", None)
    return value if within is None else within()


def use_up(machine: Machine, value: Value) -> None:
    """Note that the program has taken all items of an iterator, and with them those of what it draws from."""
    match value:
        case Iteration(drained=None):
            value.drained = machine.site()
            if value.over or not value.endless:
                value.host, value.endless = iter(()), False
            for each in value.over:
                use_up(machine, each)
        case Unknown():
            machine.library.use_up(machine, value)


def iterate(machine: Machine, value: Value) -> tuple[Iterator[Value], bool]:
    """The items of any value, and whether their number is unknown (then the iterator does not end by itself)."""
    value = gone_through(value)
    match value:
        case Iteration():
            if getattr(value.host, "gi_running", False):
                raise machine.error("ValueError", "generator already executing", value)
            if value.drained is not None:
                machine.library.is_used_up(machine, value)
            return value.host, value.endless
        case Unknown() if machine.library.is_used_up(machine, value):
            return iter(()), False
        case Container():
            items = list(value.iterate(machine) or ())
            machine.budget.spend(len(items) // COPIED)
            if value.open:
                return itertools.chain(items, endless(machine, value, items)), True
            return iter(items), False
        case range():
            return (metered(machine, value) if length_of(value) > ITEMS else iter(value)), False
        case tuple() | str() | bytes():
            return iter(value), False
        case Object():
            found = value.iterate(machine)
            if found is not None:
                return found, False
            return endless(machine, value, ()), True
    raise machine.error("TypeError", f"'{type(value).__name__}' object is not iterable", value)


def metered(machine: Machine, items: Iterable[Value]) -> Iterator[Value]:
    """Many items, each of which costs work."""
    for item in items:
        machine.budget.spend()
        yield item


ORDINAL = "ordinal"
"""With the number of an unknown item, the key under which a path remembers which one of an iteration it is."""


def endless(machine: Machine, source: Value, seen: Sequence[Value]) -> Iterator[Value]:
    """Items of an unknown iterable, without end: those that it shows, and then new ones."""
    fresh = getattr(source, "fresh_item", None)
    yield from getattr(source, "shown_items", ())
    for ordinal in itertools.count():
        machine.budget.spend()
        if fresh is not None:
            yield fresh(machine)
        elif isinstance(source, Unknown):
            item = machine.library.unknown_item(machine, source, None, ordinal)
            if isinstance(item, Unknown):
                machine.remembered[ORDINAL, item.number] = ordinal
            yield item
        else:
            yield _another(machine, seen)


def _another(machine: Machine, seen: Sequence[Value]) -> Value:
    """One more item of a list of which not all are seen: like the others, but with a graph of its own, if any."""
    if seen and all(map(machine.library.lacks_graph, seen)):
        return seen[-1]
    alike = all(isinstance(each, CONSTANTS) for each in seen)
    return machine.unknown("item of an iterable", None, tuple(seen) if alike else ())


SOME = 2
"""The number of items that represent an unknown iterable in a list, a comprehension or a sum."""

BARREN = 8
"""Items in a row of an endless iterable that a test may turn down before nothing more is taken to pass it."""

COPIED = 16
"""Items that are copied, or looked at one after the other, in the time of one piece of work."""

DEEPEST = 50
"""Iterators over iterators over iterators that are followed."""


def sequence(machine: Machine, value: Value) -> list[Value] | None:
    """All items of `value`; None where their number is not known."""
    value = gone_through(value)
    if isinstance(value, Unknown):
        return None
    if not isinstance(value, (Object, tuple, range, str, bytes)):
        raise machine.error("TypeError", f"'{type(value).__name__}' object is not iterable", value)
    items, is_whole = _drawn(machine, value, ITEMS + 1)
    return items if is_whole else None


def sample(machine: Machine, value: Value, limit: int = ITEMS) -> tuple[list[Value], bool]:
    """The items of `value`, or some of them: (items, whether there may be more)."""
    items, is_whole = _drawn(machine, value, limit)
    return items, not is_whole


def _drawn(machine: Machine, value: Value, limit: int) -> tuple[list[Value], bool]:
    """The items of `value` if these are fewer than `limit`, else some of them; and whether these are all."""
    value = gone_through(value)
    host, is_endless = iterate(machine, value)
    if is_endless:
        limit = value.shown() if isinstance(value, Container) else max(SOME, known_items(value))
    items: list[Value] = []
    before = machine.budget.begin()
    try:
        items.extend(itertools.islice(host, limit))
        use_up(machine, value)
        return items, len(items) < limit and not is_endless
    except TOO_MUCH:
        if isinstance(value, Iteration):
            value.give_up(machine)
        return items, False
    finally:
        machine.budget.end(before)
        machine.budget.spend(len(items) // COPIED)
