"""How what an operation makes lies in memory: row by row, as `TensorIterator` chooses, or otherwise."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from gradpath.autograd.layout import simplest, steps_of
from gradpath.autograd.sizes.steps import pointwise

from .call import structure

Arguments = tuple[Sequence[Any], Mapping[str, Any]]

LAYOUTS = ("", "like", "mixed", "odd")
"""The words, from what is surest to what says least."""

MOST = 40
"""Of the samples so many are looked at."""


def layout_of(run: Callable[..., object], samples: Iterable[Arguments]) -> dict[str, str]:
    """The table's word: none for row by row; `like` the operands; `mixed` where it depends on theirs; else `odd`."""
    row, like, plain, any_matrix, told = True, True, True, False, False
    for args, kwargs in itertools.islice(samples, MOST):
        for inputs, outputs in _runs(run, args, kwargs) if kwargs.get("memory_format") is None else ():
            simple = all(each.is_contiguous() for each in inputs)
            for output in outputs:
                if output.dim() < 2 or output.layout != torch.strided or any(_shares(output, each) for each in inputs):
                    continue
                rows = output.is_contiguous()
                any_matrix, told = True, told or not simple
                row, plain = row and rows, plain and (rows or not simple)
                like = like and _is_like(output, inputs)
    return (
        {} if row and (told or not any_matrix) else {"layout": "like" if like and told else "mixed" if plain else "odd"}
    )


def _runs(
    run: Callable[..., object], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterable[tuple[list[Tensor], list[Tensor]]]:
    """The inputs and outputs of the call: as it is, with all matrices turned in memory, with only the first turned."""
    leaves, spec = tree_flatten((tuple(args), dict(kwargs)))
    if all(leaf.dim() < 2 for leaf in leaves if isinstance(leaf, Tensor)):  # Rows tell nothing: take several.
        leaves = [leaf.repeat(3, 1) if isinstance(leaf, Tensor) and leaf.dim() == 1 else leaf for leaf in leaves]
    matrices = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf.dim() > 1]
    for turned in dict.fromkeys(((), tuple(matrices), tuple(matrices[:1]))):
        fresh = [leaf.clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        for place in turned:
            fresh[place] = leaves[place].mT.clone(memory_format=torch.contiguous_format).mT
        try:
            again, keywords = tree_unflatten(fresh, spec)
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outputs = structure(run(*again, **keywords))[1]
        except Exception:  # noqa: BLE001  A sample that is not for this form of the operation.
            continue
        yield [leaf for leaf in fresh if isinstance(leaf, Tensor)], outputs


def _shares(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _is_like(output: Tensor, inputs: Sequence[Tensor]) -> bool:
    operands = [(tuple(each.shape), simplest(tuple(each.shape), tuple(each.stride()))) for each in inputs]
    shape = tuple(output.shape)
    steps = steps_of(shape, pointwise(shape, operands))
    pairs = zip(shape, steps or (), output.stride(), strict=False)
    return steps is not None and all(ours == theirs for size, ours, theirs in pairs if size != 1)
