"""Argument checks of PyTorch's functions, as observed in 2.13.

A number for a tensor, a tensor as its own source, and floating point numbers for positions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.ops import Op
from gradpath.autograd.shapes import is_differentiable
from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Flagged
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Computed, Made
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue
from gradpath.support.words import words

_TAKE_NUMBERS = """
add addmm addmv addr bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bucketize div divide
float_power floor_divide mul multiply normal polygamma pow remainder rsub sub subtract true_divide xlogy
"""
"""Functions of `torch` whose first operand may be a number."""

_IN_PYTHON = """
atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul einsum lu meshgrid norm
pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index
"""
"""Functions of `torch` that are written in Python: a number fails in them as well, but each in its own way."""

_IN_THEIR_WAY = """
fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices
gaussian_nll_loss lp_pool1d lp_pool2d lp_pool3d
"""
"""Functions of `torch.nn.functional` that fail with other exceptions."""

_ASK_FIRST = """
adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool2d_with_indices adaptive_max_pool3d
adaptive_max_pool3d_with_indices affine_grid binary_cross_entropy binary_cross_entropy_with_logits dropout1d dropout2d
dropout3d embedding_bag glu group_norm huber_loss instance_norm interpolate l1_loss linear_cross_entropy
local_response_norm log_softmax margin_ranking_loss max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d
mse_loss multi_head_attention_forward normalize smooth_l1_loss softmax softmin softsign tanhshrink
triplet_margin_with_distance_loss upsample upsample_bilinear upsample_nearest
"""
"""Functions of `torch.nn.functional` that ask a number for a size or a method of tensors, which it does not have."""

_UNSURE_OF_NUMBERS = frozenset(f"{_TAKE_NUMBERS} {_IN_PYTHON} {_IN_THEIR_WAY}".split())
_WITHOUT_ATTRIBUTE = frozenset(f"torch.nn.functional.{name}" for name in _ASK_FIRST.split())

_SECOND_OPERANDS = """
allclose arctan2 atan2 bmm cosine_embedding_loss cosine_similarity cross cross_entropy dist dot equal expand_as fmax
fmin hinge_embedding_loss hypot inner isclose kl_div kron ldexp linear logaddexp logaddexp2 logical_and logical_or
logical_xor matmul maximum minimum mm multi_margin_loss multilabel_margin_loss mv nextafter nll_loss outer
pairwise_distance poisson_nll_loss soft_margin_loss triplet_margin_loss vdot view_as
"""
"""Functions and methods that take no number for their second tensor either."""

_ASK_SECOND = """
binary_cross_entropy binary_cross_entropy_with_logits huber_loss l1_loss margin_ranking_loss mse_loss smooth_l1_loss
"""
"""Losses that ask their second operand for a size or a method of tensors."""

_WANT_TWO = frozenset(f"{_SECOND_OPERANDS} {_ASK_SECOND}".split())


def refused_number(op: Op, bound: Mapping[str, Value], operands: Collection[str]) -> tuple[str, str] | None:
    """The exception and the parameter, of a function called with the arguments `bound`; None where nothing is refused.

    `operands` are the parameters through which a gradient can flow.
    """
    if not op.parameters:
        return None
    module, _, name = op.name.rpartition(".")
    kind = "AttributeError" if op.name in _WITHOUT_ATTRIBUTE else "TypeError"
    first, *rest = (each.name for each in op.parameters)
    known = module in ("torch", "torch.nn.functional") and name.removesuffix("_") not in _UNSURE_OF_NUMBERS
    if known and first in {"condition", "input", *operands} and first in bound and _is_number(bound[first]):
        return kind, first
    if name.removesuffix("_") in _WANT_TWO and rest and isinstance(bound.get(rest[0]), TensorNumber):
        return kind, rest[0]
    return None


_FROM_ANOTHER = words("index_add_ index_copy_ index_put_ index_reduce_ put_ scatter_ scatter_add_ scatter_reduce_")
"""Methods that write some elements of a tensor, and read others: not out of the same memory."""


def refused_source(op: Op, bound: Mapping[str, Value]) -> TensorValue | None:
    """The tensor that a function would have to read while writing into it; None where nothing is refused."""
    if op.name.rpartition(".")[2] not in _FROM_ANOTHER:
        return None
    written, *others = bound.values()
    return next((each for each in others if isinstance(each, TensorValue) and each is written), None)


_POSITIONS = {
    "index": words("gather index_add index_copy index_reduce index_select put scatter scatter_add scatter_reduce take"),
    "indices": words("take_along_dim"),
    "input": words("embedding Embedding EmbeddingBag one_hot"),
    "mask": words("masked_fill masked_scatter masked_select"),
    "target": words("cross_entropy CrossEntropyLoss multi_margin_loss MultiMarginLoss nll_loss NLLLoss"),
}
"""The parameters, and the functions and modules that take positions, classes or choices for them."""


def refuse_fractions(machine: Machine, name: str, inputs: Mapping[str, Sequence[Tensor]]) -> None:
    """Raise where a function is given floating point numbers for positions; for classes probabilities of each will do.

    What the program has asked to require a gradient is refused there, if it holds whole numbers, or else here.
    """
    short = name.rpartition(".")[2].removesuffix("_")
    given = [each for parameter, takers in _POSITIONS.items() if short in takers for each in inputs.get(parameter, ())]
    if any(is_differentiable(each.dtype) for each in given):
        shapes = [each.shape for parameter in ("input", "target") for each in inputs.get(parameter, ())]
        ranks = {-1 if each is None else len(each) for each in shapes}
        if short not in _OF_PROBABILITIES or (len(ranks) == 2 and -1 not in ranks):
            raise machine.error("RuntimeError", f"{name}(): expected whole numbers", None)
    elif short not in _OF_PROBABILITIES and any(each.flag and each.dtype is None for each in given):
        asked = {id(each.tensor) for each in machine.trace.of(Flagged) if each.value}
        if (tensor := next((each for each in given if each.flag and id(each) in asked), None)) is not None:
            raise AutogradError(FaultKind.DTYPE_FLAG, tensor=tensor)


_OF_PROBABILITIES = words("cross_entropy CrossEntropyLoss")


def _is_number(value: Value) -> bool:
    """True if a value certainly is, holds, or compares a number that was read from a tensor."""
    match value:
        case Unknown():
            return isinstance(value.origin, Computed) and value.origin.made is Made.COMPARED
        case tuple() | List():
            return any(isinstance(each, TensorNumber) for each in (value if isinstance(value, tuple) else value.items))
    return isinstance(value, TensorNumber)
