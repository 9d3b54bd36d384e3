"""What the table says of results in words: how their dtype follows from the arguments."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from .call import Call, run

DTYPES = ("bool", "int64", "input", "promote", "floating", "summed", "floats")
"""`floating`: as `promote`, but whole numbers become float32; `summed`: as the first, but they become int64; `floats`:
as `promote`, where that is no dtype of whole numbers."""


def dtypes(call: Call) -> list[frozenset[str]]:
    """For each output the words on its dtype that are true of this call, also with other dtypes put in."""
    found: list[frozenset[str]] = []
    for index, variant in enumerate(_variants(call)):
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = run(variant, [])
        except Exception:
            if index == 0:
                raise
            continue  # This operation does not take these dtypes.
        now = [_words_of(variant, output) for output in made.outputs]
        if not found:
            found = now
        elif len(now) == len(found):
            found = [old & new for old, new in zip(found, now, strict=True)]
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


def _words_of(call: Call, output: Tensor) -> frozenset[str]:
    tensors = call.tensors()
    if call.kinds.get("dtype") is not None:
        return frozenset(DTYPES)  # The caller chose.
    words = {str(dtype).removeprefix("torch.") for dtype in (torch.bool, torch.int64) if output.dtype == dtype}
    if tensors:
        first, promoted = tensors[0].dtype, _promoted(call, tensors)
        whole = torch.int64 if not first.is_floating_point and not first.is_complex else first
        true = promoted is not None and (promoted.is_floating_point or promoted.is_complex)
        told = {"input": first, "promote": promoted, "floating": promoted if true else torch.float32, "summed": whole}
        words |= {word for word, dtype in told.items() if output.dtype == dtype}
        if not true or output.dtype == promoted:
            words.add("floats")
    return frozenset(words)


def _promoted(call: Call, tensors: Sequence[Tensor]) -> torch.dtype | None:
    numbers = [value for name, value in call.kinds.items() if name in _OPERANDS and type(value) in (int, float)]
    operands: list[Any] = [*tensors, *numbers]
    dtype = tensors[0].dtype
    for one, other in itertools.combinations(operands, 2):
        if isinstance(one, Tensor) or isinstance(other, Tensor):
            dtype = torch.promote_types(dtype, torch.result_type(one, other))
    return dtype
