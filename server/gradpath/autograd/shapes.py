"""Sizes of results, as far as the operands tell."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.tensor import Shape, Tensor


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape that tensors of these shapes broadcast to; None where one of them is not known."""
    result: list[int | None] = []
    for shape in shapes:
        if shape is None:
            return None
        while len(result) < len(shape):
            result.insert(0, 1)
        for index in range(1, len(shape) + 1):
            mine, other = result[-index], shape[-index]
            if mine == 1 or (other != 1 and mine is None):
                result[-index] = other
    return tuple(result)


def matmul(left: Shape | None, right: Shape | None) -> Shape | None:
    """The shape of `left @ right`; None where it is not known."""
    if not left or not right:
        return None
    if len(left) == 1 and len(right) == 1:
        return ()
    if len(left) == 1:
        return (*right[:-2], right[-1])
    if len(right) == 1:
        return left[:-1]
    batch = broadcast([left[:-2], right[:-2]])
    return None if batch is None else (*batch, left[-2], right[-1])


_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def promote(tensors: Sequence[Tensor]) -> str | None:
    """The dtype of arithmetic over `tensors`: the highest kind wins, scalars count less; None if unsure."""
    names = [tensor.dtype for tensor in tensors]
    if not names or None in names:
        return None
    if len(set(names)) == 1:
        return names[0]
    if all(tensor.shape for tensor in tensors):
        known = [name for name in names if name in _ORDER]
        if len(known) == len(names):
            return max(known, key=_ORDER.index)
    return None


def is_differentiable(dtype: str | None) -> bool | None:
    """Whether a tensor of this dtype can require grad; None where the dtype is not known."""
    if dtype is None:
        return None
    return dtype.startswith(("float", "bfloat", "complex"))
