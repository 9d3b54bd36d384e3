"""Which tensors are the same memory under another name."""

from __future__ import annotations

from gradpath.autograd.tensor import Tensor

_ALIASING = frozenset({"detach", "data", "state_dict"})
"""What gives the same memory outside of the graph."""


def memory_of(tensor: Tensor) -> Tensor:
    """The tensor that an alias was made from in the end: what is written into one is written into both."""
    while tensor.operation.rpartition(".")[2] in _ALIASING and len(tensor.maker) == 1 and not tensor.aliasing_unsure:
        (tensor,) = tensor.maker
    return tensor


def whole_of(tensor: Tensor) -> Tensor:
    """The tensor that represents all parameters of an unseen model, for one of these."""
    return tensor if tensor.member_of is None else tensor.member_of
