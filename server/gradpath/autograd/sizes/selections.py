"""Sizes of what is picked out by indices, and of what is put into bins or classes."""

from __future__ import annotations

from gradpath.autograd.shapes import broadcast
from gradpath.autograd.sizes.given import Given, known, product, replaced
from gradpath.autograd.tensor import Shape


def index_select(given: Given) -> Shape | None:
    shape, index = given.first, given.shape_if_known("index")
    if not shape:
        return shape
    count = None if index is None else 1 if index == () else index[0]
    return replaced(shape, given.dim("dim", len(shape)), count)


def take_along(given: Given) -> Shape | None:
    """`take_along_dim`: both broadcast, but along the dimension the indices count."""
    shape, indices = given.first, given.shape("indices", "index")
    if not given.has("dim"):
        return (product(indices),)
    dim = given.dim("dim", len(shape))
    if len(indices) != len(shape):
        return None
    rest = broadcast([replaced(shape, dim, 1), replaced(indices, dim, 1)])
    return None if rest is None else replaced(rest, dim, indices[dim])


def topk(given: Given) -> Shape | None:
    shape = given.first
    if not shape:
        return shape
    return replaced(shape, given.dim("dim", len(shape), -1), given.integer("k"))


def embedding(given: Given) -> Shape | None:
    """A row of the table for each index; the module's table has `embedding_dim` columns."""
    width = (given.integer("embedding_dim"),) if given.has("embedding_dim") else given.shape("weight")[1:]
    return (*given.shape("input", "indices"), *width)


def bags(given: Given) -> Shape | None:
    """`embedding_bag`: one row for each bag, which are rows of indices or begin at `offsets`."""
    weight, index = given.shape("weight"), given.shape("input")
    if len(index) == 2:
        return (index[0], *weight[1:])
    count, last = known(given.shape("offsets")[0]), known(given.flag("include_last_offset"))
    return (count - last, *weight[1:])


def one_hot(given: Given) -> Shape | None:
    classes = given.integer("num_classes", -1)
    return (*given.first, classes if classes is not None and classes > 0 else None)


def sampled(given: Given) -> Shape | None:
    """`multinomial`: so many for each row."""
    return (*given.first[:-1], given.integer("num_samples")) if given.first else None


def bins(given: Given) -> Shape | None:
    """`histc`."""
    return (given.integer("bins", 100),)
