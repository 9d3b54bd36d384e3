"""The decisions of a path about an unknown length: whether the current iteration of a loop is the last one.

`retain_graph=i < n - 1` in a loop over `range(n)` is false in the last iteration only: where a path takes it to be
false, the loop ends.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Iterator, Sequence

from gradpath.interpreter.iteration import Iteration
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Made
from gradpath.interpreter.ranges import Numbers
from gradpath.interpreter.values import Unknown, Value, identity

Length = tuple[Value, int]
"""An unknown number, and by how much it is more than there are items."""


def lengths_of(machine: Machine, value: Value) -> Sequence[Length]:
    """The attributes and methods by which a program asks for the unknown number of a value's items."""
    if isinstance(value, Iteration):
        return value.lengths
    own = getattr(value, "lengths", None)
    if own is not None:
        return tuple((each, 0) for each in own(machine))
    return ((machine.unknown("length", ("len", identity(value)), (value,), made=Made.NUMBER), 0),)


_IN_THE_LAST = {"eq": True, "gt": False, "le": True}
"""The results, in the last iteration, of comparing a final value with a current one."""


def is_last(machine: Machine, iterated: Value, item: Value, done: int) -> bool:
    """True if the path has decided that there are no more iterations than so many, of which `item` is the last."""
    if isinstance(iterated, Unknown):
        return _is_end(machine, iterated, item)
    if not isinstance(iterated, Iteration):
        return False
    for value, number in _ends(machine, iterated.lengths, done):
        for operator, outcome in _IN_THE_LAST.items():
            if outcome in _answers(machine, operator, value, number):
                return True
    return iterated.numbers is not None and _is_last_number(machine, iterated.numbers, item)


def _answers(machine: Machine, operator: str, left: Unknown, right: Value) -> Iterator[bool]:
    """The path's decision on a comparison."""
    for reflected in (True, False):
        asked = machine.unknowns.get(("compare", operator, reflected, left.number, identity(right)))
        answer = None if asked is None else machine.decided(asked)
        if answer is not None:
            yield answer


def _is_end(machine: Machine, iterated: Unknown, item: Value) -> bool:
    """True if the path has decided that an item is the last one: `x != items[-1]` was false."""
    end = machine.unknowns.get(("item", iterated.number, identity(-1)))
    if not isinstance(item, Unknown) or not isinstance(end, Unknown):
        return False
    pairs: Sequence[tuple[Unknown, Unknown]] = ((item, end), (end, item))
    if any(outcome for one, other in pairs for outcome in _answers(machine, "eq", one, other)):
        return True
    if any(not outcome for one, other in pairs for outcome in _answers(machine, "ne", one, other)):
        return True
    same = (machine.unknowns.get(("is", one.number, identity(other))) for one, other in pairs)
    return any(each is not None and machine.decided(each) is True for each in same)


def _is_last_number(machine: Machine, numbers: Numbers, item: Value) -> bool:
    """True if the path has decided that a range comes to its end: by a comparison of its number with its end."""
    sign, step = (1, numbers.step) if numbers.step > 0 else (-1, -numbers.step)
    for number, more in _near(machine, item, step):
        for end, beyond in _near(machine, numbers.stop, step):
            for left, right, towards in ((number, end, -sign), (end, number, sign)):
                shift = more - beyond if left is number else beyond - more
                if not isinstance(left, Unknown):
                    continue
                for operator in _COMPARED:
                    for outcome in _answers(machine, operator, left, right):
                        if _tells(_COMPARED[operator], shift, towards, step, outcome):
                            return True
    return False


_COMPARED: dict[str, Callable[[int, int], bool]] = {
    name: getattr(operators, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def _tells(compare: Callable[[int, int], bool], shift: int, towards: int, step: int, outcome: bool) -> bool:
    """True if a comparison turns out so in the last iteration alone.

    The last number is at most a step from the end. `shift` is by how much the left side is more where both are equal.
    """
    last = [compare(shift + towards * left, 0) for left in range(1, step + 1)]
    before = [compare(shift + towards * left, 0) for left in range(step + 1, 4 * step + 3)]
    return all(each is outcome for each in last) and not any(each is outcome for each in before)


def _near(machine: Machine, value: Value, step: int) -> Iterator[tuple[Value, int]]:
    """A number and what the program has added to it, each with by how much it is more."""
    distances = sorted({sign * each for each in (0, 1, 2, step) for sign in (1, -1)})
    if isinstance(value, int):
        yield from ((value + each, each) for each in distances)
    elif isinstance(value, Unknown):
        yield value, 0
        for each in distances:
            for operator, sign in (("add", 1), ("sub", -1)):
                found = _sum(machine, operator, value, sign * each)
                if found is not None:
                    yield found, each


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
