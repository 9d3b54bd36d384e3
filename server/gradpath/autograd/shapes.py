"""Sizes of results, as far as the operands determine them."""

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
    """The shape of `left @ right`; None where it is not known, or where they do not fit."""
    if not left or not right or not _fit(left[-1], right[-2:][0]):
        return None
    if len(left) == 1 and len(right) == 1:
        return ()
    if len(left) == 1:
        return (*right[:-2], right[-1])
    if len(right) == 1:
        return left[:-1]
    batch = broadcast([left[:-2], right[:-2]])
    return None if batch is None else (*batch, left[-2], right[-1])


def _fit(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other or min(one, other) < 0


_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_KINDS = (1, 6, 10)
"""The number of dtypes in the order up to each category: bool, integral, floating point."""

_WIDER = {frozenset({"float16", "bfloat16"}): "float32", frozenset({"uint8", "int8"}): "int16"}


def _kind(name: str) -> int:
    return next(kind for kind, end in enumerate(_KINDS) if _ORDER.index(name) < end)


def promote(tensors: Sequence[Tensor], numbers: Sequence[type] = ()) -> str | None:
    """The dtype of arithmetic over `tensors` and Python numbers of these types; None if unsure.

    The highest kind (flag, whole number, number) wins; of the same kind tensors with dimensions win over those without.
    """
    names = {tensor.dtype for tensor in tensors}
    if not names or None in names:
        return None
    if names == {"float32"}:
        return "float32"
    kinds = {name: _kind(name) for name in names if name in _ORDER}
    if len(kinds) < len(names):
        return next(iter(names)) if len(names) == 1 else None
    highest = max(kinds.values())
    asked = max((1 if number is int else 2 for number in numbers if number in (int, float)), default=0)
    if asked > highest:
        return "int64" if asked == 1 else "float32"
    deciding = [tensor for tensor in tensors if tensor.dtype is not None and kinds[tensor.dtype] == highest]
    if len({tensor.dtype for tensor in deciding}) > 1:
        if any(tensor.shape is None for tensor in deciding):
            return None
        deciding = [tensor for tensor in deciding if tensor.shape] or deciding
    found = {tensor.dtype for tensor in deciding if tensor.dtype is not None}
    return _WIDER.get(frozenset(found)) or max(found, key=_ORDER.index)


def is_differentiable(dtype: str | None) -> bool | None:
    """True if a tensor of this dtype can require grad; None where the dtype is not known."""
    if dtype is None:
        return None
    return dtype.startswith(("float", "bfloat", "complex"))
