"""Ranges of numbers: Python's own where all of their ends are known, else iterations that remember their ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gradpath.interpreter.iteration import Iteration, metered
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import Length
from gradpath.interpreter.origins import Made
from gradpath.interpreter.values import Arguments, Value
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Numbers:
    """A range of which an end is not known."""

    start: Value
    stop: Value
    step: int


def make_range(machine: Machine, arguments: Arguments) -> Value:
    """`range(...)`."""
    bounds = arguments.positional
    if not arguments.open and not 1 <= len(bounds) <= 3:
        raise machine.error("TypeError", f"range expected 1 to 3 arguments, got {len(bounds)}", None)
    numbers = [bound for bound in bounds if isinstance(bound, int)]
    if not arguments.open and len(numbers) == len(bounds):
        try:
            return range(*numbers)
        except ValueError as error:
            raise machine.error("ValueError", str(error), bounds) from None
    start: Value = bounds[0] if len(bounds) > 1 else 0
    step: Value = bounds[2] if len(bounds) > 2 else 1
    if arguments.open or not isinstance(step, int) or not step:
        return Iteration(unknown_numbers(machine), endless=True)
    stop = bounds[:2][-1]
    if not isinstance(start, int):
        return _over(unknown_numbers(machine), Numbers(start, stop, step))
    made = _over(metered(machine, itertools.count(start, step)), Numbers(start, stop, step))
    made.lengths = ((stop, start),) if step == 1 else ()
    if isinstance(stop, Length) and step == 1:
        made.known = max(0, stop.shown - start) + 1  # The last one stands for those that are not shown.
    return made


def backwards(machine: Machine, iterated: Value) -> Iteration | None:
    """`reversed(range(n))`, if that is what is turned around, and its last number is known."""
    numbers = iterated.numbers if isinstance(iterated, Iteration) else None
    if numbers is None or numbers.step != 1 or not isinstance(numbers.start, int):
        return None
    return _over(unknown_numbers(machine), Numbers(numbers.stop, numbers.start - 1, -1))


def _over(host: Iterator[Value], numbers: Numbers) -> Iteration:
    made = Iteration(host, endless=True)
    made.numbers = numbers
    return made


def unknown_numbers(machine: Machine) -> Iterator[Value]:
    """Numbers without end, of which nothing more is known."""
    while True:
        machine.budget.spend()
        yield machine.unknown("number of a range", made=Made.NUMBER)
