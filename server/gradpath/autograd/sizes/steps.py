"""The strides of results, by the rules of their sizes.

Views compute their steps as `TensorImpl` does, pointwise operations choose those of their result as `TensorIterator`
does (aten/src/ATen/TensorIterator.cpp, reorder_dimensions).
"""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.layout import Layout, Order, Steps, is_dense, rows, simplest, steps_of
from gradpath.autograd.shapes import broadcast
from gradpath.autograd.sizes.given import Given, Rule, position, product
from gradpath.autograd.tensor import MANY, Shape, Tensor

_KEEPING_ROWS = frozenset({"same", "view", "flatten", "ravel", "unflatten", "like other", "unsqueeze", "squeeze"})
"""Rules after which a tensor that lay row by row still does, whatever the sizes are."""


def layout_of_view(word: str | None, rule: Rule | None, given: Given, source: Tensor, shape: Shape | None) -> Layout:
    """The layout of a view of `source` that got its shape by this rule."""
    if source.layout is Order.ROWS and word in _KEEPING_ROWS:
        return Order.ROWS
    steps = steps_of(source.shape, source.layout)
    if source.shape is None or steps is None or shape is None or None in shape or MANY in shape:
        if word in ("expand", "expand_as") and (None in (source.shape, shape) or source.shape != shape):
            return Order.SHARED
        return Order.SHARED if source.layout is Order.SHARED else Order.UNKNOWN
    return simplest(shape, _viewed(word, rule, given, source.shape, steps, shape))


def layout_of_part(word: str | None, given: Given, source: Tensor, shape: Shape | None) -> Layout:
    """The layout of one of the tensors that `unbind`, `split` and their kin return."""
    steps = steps_of(source.shape, source.layout)
    if steps is None or shape is None or None in shape:
        return Order.UNKNOWN
    if word == "unbind":
        dim = position(given.integer("dim", 0), len(steps))
        return Order.UNKNOWN if dim is None else simplest(shape, (*steps[:dim], *steps[dim + 1 :]))
    return simplest(shape, steps if len(steps) == len(shape) else None)


def _viewed(word: str | None, rule: Rule | None, given: Given, old: Shape, steps: Steps, new: Shape) -> Steps | None:
    """The steps of a view by the rule of its sizes, of a tensor with these sizes and steps."""
    match word:
        case "same" | "narrow":
            return steps
        case "turned" | "turned_last" | "swap" | "permute" | "movedim" | "select":
            moved = None if rule is None else rule(given.about(steps))
            return None if moved is None else tuple(step for step in moved if step is not None)  # They move alike.
        case "unsqueeze" | "squeeze":
            return _spread(old, steps, new)
        case "expand" | "expand_as":
            return expanded(old, steps, new)
        case "view" | "flatten" | "ravel" | "unflatten" | "like other":
            return regrouped(old, steps, new)
        case "diagonal":
            return _diagonal(given, steps)
        case "unfold":
            return _unfolded(given, steps)
        case "as_strided":
            asked = given.integers("stride")
            return None if asked is None or None in asked else tuple(step for step in asked if step is not None)
    return None


def _spread(old: Shape, steps: Steps, new: Shape) -> Steps | None:
    """The steps where only dimensions of one element came or went; theirs do not matter."""
    rest = [step for size, step in zip(old, steps, strict=True) if size != 1]
    if len(rest) != sum(size != 1 for size in new):
        return None
    left = iter(rest)
    return tuple(1 if size == 1 else next(left) for size in new)


def expanded(old: Shape, steps: Steps, new: Shape) -> Steps | None:
    """The steps where sizes of one were repeated, and dimensions put in front."""
    if len(new) < len(old):
        return None
    before = len(new) - len(old)
    padded = zip((1,) * before + tuple(old), (0,) * before + steps, new, strict=True)
    return tuple(0 if size == 1 and wanted != 1 else step for size, step, wanted in padded)


def regrouped(old: Shape, steps: Steps, new: Shape) -> Steps | None:
    """The steps of a view with other sizes; None where there is none without a copy (`computeStride`)."""
    if 0 in old:
        return rows(new)
    found: list[int] = []
    place = len(new) - 1
    count, taken, base = 1, 1, steps[-1] if steps else 1
    if not old:
        return (1,) * len(new)
    for dim in range(len(old) - 1, -1, -1):
        count *= old[dim] or 1
        ends = dim == 0 or (old[dim - 1] != 1 and steps[dim - 1] != count * base)
        if not ends:
            continue
        while place >= 0 and (taken < count or new[place] == 1):
            found.append(taken * base)
            taken *= new[place] or 1
            place -= 1
        if taken != count:
            return None
        if dim > 0:
            base, count, taken = steps[dim - 1], 1, 1
    return tuple(reversed(found)) if place == -1 else None


def _diagonal(given: Given, steps: Steps) -> Steps | None:
    one, other = (position(given.integer(name, at), len(steps)) for name, at in (("dim1", 0), ("dim2", 1)))
    if one is None or other is None:
        return None
    rest = tuple(step for place, step in enumerate(steps) if place not in (one, other))
    return (*rest, steps[one] + steps[other])


def _unfolded(given: Given, steps: Steps) -> Steps | None:
    dim, by = position(given.integer("dimension"), len(steps)), given.integer("step")
    if dim is None or by is None:
        return None
    return (*steps[:dim], steps[dim] * by, *steps[dim + 1 :], steps[dim])


def pointwise(shape: Shape | None, operands: Sequence[tuple[Shape | None, Layout]]) -> Layout:
    """The layout that `TensorIterator` gives to the result of these operands."""
    if all(layout is Order.ROWS for _, layout in operands):
        return Order.ROWS
    if shape is None or product(shape) is None:
        return Order.UNKNOWN
    known = [(size, steps_of(size, layout)) for size, layout in operands]
    if all(size == shape for size, _ in known) and len({steps for _, steps in known}) == 1:
        only = known[0][1]
        if only is not None and is_dense(shape, only):
            return simplest(shape, only)
    rank = len(shape)
    columns: list[Steps] = []
    for size, steps in known:
        column = None if size is None or steps is None else expanded(size, steps, shape)
        if column is None or broadcast([size, shape]) != shape:
            return Order.UNKNOWN
        columns.append(column)
    order = list(range(rank - 1, -1, -1))
    for start in range(1, rank):
        at = start
        for other in range(start - 1, -1, -1):
            wanted = _comparison(order[other], order[at], shape, columns)
            if wanted > 0:
                order[other], order[at] = order[at], order[other]
                at = other
            elif wanted < 0:
                break
    found = [0] * rank
    step = 1
    for dim in order:
        found[dim] = step
        step *= shape[dim] or 1
    return simplest(shape, tuple(found))


def _comparison(one: int, other: int, shape: Shape, columns: Sequence[Steps]) -> int:
    """Which of two dimensions is the inner one: above 0 if they must change places."""
    for steps in columns:
        first, second = steps[one], steps[other]
        if first == 0 or second == 0:
            continue
        if first != second:
            return -1 if first < second else 1
        if (shape[one] or 0) > (shape[other] or 0):
            return 1
    return 0
