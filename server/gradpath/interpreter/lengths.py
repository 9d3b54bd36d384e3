"""What a path has settled of a length that is not known: that the iteration which a loop is in is the last one.

`retain_graph=i < n - 1` in a loop over `range(n)` is false in the last iteration alone: where a path takes it to be
false, nothing follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradpath.interpreter.containers import Iteration
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Made
from gradpath.interpreter.values import Unknown, Value, identity

Length = tuple[Value, int]
"""An unknown number, and by how much it is more than there are items."""


def lengths_of(machine: Machine, value: Value) -> Sequence[Length]:
    """What a program may ask for to learn how many items a value gives, of which that is not known."""
    if isinstance(value, Iteration):
        return value.lengths
    own = getattr(value, "lengths", None)
    if own is not None:
        return tuple((each, 0) for each in own(machine))
    return ((machine.unknown("length", ("len", identity(value)), (value,), made=Made.NUMBER), 0),)


_IN_THE_LAST = {"eq": True, "gt": False, "le": True}
"""How comparisons of what is so only at the end with what is so now turn out in the last iteration."""


def is_last(machine: Machine, lengths: Sequence[Length], done: int) -> bool:
    """Whether the path has decided that there are no more iterations than so many."""
    for value, number in _ends(machine, lengths, done):
        for operator, outcome in _IN_THE_LAST.items():
            for reflected in (True, False):
                asked = machine.unknowns.get(("compare", operator, reflected, value.number, identity(number)))
                if asked is not None and machine.decided(asked) is outcome:
                    return True
    return False


def _ends(machine: Machine, lengths: Sequence[Length], done: int) -> Iterator[tuple[Unknown, int]]:
    """The lengths, what they were computed from, and a little less than these, as they are if so many are all."""
    for length, more in lengths:
        if isinstance(length, Unknown):
            for term, number in ((length, done + more), *_summands(machine, length, done + more)):
                yield term, number
                for less in (1, 2):
                    known = _sum(machine, "sub", term, less)
                    if known is not None:
                        yield known, number - less


def _summands(machine: Machine, value: Unknown, number: int) -> Iterator[tuple[Unknown, int]]:
    """The unknown number to which a constant was added to get `value`, as it is where that is `number`."""
    match value.sources:
        case (Unknown() as term, int(constant)):
            for operator, sign in (("add", 1), ("sub", -1)):
                found = _sum(machine, operator, term, constant)
                if found is not None and found.number == value.number:
                    yield term, number - sign * constant


def _sum(machine: Machine, operator: str, term: Unknown, constant: int) -> Unknown | None:
    return machine.unknowns.get(("binary", operator, False, term.number, identity(constant)))
