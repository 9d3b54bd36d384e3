"""Late iterations of a loop, each of which represents all after the first few, and the values of counters in them."""

from __future__ import annotations

from functools import partial

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import AtLeast, LateNumber, Moment
from gradpath.interpreter.values import Instance, Value

Counters = list[tuple[dict[str, Value], dict[str, int]]]
"""Where counters are, and what they were before the loop."""

MOST = 3
"""Late iterations of a loop whose length is known; where it is not known, two."""


class Late:
    """The late iterations of one loop; `length` is None where it is not known how many iterations it has."""

    def __init__(self, machine: Machine, counters: Counters, length: int | None) -> None:
        self._machine = machine
        self.counters = counters
        self._length = length
        self._count = 0
        self._tested = 0
        self._moment: Moment | None = None
        self._paces: list[tuple[dict[str, Value], str, int]] = []
        self._iteration = 0

    def asks_for_more(self) -> bool:
        """True if the last iteration depended on its counter, so that one more iteration may do the same again."""
        moment = self._moment
        if moment is None or self._length is None:
            return self._count == 1 and self._machine.counter_tests > self._tested
        asked = moment.asked or (self._count == 1 and self._machine.counter_tests > self._tested)
        return asked and self._count < MOST and self._next() <= self._length

    def is_over(self) -> bool:
        """True if the late iteration was the last one that there is."""
        return self._length is not None and self._next() > self._length

    def _next(self) -> int:
        return 0 if self._moment is None else self._moment.candidates[0] + 1

    def begin(self, iteration: int) -> None:
        """A late iteration begins, `iteration` of those that are run."""
        if self._count == 0:
            self._tested = self._machine.counter_tests
        if self._length is None:
            if self._count == 0:
                advance(self.counters)
        else:
            first = iteration if self._moment is None else max(self._next(), iteration)
            self._set_out(Moment(first, self._length), iteration)
        self._count += 1
        self._iteration = iteration

    def _set_out(self, moment: Moment, iteration: int) -> None:
        """Let the counters that each iteration raised by as much go on like that."""
        last = self._moment
        if last is None:
            self._paces = _paces(self.counters, iteration - 1)
        for holder, name, pace in self._paces:
            value = holder.get(name)
            if isinstance(value, LateNumber) and value.moment is last:
                value = value.at(last.candidates[0])
            if type(value) is int:
                start = iteration if last is None else last.candidates[0] + 1
                holder[name] = LateNumber(moment, partial(_since, start), pace, value)
        self._moment = moment

    def item(self, item: Value, step: int) -> Value:
        """The loop's item in this iteration; `step` is that of a range."""
        if isinstance(item, tuple):
            return tuple(self._number(part, 1) if type(part) is int and i == 0 else part for i, part in enumerate(item))
        return self._number(item, step) if type(item) is int else item

    def _number(self, value: int, step: int) -> Value:
        if self._moment is None:
            return AtLeast(value)
        return LateNumber(self._moment, partial(_since, self._iteration), step, value)


def _since(start: int, iteration: int) -> int:
    return iteration - start


def counters_of(machine: Machine) -> Counters:
    """The whole numbers among the variables, and in the attributes of the objects that these hold: where, and what."""
    variables = machine.frame.scope.variables
    objects = {id(value): value for value in variables.values() if isinstance(value, Instance)}
    for value in list(objects.values()):
        objects.update({id(part): part for part in value.attributes.values() if isinstance(part, Instance)})
    holders = [variables, *(each.attributes for each in objects.values())]
    found = [(holder, {n: value for n, value in holder.items() if type(value) is int}) for holder in holders]
    return [(holder, numbers) for holder, numbers in found if numbers]


def advance(counters: Counters) -> None:
    """Let counters that the iterations so far have raised represent their later values too."""
    for holder, numbers in counters:
        for name, earlier in numbers.items():
            value = holder.get(name)
            if type(value) is int and value > earlier:
                holder[name] = AtLeast(value)


def forget(counters: Counters, variables: dict[str, Value]) -> None:
    """Let counters in attributes that a loop with further iterations has changed be any later number.

    Those among the `variables` are forgotten by the loop itself.
    """
    for holder, numbers in counters:
        for name, earlier in numbers.items() if holder is not variables else ():
            value = holder.get(name)
            value = value.at(value.moment.candidates[0]) if isinstance(value, LateNumber) else value
            if type(value) is int and value > earlier:
                holder[name] = AtLeast(value)


def _paces(counters: Counters, iterations: int) -> list[tuple[dict[str, Value], str, int]]:
    """By how much each iteration so far has raised the counters, if each by as much."""
    found: list[tuple[dict[str, Value], str, int]] = []
    for holder, numbers in counters:
        for name, earlier in numbers.items():
            value = holder.get(name)
            if type(value) is int and value > earlier and iterations and (value - earlier) % iterations == 0:
                found.append((holder, name, (value - earlier) // iterations))
    return found
