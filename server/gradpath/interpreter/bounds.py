"""Bounds on the size of the interpreted program's values; a larger one is unknown, except for its kind.

Any computation on values within these bounds is fast, except those that `is_affordable` rejects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

BITS = 1 << 14
"""Bits of an integer: enough for 4,300 digits, the longest that Python reads and writes."""

LONGEST = 5_000
"""Characters of a text, or bytes."""

ITEMS = 4_096
"""Items of a container that are seen; of a longer one the rest is not known."""

NODES = 512
"""Parts of a tuple, and of the tuples in it, up to which it is looked at as a whole."""

WIDTH = 10_000
"""Digits or columns that a program may ask for."""


class Overworked(Exception):
    """An expression, call or loop exceeds its share of the budget: it is given up, and the path goes on."""


TOO_MUCH = (Overworked, RecursionError, MemoryError, OverflowError)
"""The exceptions that say that something exceeds the budget, or the limits of the Python that runs the analysis."""


def is_small(value: object) -> bool:
    """True if a constant or tuple is within bounds; of a tuple, only its length counts."""
    match value:
        case bool() | float():
            return True
        case int():
            return value.bit_length() <= BITS
        case str() | bytes():
            return len(value) <= LONGEST
        case tuple():
            return len(value) <= ITEMS
    return True


def is_light(value: tuple[object, ...]) -> bool:
    """True if a tuple has few enough parts, tuples within tuples included, to be compared and walked as a whole."""
    left = NODES
    todo: list[Sequence[object]] = [value]
    while todo:
        parts = todo.pop()
        left -= len(parts)
        if left < 0:
            return False
        todo.extend(part for part in parts if type(part) is tuple)
    return True


def is_affordable(operator: str, left: object, right: object) -> bool:
    """True if a binary operation on constants and tuples takes Python but a moment."""
    if not (is_small(left) and is_small(right)):
        return False
    match operator:
        case "pow" if isinstance(left, int) and isinstance(right, int):
            return left.bit_length() * abs(right) <= 2 * BITS
        case "lshift" if isinstance(left, int) and isinstance(right, int):
            return left.bit_length() + right <= BITS
        case "mul":
            for many, count in ((left, right), (right, left)):
                if isinstance(many, (str, bytes, tuple)) and isinstance(count, int):
                    return len(many) * count <= (ITEMS if isinstance(many, tuple) else LONGEST)
            return True
        case "mod" if isinstance(left, (str, bytes)):
            return not _asks_for_width(left)
    return True


def _asks_for_width(text: str | bytes) -> bool:
    """True if a format may produce a text far longer than its arguments."""
    digits = 0
    for each in text if isinstance(text, str) else text.decode("latin-1"):
        digits = digits + 1 if each.isdigit() else 0
        if digits > 3 or each == "*":
            return True
    return False


def length_of(numbers: range) -> int:
    """`len(numbers)`, which Python refuses where that is more than a machine word holds."""
    return (numbers[-1] - numbers[0]) // numbers.step + 1 if numbers else 0


def is_whole(value: object) -> TypeGuard[int]:
    """True if a value is a number that is not too long to count with."""
    return isinstance(value, int) and abs(value) <= WIDTH


def is_member(item: object, numbers: range) -> bool:
    """`item in numbers` for a range, in constant time: Python itself compares one by one unless the item is an int."""
    if isinstance(item, float):
        return item.is_integer() and int(item) in numbers
    return isinstance(item, int) and item in numbers


def shown(value: object) -> str:
    """A key as Python writes it, or `...` where that would be too long."""
    if isinstance(value, tuple) and not is_light(value):
        return "..."
    try:
        return repr(value)
    except ValueError:  # A number of very many digits.
        return "..."
