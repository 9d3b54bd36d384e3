"""The counters of late iterations: whole numbers of which a lower bound is known, or what they can be."""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradpath.interpreter.origins import Made
from gradpath.interpreter.values import Object, Unknown, Value, identity

if TYPE_CHECKING:
    from gradpath.interpreter.machine import Machine


class AtLeast(Object):
    """An int that is `minimum` or more: `offset` more than `start`, which is another one, or itself."""

    __slots__ = ("minimum", "offset", "start")
    kind_name = "int"

    is_data = True

    def __init__(self, minimum: int, start: AtLeast | None = None, offset: int = 0) -> None:
        self.minimum = minimum
        self.start = self if start is None else start
        self.offset = offset

    def decision_key(self) -> object:
        """What `i + 1` has in common, however often it is computed, so that tests of it agree."""
        return ("counter", self.start, self.offset)

    def truth(self, machine: Machine) -> bool | None:
        return True if self.minimum > 0 else None

    def unary(self, machine: Machine, operator: str) -> Value:
        return self if operator == "pos" else machine.unknown("arithmetic", None, (self,), made=Made.ARITHMETIC)

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if type(other) is int:
            if operator == "add":
                return AtLeast(self.minimum + other, self.start, self.offset + other)
            if operator == "sub" and not reflected:
                return AtLeast(self.minimum - other, self.start, self.offset - other)
            if operator == "mul" and other > 0:
                return AtLeast(self.minimum * other)
        if isinstance(other, AtLeast) and operator == "add":
            return AtLeast(self.minimum + other.minimum)
        if isinstance(other, Object):
            return NotImplemented
        key = ("binary", operator, reflected, identity(self), identity(other))
        return machine.unknown("arithmetic of a counter", key, (self, other), fresh=True, made=Made.COUNTED)

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if isinstance(other, (int, float)):
            match operator:
                case "eq" | "le" if other < self.minimum:
                    return False
                case "ne" | "gt" if other < self.minimum:
                    return True
                case "lt" if other <= self.minimum:
                    return False
                case "ge" if other <= self.minimum:
                    return True
        if isinstance(other, Object) and not isinstance(other, AtLeast):
            return NotImplemented
        key = ("compare", operator, reflected, identity(self), identity(other))
        return machine.unknown("comparison of a counter", key, (self, other), made=Made.COUNTED)


_NO_LESS = {"eq": (True, 0), "ne": (False, 0), "ge": (True, 0), "lt": (False, 0), "gt": (True, 1), "le": (False, 1)}
"""Which outcome of a comparison says that a number is no less than the other, and by how much it is more."""


class Length(AtLeast):
    """The length of a list that may be longer; `shown` is the number of items that are seen.

    The results of its comparisons say how many items are not seen: each adds itself to `tested`.
    """

    __slots__ = ("shown", "tested")

    def __init__(self, minimum: int, shown: int, tested: list[LengthTest]) -> None:
        super().__init__(minimum)
        self.shown = shown
        self.tested = tested

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        answer = super().compare(machine, operator, other, reflected)
        if isinstance(answer, Unknown) and isinstance(other, int) and operator in _NO_LESS:
            outcome, more = _NO_LESS[operator]
            self.tested.append((answer, outcome, other + more - self.shown))
        return answer


LengthTest = tuple[Unknown, bool, int]
"""A comparison of a length, and how many items at least are not seen if it comes out like this."""


def unseen(machine: Machine, tested: Sequence[LengthTest]) -> int:
    """The least number of items that are not seen, according to the path's decisions."""
    return max((least for answer, outcome, least in tested if machine.decided(answer) is outcome), default=0)


WINDOW = 2_000
"""The number of iterations that are searched for a late one."""

DEEP = 40
"""The most nested remainders and quotients that are followed."""


