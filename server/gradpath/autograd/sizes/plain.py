"""Sizes that depend on the operands alone, and those of reductions over dimensions."""

from __future__ import annotations

from gradpath.autograd.shapes import broadcast as broadcasted
from gradpath.autograd.sizes.given import Given, Rule, known, position, replaced, total
from gradpath.autograd.tensor import Shape


def scalar(given: Given) -> Shape | None:
    """A scalar; None for a loss with an argument that may keep it from reducing."""
    return None if given.has("reduction") else ()


def same(given: Given) -> Shape | None:
    """The shape of the first tensor."""
    return given.first


def broadcast(given: Given) -> Shape | None:
    return broadcasted([shapes[0] for name, shapes in given.shapes.items() if shapes and name != "out"])


def like(name: str) -> Rule:
    """The sizes of the tensor with that name."""
    return lambda given: given.shape(name)


def without_last(given: Given) -> Shape | None:
    return given.first[:-1] if given.first else None


def without_two(given: Given) -> Shape | None:
    """The batch dimensions of a batch of matrices: `det`, `slogdet`."""
    return given.first[:-2] if len(given.first) >= 2 else None


def reduced(shape: Shape | None, dims: tuple[int | None, ...] | None, keep: bool | None) -> Shape | None:
    """The shape after a reduction over these dimensions."""
    if shape is None or dims is None or keep is None:
        return None
    if shape == ():
        return ()
    places = {position(dim, len(shape)) for dim in dims}
    if None in places:
        return None
    if keep:
        return tuple(1 if place in places else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in places)


def reduce(given: Given) -> Shape | None:
    """A reduction: to one number, or where `dim` is given over that dimension."""
    keep = given.flag("keepdim")
    if given.value("dim") is None or given.value("dim") == ():
        if keep is False:
            return ()
        return None if keep is None else (1,) * len(given.first)
    return reduced(given.first, given.integers("dim"), keep)


def extreme(given: Given) -> Shape | None:
    """`max` and `min`: of two tensors the larger ones, of one a reduction."""
    return broadcast(given) if len(given.every) > 1 else reduce(given)


def reduce_last(given: Given) -> Shape | None:
    """A reduction over the last dimension, or over `dim`: `kthvalue`, `mode`, `trapezoid`."""
    return reduced(given.first, given.integers("dim") if given.has("dim") else (-1,), given.flag("keepdim"))


def reduce_matrix(given: Given) -> Shape | None:
    """A reduction over the last two dimensions, or over `dim`: `matrix_norm`."""
    return reduced(given.first, given.integers("dim") if given.has("dim") else (-2, -1), given.flag("keepdim"))


def reduce_broadcast(given: Given) -> Shape | None:
    """A reduction of operands that broadcast: `cosine_similarity`, `vecdot`."""
    shape = broadcasted([each[0] for each in given.shapes.values() if each][:2])
    return reduced(shape, (given.integer("dim", -1),), False)


def pairwise_distance(given: Given) -> Shape | None:
    shape = broadcasted([each[0] for each in given.shapes.values() if each][:2])
    return reduced(shape, (-1,), given.flag("keepdim"))


def quantile(given: Given) -> Shape | None:
    """The quantiles come first, if there is more than one number."""
    rest = reduce(given)
    if given.shapes.get("q"):
        return (*given.shape("q"), *known(rest))
    return rest


def loss(given: Given) -> Shape | None:
    """A loss: one number, or with `reduction="none"` one for each pair of items that broadcast."""
    folded = _folded(given)
    if folded is not False:
        return () if folded else None
    names = (("input", "input1", "x1", "anchor"), ("target", "input2", "x2"))
    return broadcasted([given.shape(*each) for each in names])


def loss_of_rows(given: Given) -> Shape | None:
    """A loss that takes rows: without reduction one number for each."""
    folded = _folded(given)
    if folded is not False:
        return () if folded else None
    shape = given.first
    return shape[:-1] if len(shape) > 1 else ()


def loss_of_classes(given: Given) -> Shape | None:
    """A loss over classes, in the second dimension: without reduction one number for each item."""
    folded = _folded(given)
    if folded is not False:
        return () if folded else None
    shape = given.first
    return (shape[0], *shape[2:]) if len(shape) > 1 else ()


def is_unreduced(given: Given) -> bool:
    """True if a loss gives one number for each item."""
    return _folded(given) is False


def _folded(given: Given) -> bool | None:
    """True if a loss is reduced to one number; None where that is not known."""
    if given.value("size_average") is not None or given.value("reduce") is not None:
        return None
    match given.value("reduction", "mean"):
        case "mean" | "sum" | "batchmean":
            return True
        case "none":
            return False
    return None


def diff(given: Given) -> Shape | None:
    shape, count = given.first, known(given.integer("n", 1))
    dim = given.dim("dim", len(shape), -1)
    if count == 0:
        return shape
    size = shape[dim]
    for name in ("prepend", "append"):
        if given.shapes.get(name):
            more = given.shape_if_known(name)
            size = total([size, None if more is None else more[dim]])
    return replaced(shape, dim, None if size is None or size < 0 else max(0, size - count))


def shortened(given: Given) -> Shape | None:
    """One less along the last dimension, or along `dim`: `cumulative_trapezoid`."""
    shape = given.first
    dim = given.dim("dim", len(shape), -1)
    size = shape[dim]
    return replaced(shape, dim, None if size is None or size < 1 else size - 1)
