"""What the table says of results in words: how their shape and dtype follow from the arguments."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from .call import Call, run


def facts(call: Call) -> list[tuple[frozenset[str], frozenset[str]]]:
    """For each output the words on shape and dtype that are true of this call, also with other dtypes put in."""
    found: list[tuple[frozenset[str], frozenset[str]]] = []
    for index, variant in enumerate(_variants(call)):
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = run(variant, [])
        except Exception:
            if index == 0:
                raise
            continue  # This operation does not take these dtypes.
        now = [_facts_of(variant, output) for output in made.outputs]
        if not found:
            found = now
        elif len(now) == len(found):
            found = [(old[0] & new[0], old[1] & new[1]) for old, new in zip(found, now, strict=True)]
    return found


def _variants(call: Call) -> Iterable[Call]:
    yield call
    if call.module:
        return
    floats = [position for position, tensor in enumerate(call.tensors()) if tensor.dtype == torch.float32]
    wanted: list[Mapping[int, torch.dtype]] = [dict.fromkeys(floats, dtype) for dtype in (torch.float64, torch.int64)]
    wanted += [{position: torch.float64} for position in floats[:2] if len(floats) > 1]
    for dtypes in wanted:
        leaves, spec = tree_flatten((call.args, dict(call.kwargs)))
        count = itertools.count()
        for position, value in enumerate(leaves):
            if isinstance(value, Tensor) and (number := next(count)) in dtypes:
                leaves[position] = value.to(dtypes[number])
        args, kwargs = tree_unflatten(leaves, spec)
        yield Call(call.run, args, kwargs, call.slots, call.kinds, call.lists)


_OPERANDS = {"input", "self", "other", "exponent", "min", "max", "value"}


def _facts_of(call: Call, output: Tensor) -> tuple[frozenset[str], frozenset[str]]:
    tensors = call.tensors()
    shapes, dtypes = set(), set()
    if tensors:
        first = tensors[0]
        if output.shape == first.shape:
            shapes.add("input")
        if output.shape == _broadcast(*(tensor.shape for tensor in tensors)):
            shapes.add("broadcast")
        if len(tensors) > 1 and output.shape == _matmul_shape(first.shape, tensors[1].shape):
            shapes.add("matmul")
        if output.dtype == first.dtype:
            dtypes.add("input")
        if output.dtype == _promoted(call, tensors):
            dtypes.add("promote")
    if output.dim() == 0:
        shapes.add("scalar")
    if output.dim() == 0 or call.kinds.get("dim") is not None:
        shapes.add("reduce")
    dtypes |= {str(dtype).removeprefix("torch.") for dtype in (torch.bool, torch.int64) if output.dtype == dtype}
    return frozenset(shapes), frozenset(dtypes)


def _promoted(call: Call, tensors: Sequence[Tensor]) -> torch.dtype | None:
    numbers = [value for name, value in call.kinds.items() if name in _OPERANDS and type(value) in (int, float)]
    operands: list[Any] = [*tensors, *numbers]
    dtype = tensors[0].dtype
    for one, other in itertools.combinations(operands, 2):
        if isinstance(one, Tensor) or isinstance(other, Tensor):
            dtype = torch.promote_types(dtype, torch.result_type(one, other))
    return dtype


def _matmul_shape(one: torch.Size, other: torch.Size) -> tuple[int, ...] | None:
    if len(one) < 2 or len(other) < 2 or one[-1] != other[-2]:
        return None
    batch = _broadcast(one[:-2], other[:-2])
    return None if batch is None else (*batch, one[-2], other[-1])


def _broadcast(*shapes: torch.Size) -> torch.Size | None:
    """The shape that they broadcast to; None where they do not."""
    try:
        shape: torch.Size = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    except RuntimeError:
        return None
    return shape
