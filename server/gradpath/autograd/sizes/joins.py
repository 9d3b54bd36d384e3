"""Sizes of tensors that were put together."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.sizes.given import Given, position, replaced, total
from gradpath.autograd.tensor import Shape


def joined(shapes: Sequence[Shape | None], dim: int | None) -> Shape | None:
    """`cat`: sizes add up along one dimension; other sizes are those that any of the tensors has known."""
    if not shapes or None in shapes:
        return None
    known = [shape for shape in shapes if shape is not None and shape != (0,)] or [(0,)]
    rank = len(known[0])
    at = position(dim, rank)
    if at is None or any(len(shape) != rank for shape in known):
        return None
    sizes = [next((shape[place] for shape in known if shape[place] is not None), None) for place in range(rank)]
    if any(shape[place] not in (None, sizes[place]) for shape in known for place in range(rank) if place != at):
        return None
    return replaced(tuple(sizes), at, total([shape[at] for shape in known]))


def cat(given: Given) -> Shape | None:
    return joined(given.every, given.integer("dim", 0))


def stack(given: Given) -> Shape | None:
    shapes = given.every
    shape = next((each for each in shapes if each is not None and None not in each), shapes[0] if shapes else None)
    dim = None if shape is None else position(given.integer("dim", 0), len(shape) + 1)
    return None if shape is None or dim is None else (*shape[:dim], len(shapes), *shape[dim:])


def hstack(given: Given) -> Shape | None:
    shapes = [(1,) if shape == () else shape for shape in given.every]
    return joined(shapes, 0 if shapes and shapes[0] is not None and len(shapes[0]) == 1 else 1)


def vstack(given: Given) -> Shape | None:
    return joined([_as_rows(shape) for shape in given.every], 0)


def column_stack(given: Given) -> Shape | None:
    columns = [
        None if shape is None else (*shape, 1) if len(shape) == 1 else (1, 1) if shape == () else shape
        for shape in given.every
    ]
    return joined(columns, 1)


def dstack(given: Given) -> Shape | None:
    rows = [_as_rows(shape) for shape in given.every]
    return joined([None if shape is None else (*shape, 1) if len(shape) == 2 else shape for shape in rows], 2)


def _as_rows(shape: Shape | None) -> Shape | None:
    return None if shape is None else (1,) * (2 - len(shape)) + tuple(shape)
