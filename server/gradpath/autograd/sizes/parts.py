"""The number of tensors that an operation such as `split` returns, and the sizes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradpath.autograd.shapes import broadcast as broadcasted
from gradpath.autograd.sizes.given import Given, position, replaced
from gradpath.autograd.tensor import Shape

Parts = list["Shape | None"]

MOST = 64
"""The most parts that are modelled."""


def _cut(shape: Shape | None, dim: int, sizes: Sequence[int | None]) -> Parts | None:
    if len(sizes) > MOST:
        return None
    return [None if shape is None else replaced(shape, dim, size) for size in sizes]


def _place(given: Given, dim: int | None) -> tuple[Shape | None, int, int | None] | None:
    """The shape, the dimension and its size, as far as they are known; None where they do not fit together."""
    shape = given.first_if_known
    if shape is None:
        return (None, 0, None)
    at = position(dim, len(shape))
    if at is None:
        return None
    size = shape[at]
    return (shape, at, None if size is not None and size < 0 else size)


def unbind(given: Given) -> Parts | None:
    place = _place(given, given.integer("dim", 0))
    if place is None:
        return None
    shape, dim, size = place
    if shape is None or size is None or size > MOST:
        return None
    return [(*shape[:dim], *shape[dim + 1 :])] * size


def split(given: Given) -> Parts | None:
    """`split`: parts of a size, or of these sizes."""
    place = _place(given, given.integer("dim", 0))
    if place is None:
        return None
    shape, dim, size = place
    asked = next((given.value(name) for name in _SPLIT if given.has(name)), None)
    if isinstance(asked, tuple):
        return _cut(shape, dim, [each if isinstance(each, int) else None for each in asked])
    if not isinstance(asked, int) or asked < 1 or size is None or size > asked * MOST:
        return None
    return _cut(shape, dim, _pieces(size, asked))


_SPLIT = ("split_size_or_sections", "split_size", "split_sizes")


def _pieces(size: int, each: int) -> list[int | None]:
    if size == 0:
        return [0]
    return [min(each, size - start) for start in range(0, size, each)]


def any_part(word: str, given: Given) -> Shape | None:
    """The sizes that each part of `split` or `unbind` has, where it is not known how many there are."""
    place = _place(given, given.integer("dim", 0)) if word in ("split", "unbind") else None
    shape, dim, _ = place or (None, 0, None)
    if shape is None:
        return None
    return replaced(shape, dim, None) if word == "split" else (*shape[:dim], *shape[dim + 1 :])


def chunk(given: Given) -> Parts | None:
    """`chunk`: at most so many parts of equal size; where the size is not known so many as are asked for."""
    place, count = _place(given, given.integer("dim", 0)), given.integer("chunks")
    if place is None or count is None or not 0 < count <= MOST:
        return None
    shape, dim, size = place
    if size is None:
        return _cut(shape, dim, [None] * count)
    return _cut(shape, dim, _pieces(size, -(-size // count)) if size else [0] * count)


def even(dim: int | None) -> Callable[[Given], Parts | None]:
    """`tensor_split` and its kin: so many nearly equal parts, or parts between indices."""

    def rule(given: Given) -> Parts | None:
        rank = len(given.first_if_known or ())
        at = given.integer("dim", 0) if dim is None else 0 if dim == 1 and rank == 1 else dim
        place = _place(given, at)
        asked = next((given.value(name) for name in _SECTIONS if given.has(name)), None)
        if place is None:
            return None
        shape, along, size = place
        if isinstance(asked, tuple):
            if size is None or not all(isinstance(each, int) for each in asked):
                return _cut(shape, along, [None] * (len(asked) + 1))
            bounds = [slice(None, each).indices(size)[1] for each in asked if isinstance(each, int)]
            ends = zip([0, *bounds], [*bounds, size], strict=True)
            return _cut(shape, along, [max(0, end - start) for start, end in ends])
        if not isinstance(asked, int) or asked < 1 or asked > MOST:
            return None
        if size is None:
            return _cut(shape, along, [None] * asked)
        return _cut(shape, along, [size // asked + (index < size % asked) for index in range(asked)])

    return rule


_SECTIONS = ("indices_or_sections", "sections", "indices", "tensor_indices_or_sections")


def broadcast(given: Given) -> Parts | None:
    """`broadcast_tensors`: all get the sizes that they broadcast to."""
    shapes = given.every
    return [broadcasted(shapes)] * len(shapes)


def meshgrid(given: Given) -> Parts | None:
    shapes = given.every
    if any(shape is None or len(shape) > 1 for shape in shapes):
        return [(None,) * len(shapes)] * len(shapes)
    sizes = [shape[0] if shape else 1 for shape in shapes if shape is not None]
    if given.value("indexing") == "xy" and len(sizes) > 1:
        sizes[:2] = sizes[1], sizes[0]
    return [tuple(sizes)] * len(shapes)


def each_same(given: Given) -> Parts | None:
    """As many as there are, with the sizes that they have."""
    return list(given.every)
