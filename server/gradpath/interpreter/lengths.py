"""The decisions of a path about an unknown length: whether the current iteration of a loop is the last one.

`retain_graph=i < n - 1` in a loop over `range(n)` is false in the last iteration only: where a path takes it to be
false, the loop ends.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Iterator, Sequence

from gradpath.interpreter.iteration import Iteration
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import AtLeast
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

Question = tuple[str, Unknown, Value, bool]
"""A comparison of two values, and its result in the last iteration; in those before it is the other one."""


class Ending:
    """What a path has decided on the end of a loop over an unknown number of items."""

    def __init__(self, machine: Machine, iterated: Value) -> None:
        self._machine = machine
        self._iterated = iterated
        self._is_put_off = False

    def is_decided(self, item: Value, done: int) -> bool:
        """True if there are no more iterations than so many, of which `item` is the last."""
        return any(answer is last for answer, last in self._answers(item, done))

    def is_put_off(self, item: Value, done: int) -> bool:
        """True if there is one more, because the last one so far is not the last: the next one will be."""
        answers = [] if self._is_put_off else list(self._answers(item, done))
        self._is_put_off = bool(answers) and all(answer is not last for answer, last in answers)
        return self._is_put_off

    def begin(self, item: Value, done: int) -> None:
        """An iteration begins: if the end was put off to it, the path takes it for the last one."""
        if self._is_put_off:
            for operator, left, right, last in _questions(self._machine, self._iterated, item, done):
                for reflected in (True, False) if operator in _COMPARED else ():
                    self._machine.assume(left.compare(self._machine, operator, right, reflected), last)

    def _answers(self, item: Value, done: int) -> Iterator[tuple[bool, bool]]:
        """The decisions that tell whether an iteration is the last, each with what it is in the last."""
        for operator, left, right, last in _questions(self._machine, self._iterated, item, done):
            for answer in _answers(self._machine, operator, left, right):
                yield answer, last


def _questions(machine: Machine, iterated: Value, item: Value, done: int) -> Iterator[Question]:
    if isinstance(iterated, Unknown):
        yield from _of_end(machine, iterated, item)
    elif isinstance(iterated, Iteration):
        for value, number in _ends(machine, iterated.lengths, done):
            for operator, outcome in _IN_THE_LAST.items():
                yield from ((operator, value, each, outcome) for each in _numbers_like(machine, number, item))
        if iterated.numbers is not None:
            yield from _of_numbers(machine, iterated.numbers, item)


def _numbers_like(machine: Machine, number: int, item: Value) -> Iterator[Value]:
    """A number, and the value that is as much where the counter in an item stands for later ones as well."""
    yield number
    counter = item[0] if isinstance(item, tuple) and item else item
    if isinstance(counter, AtLeast):
        yield counter.binary(machine, "add", number - counter.minimum, False)


def _answers(machine: Machine, operator: str, left: Unknown, right: Value) -> Iterator[bool]:
    """The path's decision on a comparison."""
    ends = left.number, identity(right)
    keys = (("is", *ends),) if operator == "is" else [("compare", operator, each, *ends) for each in (True, False)]
    for key in keys:
        asked = machine.unknowns.get(key)
        answer = None if asked is None else machine.decided(asked)
        if answer is not None:
            yield answer


def _of_end(machine: Machine, iterated: Unknown, item: Value) -> Iterator[Question]:
    """`x != items[-1]`, and `x is items[-1]`."""
    end = machine.unknowns.get(("item", iterated.number, identity(-1)))
    if isinstance(item, Unknown) and isinstance(end, Unknown):
        for one, other in ((item, end), (end, item)):
            yield "eq", one, other, True
            yield "ne", one, other, False
            yield "is", one, other, True


def _of_numbers(machine: Machine, numbers: Numbers, item: Value) -> Iterator[Question]:
    """Comparisons of a range's number with its end that come out otherwise in the last iteration alone."""
    sign, step = (1, numbers.step) if numbers.step > 0 else (-1, -numbers.step)
    for number, more in _near(machine, item, step):
        for end, beyond in _near(machine, numbers.stop, step):
            for left, right, towards in ((number, end, -sign), (end, number, sign)):
                shift = more - beyond if left is number else beyond - more
                if not isinstance(left, Unknown):
                    continue
                for operator, compare in _COMPARED.items():
                    for last in (True, False):
                        if _tells(compare, shift, towards, step, last):
                            yield operator, left, right, last


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
    elif isinstance(value, AtLeast):
        yield from ((value.binary(machine, "add", each, False), each) for each in distances)
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
