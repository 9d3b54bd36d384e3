"""Sizes of `tensor[...]`: numbers and slices cut, masks and index tensors pick."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TypeAlias

from gradpath.autograd.layout import Layout, Order, simplest, steps_of
from gradpath.autograd.shapes import broadcast
from gradpath.autograd.tensor import MANY, Shape
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """An index that is a number, known or not: it takes a dimension away."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Indices in a list or tensor of this shape."""

    shape: Shape | None


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask over so many dimensions: the number of elements that it picks depends on its values."""

    rank: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """A slice whose bounds are not known."""


Part: TypeAlias = "Number | Pick | Mask | Stretch | slice | EllipsisType | None"
"""One of the indices in brackets; slices, `...` and None are Python's own."""


def indexed(shape: Shape | None, parts: Sequence[Part]) -> Shape | None:
    """The shape of `tensor[parts]`; None where it is not known."""
    if shape is None:
        return None
    taken = sum(part.rank if isinstance(part, Mask) else 1 for part in parts if part is not None and part is not ...)
    if taken > len(shape):
        return None
    rest = list(shape)
    kept: list[int | None] = []
    places: list[int] = []
    picked: list[Shape | None] = []
    for part in (*parts, ...) if ... not in parts else parts:
        match part:
            case None:
                kept.append(1)
            case Number():
                rest.pop(0)
            case Pick():
                rest.pop(0)
                places.append(len(kept))
                picked.append(part.shape)
            case Mask():
                del rest[: part.rank]
                places.append(len(kept))
                picked.append((None,))
            case Stretch():
                rest.pop(0)
                kept.append(None)
            case slice():
                kept.append(_sliced(rest.pop(0), part))
            case _:
                count = max(0, len(shape) - taken)
                kept.extend(rest[:count])
                del rest[:count]
    if not picked:
        return tuple(kept)
    shared = broadcast(picked)
    at = places[0] if len(set(places)) == 1 else 0  # Where the picks are not neighbours they come first.
    return None if shared is None else (*kept[:at], *shared, *kept[at:])


def layout_of_index(shape: Shape | None, layout: Layout, parts: Sequence[Part], new: Shape | None) -> Layout:
    """The layout of the result of a basic index."""
    if layout is Order.ROWS and all(isinstance(part, Number) for part in parts):
        return Order.ROWS
    steps = steps_of(shape, layout)
    if shape is None or steps is None or new is None:
        return Order.UNKNOWN
    taken = sum(part is not None and part is not ... for part in parts)
    rest = list(steps)
    found: list[int] = []
    for part in (*parts, ...) if ... not in parts else parts:
        match part:
            case None:
                found.append(0)
            case Number():
                rest.pop(0)
            case slice():
                found.append(rest.pop(0) * (part.step if isinstance(part.step, int) else 1))
            case Stretch():
                return Order.UNKNOWN
            case _:
                count = max(0, len(shape) - taken)
                found.extend(rest[:count])
                del rest[:count]
    return simplest(new, tuple(found)) if len(found) == len(new) else Order.UNKNOWN


_ONES = ((None, 1), (0, 1), (-1, None))
"""The bounds of slices that take one element of any dimension that is not empty."""


def _sliced(size: int | None, part: slice) -> int | None:
    if part == slice(None):
        return size
    if size in (None, MANY) and part.step in (None, 1) and (part.start, part.stop) in _ONES:
        return 1
    known = all(bound is None or isinstance(bound, int) for bound in (part.start, part.stop, part.step))
    if not known or size is None or size < 0 or part.step == 0:
        return None
    kept = range(*part.indices(size))
    return (kept[-1] - kept[0]) // kept.step + 1 if kept else 0
