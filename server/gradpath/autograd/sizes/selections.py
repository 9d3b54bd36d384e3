"""Sizes of what is picked out by indices, and of what is put into bins or classes."""

from __future__ import annotations

from gradpath.autograd.shapes import broadcast
from gradpath.autograd.sizes.given import Given, position, product, replaced
from gradpath.autograd.tensor import Shape


def index_select(given: Given) -> Shape | None:
    shape, index = given.first, given.shape("index")
    if not shape:
        return shape
    dim = position(given.integer("dim"), len(shape))
    count = None if index is None else 1 if index == () else index[0]
    return None if dim is None else replaced(shape, dim, count)


def take_along(given: Given) -> Shape | None:
    """`take_along_dim`: both broadcast, but along the dimension the indices count."""
    shape, indices = given.first, given.shape("indices", "index")
    if shape is None or indices is None:
        return None
    if not given.has("dim"):
        return (product(indices),)
    dim = position(given.integer("dim"), len(shape))
    if dim is None or len(indices) != len(shape):
        return None
    rest = broadcast([replaced(shape, dim, 1), replaced(indices, dim, 1)])
    return None if rest is None else replaced(rest, dim, indices[dim])


def topk(given: Given) -> Shape | None:
    shape = given.first
    if not shape:
        return shape
    dim = position(given.integer("dim", -1), len(shape))
    return None if dim is None else replaced(shape, dim, given.integer("k"))


def embedding(given: Given) -> Shape | None:
    """A row of the table for each index; the module's table has `embedding_dim` columns."""
    weight = given.shape("weight")
    width = (given.integer("embedding_dim"),) if given.has("embedding_dim") else None if weight is None else weight[1:]
    index = given.shape("input", "indices")
    return None if index is None or width is None else (*index, *width)


def bags(given: Given) -> Shape | None:
    """`embedding_bag`: one row for each bag, which are rows of indices or begin at `offsets`."""
    weight, index, offsets = given.shape("weight"), given.shape("input"), given.shape("offsets")
    if weight is None or len(weight) != 2 or index is None:
        return None
    if len(index) == 2:
        return (index[0], *weight[1:])
    last = given.flag("include_last_offset")
    if offsets is None or len(offsets) != 1 or last is None or offsets[0] is None:
        return None
    return (offsets[0] - last, *weight[1:])


def one_hot(given: Given) -> Shape | None:
    classes = given.integer("num_classes", -1)
    return None if given.first is None else (*given.first, classes if classes is not None and classes > 0 else None)


def sampled(given: Given) -> Shape | None:
    """`multinomial`: so many for each row."""
    return (*given.first[:-1], given.integer("num_samples")) if given.first else None


def bins(given: Given) -> Shape | None:
    """`histc`."""
    return (given.integer("bins", 100),)