class Moment:
    """Which iteration of a loop a late one is: one of `candidates`, the fewer the more the program asks.

    `open` says that the loop has more iterations than these, `asked` that something depended on which one it is.
    """

    __slots__ = ("asked", "candidates", "open")

    def __init__(self, first: int, length: int) -> None:
        self.candidates: Sequence[int] = range(first, min(length, first + WINDOW) + 1)
        self.open = length > first + WINDOW
        self.asked = False

    def settle(self, holds: Callable[[int], bool]) -> bool | None:
        """Decide a test, and with it the iterations for which it has that result.

        An iteration whose result differs from that of the next one is preferred, since earlier iterations had the
        latter, except where the one after the next is such an iteration: it will be run anyway. None if it is not
        known.
        """
        usual = holds(self.candidates[0])
        other = next((each for each in self.candidates if holds(each) is not usual), None)
        if other is None:
            return None if self.open else usual
        self.asked = True
        chosen = usual if other == self.candidates[0] + 1 else not usual
        self.candidates = [each for each in self.candidates if holds(each) is chosen]
        self.open = False
        return chosen


class LateNumber(AtLeast):
    """An int that depends on which iteration of a loop this is: `scale * base(iteration) + offset`."""

    __slots__ = ("base", "depth", "moment", "scale")

    def __init__(
        self, moment: Moment, base: Callable[[int], int], scale: int = 1, offset: int = 0, depth: int = 0
    ) -> None:
        self.moment = moment
        self.base = base
        self.scale = scale
        self.offset = offset
        self.depth = depth
        super().__init__(self.now(), offset=offset)

    def decision_key(self) -> object:
        return ("counter", self.moment, self.base, self.scale, self.offset)

    def at(self, iteration: int) -> int:
        """The value in an iteration."""
        return self.scale * self.base(iteration) + self.offset

    def now(self) -> int:
        """The value if this is the earliest iteration that it can be."""
        return self.at(self.moment.candidates[0])

    def truth(self, machine: Machine) -> bool | None:
        return self.moment.settle(lambda iteration: self.at(iteration) != 0)

    def unary(self, machine: Machine, operator: str) -> Value:
        return self._scaled(-1) if operator == "neg" else super().unary(machine, operator)

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if type(other) is int and operator in ("add", "sub", "mul"):
            if operator == "mul":
                return self._scaled(other)
            return self._scaled(-1, other) if operator == "sub" and reflected else self._shifted(operator, other)
        if type(other) is int and other > 0 and operator in ("mod", "floordiv") and not reflected and self.depth < DEEP:
            function = operators.mod if operator == "mod" else operators.floordiv
            return LateNumber(self.moment, lambda each: function(self.at(each), other), depth=self.depth + 1)
        if isinstance(other, Object) and not isinstance(other, AtLeast):
            return NotImplemented
        key = ("binary", operator, reflected, identity(self), identity(other))
        return machine.unknown("arithmetic of a counter", key, (self, other), fresh=True, made=Made.COUNTED)

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if isinstance(other, Object) and not isinstance(other, AtLeast):
            return NotImplemented
        function: Callable[[float, float], bool] = getattr(operators, operator)
        settled: bool | None = None
        if isinstance(other, (int, float)):
            settled = self.moment.settle(lambda each: function(self.at(each), other))
            if settled is None and self._only_grows():
                return super().compare(machine, operator, other, reflected)
        elif isinstance(other, LateNumber) and other.moment is self.moment:
            settled = self.moment.settle(lambda each: function(self.at(each), other.at(each)))
        if settled is not None:
            return settled
        key = ("compare", operator, reflected, identity(self), identity(other))
        return machine.unknown("comparison of a counter", key, (self, other), made=Made.COUNTED)

    def _only_grows(self) -> bool:
        """True if no later iteration has a smaller one: those counted by remainders and quotients may."""
        first = self.moment.candidates[0]
        return self.depth == 0 and self.at(first) <= self.at(first + 1)

    def _scaled(self, factor: int, shift: int = 0) -> LateNumber:
        scale, offset = self.scale * factor, self.offset * factor + shift
        return LateNumber(self.moment, self.base, scale, offset, self.depth)

    def _shifted(self, operator: str, other: int) -> LateNumber:
        offset = self.offset + (other if operator == "add" else -other)
        return LateNumber(self.moment, self.base, self.scale, offset, self.depth)
