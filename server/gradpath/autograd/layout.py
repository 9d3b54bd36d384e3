"""The layout of tensors in memory: the strides of the dimensions, or a word where no number is known."""

from __future__ import annotations

import itertools
from typing import TypeAlias

from gradpath.support.fast_enums import Enum

Shape: TypeAlias = "tuple[int | None, ...]"
Steps: TypeAlias = tuple[int, ...]


class Order(Enum):
    """A layout that is said without numbers."""

    ROWS = "rows"  # Row by row: contiguous.
    SHARED = "shared"  # Expanded: several elements are one.
    UNKNOWN = "unknown"


Layout: TypeAlias = "Steps | Order"


def rows(shape: Shape) -> Steps | None:
    """The steps of a contiguous tensor; None where a size is not known on which they depend: any but the first."""
    steps: list[int] = []
    step = 1
    for size in reversed(shape[1:]):
        if size is None or size < 0:
            return None
        steps.append(step)
        step *= max(1, size)
    return (*([step] if shape else []), *reversed(steps))


def steps_of(shape: Shape | None, layout: Layout) -> Steps | None:
    """The steps in numbers; None where they are not known."""
    if isinstance(layout, tuple):
        return layout
    return rows(shape) if layout is Order.ROWS and shape is not None else None


def is_contiguous(shape: Shape | None, layout: Layout) -> bool | None:
    """True if a tensor is contiguous (row-major); None where that is unknown."""
    if isinstance(layout, Order):
        return None if layout is Order.UNKNOWN else layout is Order.ROWS
    if shape is None or len(shape) != len(layout):
        return None
    expected = 1
    for size, step in zip(reversed(shape), reversed(layout), strict=True):
        if size is None or size < 0:
            return None
        if size != 1:
            if step != expected:
                return 0 in shape
            expected *= size
    return True


def is_foldable(shape: Shape, layout: Layout) -> bool | None:
    """True if all dimensions but the last are one without a copy, as a matrix product asks; None where it is unknown.

    Dimensions of one element do not matter. The others have to follow on each other in memory.
    """
    if layout is Order.ROWS or 0 in shape or sum(size != 1 for size in shape[:-1]) < 2:
        return True
    steps = steps_of(shape, layout)
    if steps is None or len(steps) != len(shape):
        return None
    found: bool | None = True
    leading = [(size, step) for size, step in zip(shape[:-1], steps, strict=False) if size != 1]
    for (outer, step), (size, inner) in itertools.pairwise(leading):
        if size is None or size < 0:
            return None
        if step != size * inner:
            if outer is not None:
                return False
            found = None  # Unless the outer one has a single element.
    return found


def is_shared(shape: Shape | None, layout: Layout) -> bool:
    """True if several elements certainly share memory, so that PyTorch refuses to write them in place."""
    if isinstance(layout, Order) or shape is None:
        return layout is Order.SHARED
    return any(step == 0 and size is not None and size != 1 for size, step in zip(shape, layout, strict=False))


def simplest(shape: Shape | None, steps: Steps | None) -> Layout:
    """The layout for these steps: a word where they are row by row."""
    if steps is None:
        return Order.UNKNOWN
    return Order.ROWS if is_contiguous(shape, steps) else steps


def is_dense(shape: Shape, steps: Steps) -> bool:
    """True if the elements are dense in memory and do not overlap."""
    step = 1
    for by, size in sorted((by, size or 0) for size, by in zip(shape, steps, strict=True) if size != 1):
        if by != step:
            return False
        step *= size
    return True
