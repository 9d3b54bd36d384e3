"""Sizes of products of matrices and vectors."""

from __future__ import annotations

from gradpath.autograd.shapes import broadcast, matmul
from gradpath.autograd.sizes.given import Given, known, product, total
from gradpath.autograd.tensor import Shape


def _pair(given: Given) -> tuple[Shape, Shape]:
    one, other, *_ = given.every
    return known(one), known(other)


def product_of_two(given: Given) -> Shape | None:
    """`matmul`, `mm`, `bmm`, `mv`, `dot`."""
    return matmul(*_pair(given))


def added_product(given: Given) -> Shape | None:
    """`addmm`, `addmv`, `baddbmm`: the second times the third."""
    shapes = given.every
    return matmul(shapes[1], shapes[2]) if len(shapes) >= 3 else None


def added_batch(given: Given) -> Shape | None:
    """`addbmm`: the products of a batch are added up."""
    found = added_product(given)
    return found[1:] if found is not None and len(found) == 3 else None


def added_outer(given: Given) -> Shape | None:
    """`addr`: a column times a row."""
    shapes = given.every
    if len(shapes) < 3 or not shapes[1] or not shapes[2]:
        return None
    return (*shapes[1], *shapes[2])


def outer(given: Given) -> Shape | None:
    one, other = _pair(given)
    return (*one, *other)


def inner(given: Given) -> Shape | None:
    """Over the last dimension of both; with a number it is a plain product."""
    one, other = _pair(given)
    return (*one, *other) if not one or not other else (*one[:-1], *other[:-1])


def kron(given: Given) -> Shape | None:
    one, other = _pair(given)
    rank = max(len(one), len(other))
    sides = ((1,) * (rank - len(each)) + tuple(each) for each in (one, other))
    return tuple(product(pair) for pair in zip(*sides, strict=True))


def chain(given: Given) -> Shape | None:
    """`multi_dot` and `chain_matmul`: the first's rows, the last's columns."""
    shapes = given.every
    found = shapes[0] if shapes else None
    for shape in shapes[1:]:
        found = matmul(found, shape)
    return found


def tensordot(given: Given) -> Shape | None:
    one, other = _pair(given)
    dims = given.value("dims", 2)
    if isinstance(dims, int) and 0 <= dims <= min(len(one), len(other)):
        return (*one[: len(one) - dims], *other[dims:])
    if isinstance(dims, tuple) and len(dims) == 2:
        ours, theirs = ((each,) if isinstance(each, int) else each for each in dims)
        if isinstance(ours, tuple) and isinstance(theirs, tuple):
            kept: list[int | None] = []
            for shape, gone in ((one, ours), (other, theirs)):
                if not all(isinstance(each, int) and -len(shape) <= each < len(shape) for each in gone):
                    return None
                places = {each % len(shape) for each in gone if isinstance(each, int)}
                kept.extend(size for place, size in enumerate(shape) if place not in places)
            return tuple(kept)
    return None


def einsum(given: Given) -> Shape | None:
    """`einsum("ij,jk->ik", ...)`, where the equation is spelled out; without `->` the letters that come up once."""
    equation = given.value("equation")
    if not isinstance(equation, str) or "." in equation:
        return None
    left, arrow, right = equation.replace(" ", "").partition("->")
    if not arrow:
        right = "".join(letter for letter in sorted(set(left) - {","}) if left.count(letter) == 1)
    sizes: dict[str, int | None] = {}
    for letters, shape in zip(left.split(","), given.every, strict=False):
        for letter, size in zip(letters, shape or (), strict=False):
            if sizes.get(letter) in (None, 1):
                sizes[letter] = size
    return tuple(sizes.get(letter) for letter in right)


def linear(given: Given) -> Shape | None:
    """`F.linear(input, weight)`, or the module with its `out_features`."""
    weight = given.shape_if_known("weight")
    width = (given.integer("out_features"),) if weight is None and given.has("out_features") else known(weight)[:-1]
    return (*given.first[:-1], *width)


def bilinear(given: Given) -> Shape | None:
    return (*given.first[:-1], given.shape("weight")[0])


def cdist(given: Given) -> Shape | None:
    one, other = _pair(given)
    if len(one) < 2 or len(other) < 2 or one[-1] != other[-1]:
        return None
    batch = broadcast([one[:-2], other[:-2]])
    return None if batch is None else (*batch, one[-2], other[-2])


def pdist(given: Given) -> Shape | None:
    shape = given.first
    if len(shape) != 2:
        return None
    rows = shape[0]
    return (None if rows is None or rows < 0 else rows * (rows - 1) // 2,)


def covariance(given: Given) -> Shape | None:
    """`cov` and `corrcoef`: rows by rows; of one row a number."""
    shape = given.first
    if len(shape) > 2:
        return None
    if len(shape) < 2 or shape[0] == 1:
        return ()
    return None if shape[0] is None else (shape[0], shape[0])


def block_diag(given: Given) -> Shape | None:
    shapes = [*map(known, given.every)]
    if any(len(shape) > 2 for shape in shapes):
        return None
    matrices = [(1,) * (2 - len(shape)) + tuple(shape) for shape in shapes]
    return (total([each[0] for each in matrices]), total([each[1] for each in matrices]))


def attention(given: Given) -> Shape | None:
    """`scaled_dot_product_attention`: a value for each query."""
    query, value = given.shape("query"), given.shape("value")
    return (*query[:-1], value[-1]) if query and value else None


def cartesian(given: Given) -> Shape | None:
    """`cartesian_prod`."""
    sizes = [known(shape)[0] for shape in given.every]
    return (sizes[0],) if len(sizes) == 1 else (product(sizes), len(sizes))


def vander(given: Given) -> Shape | None:
    shape = given.first
    count = given.integer("N") if given.has("N") else shape[-1] if shape else None
    return (*shape, count) if shape else None
