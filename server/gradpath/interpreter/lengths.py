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


def lengths_of(machine: Machine, value: Value) -> Sequence[Value]:
    """What a program may ask for to learn how many items a value gives, of which that is not known."""
    if isinstance(value, Iteration):
        return value.lengths
    own = getattr(value, "lengths", None)
    if own is not None:
        return tuple(own(machine))
    return (machine.unknown("length", ("len", identity(value)), (value,), made=Made.NUMBER),)


_IN_THE_LAST = {"eq": True, "gt": False, "le": True}
"""How comparisons of what is so only at the end with what is so now turn out in the last iteration."""


def is_last(machine: Machine, lengths: Sequence[Value], done: int) -> bool:
    """Whether the path has decided that there are no more iterations than so many."""
    for value, number in _ends(machine, lengths, done):
        for operator, outcome in _IN_THE_LAST.items():
            for reflected in (True, False):
                asked = machine.unknowns.get(("compare", operator, reflected, value.number, identity(number)))
                if asked is not None and machine.decided(asked) is outcome:
                    return True
    return False


def _ends(machine: Machine, lengths: Sequence[Value], done: int) -> Iterator[tuple[Unknown, int]]:
    """The lengths, and the index of the last item, with what they are if so many iterations are all."""
    for length in lengths:
        if isinstance(length, Unknown):
            yield length, done
            last = machine.unknowns.get(("binary", "sub", False, length.number, identity(1)))
            if last is not None:
                yield last, done - 1
