"""Sizes of results: a vocabulary of rules, of which `ops.json` says by observation which one an operation keeps.

A rule is a function of a call (`Given`) and answers with a shape, or with None where the call does not determine one;
its answer was right on every sample that `server/observe` has of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradpath.autograd.sizes import joins, layers, parts, plain, products, selections, views
from gradpath.autograd.sizes.given import UNSURE, Given, Rule
from gradpath.autograd.tensor import Shape

RULES: Mapping[str, Rule] = {
    "scalar": plain.scalar,
    "same": plain.same,
    "broadcast": plain.broadcast,
    "reduce": plain.reduce,
    "extreme": plain.extreme,
    "matmul": products.product_of_two,
    "added_product": products.added_product,
    "added_batch": products.added_batch,
    "added_outer": products.added_outer,
    "outer": products.outer,
    "inner": products.inner,
    "kron": products.kron,
    "chain": products.chain,
    "tensordot": products.tensordot,
    "einsum": products.einsum,
    "linear": products.linear,
    "bilinear": products.bilinear,
    "cdist": products.cdist,
    "pdist": products.pdist,
    "covariance": products.covariance,
    "block_diag": products.block_diag,
    "attention": products.attention,
    "cartesian": products.cartesian,
    "vander": products.vander,
    "reduce_last": plain.reduce_last,
    "reduce_matrix": plain.reduce_matrix,
    "reduce_broadcast": plain.reduce_broadcast,
    "pairwise_distance": plain.pairwise_distance,
    "quantile": plain.quantile,
    "loss": plain.loss,
    "loss_of_classes": plain.loss_of_classes,
    "loss_of_rows": plain.loss_of_rows,
    "without_last": plain.without_last,
    "without_two": plain.without_two,
    "diff": plain.diff,
    "shortened": plain.shortened,
    "expand_as": views.as_other,
    **{f"like {name}": plain.like(name) for name in ("other", "index", "weight", "indices", "target", "value", "hx")},
    "turned": views.turned,
    "turned_last": views.turned_last,
    "swap": views.swap,
    "permute": views.permute,
    "movedim": views.movedim,
    "view": views.view,
    "expand": views.expand,
    "unsqueeze": views.unsqueeze,
    "squeeze": views.squeeze,
    "flatten": views.flatten,
    "ravel": views.ravel,
    "unflatten": views.unflatten,
    "narrow": views.narrow,
    "select": views.select,
    "diagonal": views.diagonal,
    "matrix_diagonal": views.matrix_diagonal,
    "diag": views.diag,
    "diagflat": views.diagflat,
    "diag_embed": views.diag_embed,
    "unfold": views.unfold,
    "as_strided": views.as_strided,
    "pad": views.pad,
    "repeat": views.repeat,
    "repeat_interleave": views.repeat_interleave,
    "rot90": views.rot90,
    "as_real": views.viewed_as_real,
    "as_complex": plain.without_last,
    **{f"atleast_{rank}d": views.at_least(rank) for rank in (1, 2, 3)},
    "cat": joins.cat,
    "stack": joins.stack,
    "hstack": joins.hstack,
    "vstack": joins.vstack,
    "dstack": joins.dstack,
    "column_stack": joins.column_stack,
    "index_select": selections.index_select,
    "take_along": selections.take_along,
    "topk": selections.topk,
    "embedding": selections.embedding,
    "bags": selections.bags,
    "one_hot": selections.one_hot,
    "sampled": selections.sampled,
    "bins": selections.bins,
    "convolution": layers.convolution,
    "transposed_convolution": layers.transposed_convolution,
    **{f"pooling_{rank}d": layers.pooling(rank) for rank in (1, 2, 3)},
    **{f"adaptive_pooling_{rank}d": layers.adaptive_pooling(rank) for rank in (1, 2, 3)},
    "resized": layers.resized,
    "pixels": layers.pixels,
    "unshuffled": layers.unshuffled,
    "columns": layers.columns,
    "folded": layers.folded,
    "halved": layers.halved,
    "flattened": layers.flattened,
    "recurrent": layers.recurrent,
    "recurrent_state": layers.recurrent_state,
    "recurrent_cell": layers.recurrent_cell,
    "cell": layers.cell,
    "attended": layers.attended,
    "attention_weights": layers.attention_weights,
}
"""The rules for one result by the words that the table has for them, the simplest first."""

PARTS: Mapping[str, Callable[[Given], parts.Parts | None]] = {
    "unbind": parts.unbind,
    "split": parts.split,
    "chunk": parts.chunk,
    "even": parts.even(None),
    "even_rows": parts.even(0),
    "even_columns": parts.even(1),
    "even_planes": parts.even(2),
    "broadcast": parts.broadcast,
    "meshgrid": parts.meshgrid,
    "each": parts.each_same,
}
"""The rules for results that are any number of tensors: one shape for each."""


def size(word: str, given: Given) -> Shape | None:
    """The shape of a result by the rule of that name."""
    try:
        return RULES[word](given)
    except (IndexError, ValueError, ZeroDivisionError):  # A call that PyTorch would refuse.
        return None


WIDENING = frozenset({"broadcast", "same", "squeeze", "flatten", "ravel", "view", "cat"})
"""Words for results that have an entry for each sample of a batch, whatever else the call says."""

OF_FIRST = frozenset({"linear", "inner", "matmul", "embedding"})
"""Words for results that have an entry for each sample of the first operand."""

LIKE = "like "
"""The word before the name of the operand that a result has the size of."""


def has_columns(word: str, given: Given, *, last: bool) -> bool:
    """True if a call shows that its operand has several dimensions, and leaves the first as it is.

    So does one over the `last`, where that is taken for another than the first.
    """
    if word not in _OVER and word != "squeeze" and not word.startswith(LIKE):
        return False
    dims = given.value(_OVER.get(word, "dim"))
    each = dims if isinstance(dims, tuple) else (dims,)
    beside = (isinstance(dim, int) and (dim > 0 or (last and dim == -1)) for dim in each)
    return word != "unsqueeze" and dims != () and all(beside)


_OVER = {"reduce": "dim", "extreme": "dim", "quantile": "dim", "unsqueeze": "dim"}
"""Words for results that do if the argument of this name leaves out the first dimension."""


def keeps_samples(word: str, given: Given) -> bool:
    """True if a result has as many entries along its first dimension as an operand that is a batch, or more in all.

    The last dimension of a batch is taken for another one than the first.
    """
    if word in WIDENING or word in OF_FIRST or word.startswith(LIKE):
        return True
    over = given.value(_OVER[word]) if word in _OVER else None
    dims = over if isinstance(over, tuple) else (over,)
    return dims != () and all(isinstance(dim, int) and (dim > 0 or dim == -1) for dim in dims)


def is_unreduced(word: str, given: Given) -> bool:
    """True if it is a loss that gives one number for each sample."""
    return word.startswith("loss") and plain.is_unreduced(given)


def sizes(word: str, given: Given) -> parts.Parts | None:
    """The shapes of several results by the rule of that name."""
    try:
        return PARTS[word](given)
    except (IndexError, ValueError, ZeroDivisionError):
        return None


def evaluated(word: object, argument: Callable[[str], object]) -> int | None:
    """A size that a module's parameter has by its constructor's arguments: `7`, `n`, `n.-1`, `n*3`, `n/m`."""
    if not isinstance(word, str):
        return word if isinstance(word, int) else None
    name, mark, rest = next((word.partition(mark) for mark in "*/." if mark in word), (word, "", ""))
    value = argument(name)
    if mark == "." and isinstance(value, (tuple, list)):
        value = value[int(rest)] if -len(value) <= int(rest) < len(value) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    match mark:
        case "*":
            return value * int(rest)
        case "/":
            by = argument(rest)
            return value // by if isinstance(by, int) and not isinstance(by, bool) and by > 0 else None
    return value


__all__ = ["PARTS", "RULES", "UNSURE", "Given", "Rule", "evaluated", "is_unreduced", "keeps_samples", "size", "sizes"]
