"""Which rule of sizes (`gradpath.autograd.sizes`) an operation keeps: the one that is right wherever it answers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from gradpath.autograd.sizes import PARTS, RULES, UNSURE, Given, evaluated, size, sizes
from gradpath.autograd.tensor import MANY, Shape

from .binding import bind, defaults
from .call import structure

Measured = tuple[Given, list[Shape], bool]
"""What was given to a call, the shapes that came back, and whether they are a list of any length."""

LEAST = 0.25
"""A rule must answer for this part of the samples: one that fits a few only fits them by chance."""


OWN: Mapping[str, str] = {
    "as_strided": "as_strided",
    "expand_as": "expand_as",
    "like other": "^(?!.*expand)",
    "reduce": "^(?!.*select)",
    "extreme": "max|min",
    "broadcast": "^(?!.*expand)",
    "expand": "expand|broadcast_to",
    "without_": "eig|complex|det",
    "view": r"^(?!.*(as_strided|broadcast_to|expand))",
    "turned": r"\.(t|t_|t_copy|T|H|mT|mH|adjoint)$",
    "rot90": "rot90",
    "covariance": "cov|corrcoef",
    "pdist": "pdist",
    "cdist": "cdist",
    "cartesian": "cartesian",
    "halved": "glu",
    "diff": "diff|trapezoid",
    "shortened": "trapezoid",
    "chain": "multi_dot|chain_matmul",
    "matmul": "mm|mv|mul|dot",
    "added_": "add|baddbmm",
    "reduce_broadcast": "cosine_similarity|vecdot",
    "quantile": "quantile",
    "pairwise_distance": "pairwise",
    "loss": "loss|entropy|kl_div",
    "vander": "vander",
    "kron": "kron",
    "block_diag": "block_diag",
    "outer": "outer|ger",
    "inner": "inner|linear",
    "atleast": "atleast",
    "hstack": "hstack",
    "vstack": "stack",
    "dstack": "dstack",
    "column_stack": "column_stack",
    "bins": "hist",
    "diagflat": "diagflat",
    "convolution": "conv(?!_tbc)",
    "transposed_convolution": "conv_?transpose",
    "pooling": "^(?!.*fractional).*pool",
    "adaptive_pooling": "adaptive",
    "embedding": "embedding$",
    "bags": "bag",
    "attention": "attention",
    "attended": "attention",
    "recurrent": "rnn|gru|lstm",
    "cell": "cell",
    "like hx": "cell",
    "columns": "unfold",
    "folded": "fold",
    "pixels": "shuffle",
    "unshuffled": "unshuffle",
}
"""Rules (all whose word begins so) that are about a few operations, which others would fit by chance only."""


def measure(
    run: Callable[..., object],
    parameters: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    many: bool = False,
    settings: Mapping[str, object] | None = None,
    held: Mapping[str, Tensor] | None = None,
) -> Measured | None:
    """A call as the rules see it, and its outcome; None where it cannot be made.

    `many` says that it may return a list of any length. A module's `settings` are its constructor's arguments, `held`
    its parameters.
    """
    args, kwargs = tree_map(
        lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, (tuple(args), dict(kwargs))
    )
    try:
        bound = bind(parameters, args, kwargs)
        shapes: dict[str, list[Shape | None]] = {}
        for name, value in bound.items():
            found: list[Shape | None] = [tuple(leaf.shape) for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]
            if found:
                shapes[name] = found
        for name, tensor in (held or {}).items():
            shapes.setdefault(name, [tuple(tensor.shape)])
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shape, outputs = structure(run(*args, **kwargs))
    except Exception:  # noqa: BLE001  A sample that is not for this form of the operation.
        return None
    arguments = {**(settings or {}), **bound}
    given = Given(shapes, arguments, defaults(parameters), _plain)
    return given, [tuple(output.shape) for output in outputs], many and isinstance(shape, list)


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            return tuple(_plain(each) for each in value)
        case _:
            return ... if value is ... else UNSURE


def parameter_sizes(made: Sequence[tuple[Mapping[str, object], torch.nn.Module]]) -> dict[str, list[object]]:
    """The sizes of a module's own parameters, said by its constructor's arguments; left out where they do not tell.

    A size is a number, an argument, an item of an argument (`kernel_size.0`), or one times or by a number or argument.
    """
    found: dict[str, list[object]] = {}
    if any(isinstance(module, torch.nn.modules.lazy.LazyModuleMixin) for _, module in made):
        return found  # The first call tells.
    for name in dict.fromkeys(name for _, module in made for name, _ in module.named_parameters(recurse=False)):
        seen = [(bound, tuple(getattr(module, name).shape)) for bound, module in made if _has(module, name)]
        ranks = {len(shape) for _, shape in seen}
        whole = [word for word in seen[0][0] if all(_tuple(bound.get(word)) == shape for bound, shape in seen)]
        if whole:
            found[name] = [f"*{whole[0]}"]
        elif len(ranks) == 1:
            columns = [[(bound, shape[index]) for bound, shape in seen] for index in range(ranks.pop())]
            found[name] = [_expression(column, index - len(columns)) for index, column in enumerate(columns)]
    return found


def _has(module: torch.nn.Module, name: str) -> bool:
    value = getattr(module, name, None)
    return isinstance(value, Tensor)


def _tuple(value: object) -> tuple[object, ...]:
    return (value,) if isinstance(value, int) else tuple(value) if isinstance(value, (tuple, list)) else ()


def _expression(column: Sequence[tuple[Mapping[str, object], int]], place: int) -> object:
    """What gives this size for each of the modules; None where nothing simple does.

    `place` counts from the last: of a kernel's sizes each stands at its place.
    """
    names = list(column[0][0])
    words: list[object] = [*names, *(f"{name}.{place}" for name in names)]
    words += [f"{name}*{times}" for name in names for times in (2, 3, 4)]
    words += [f"{name}/{other}" for name in names for other in names if other != name]
    words += [column[0][1]] if len(column) > 1 else []
    return next((word for word in words if all(evaluated(word, bound.get) == size for bound, size in column)), None)


def words_for(name: str, measured: Sequence[Measured]) -> dict[str, Any]:
    """The table's words: `size` for what comes back singly (a list with one for each output), `sizes` for lists."""
    rules = [word for word in RULES if _is_for(word, name)]
    found: dict[str, Any] = {}
    single = [(given, shapes) for given, shapes, many in measured if not many]
    count = max((len(shapes) for _, shapes in single), default=0)
    places = [[(given, shapes[index]) for given, shapes in single if len(shapes) > index] for index in range(count)]
    words = [_best(rules, size, samples) for samples in places]
    if any(words):
        found["size"] = words[0] if len(words) == 1 else words
    word = _best(PARTS, sizes, [(given, shapes) for given, shapes, many in measured if many])
    if word:
        found["sizes"] = word
    return found


def _is_for(word: str, name: str) -> bool:
    patterns = [pattern for start, pattern in OWN.items() if word.startswith(start)]
    return not patterns or any(re.search(pattern, name, re.IGNORECASE) for pattern in patterns)


def _best(
    words: Iterable[str], answer: Callable[[str, Given], Any], samples: Sequence[tuple[Given, Any]]
) -> str | None:
    """The rule that is never wrong and answers most fully; of equals the first."""
    best, most = None, 0
    for word in words:
        told = _told(partial(answer, word), samples)
        if told is not None and told > most and told >= LEAST * len(samples):
            best, most = word, told
    return best


def _told(rule: Callable[[Given], Any], samples: Iterable[tuple[Given, Any]]) -> int | None:
    """For how many samples the rule has a full answer; None where one is wrong."""
    told = 0
    for given, real in samples:
        said = rule(given)
        if said is None:
            continue
        pairs = [(said, real)]
        if isinstance(real, list):
            if len(said) != len(real):
                return None
            pairs = list(zip(said, real, strict=True))
        if not all(_agrees(ours, theirs) for ours, theirs in pairs):
            return None
        told += all(ours is not None and None not in ours for ours, _ in pairs)
    return told


def _agrees(said: Shape | None, real: Shape) -> bool:
    if said is None:
        return True
    return len(said) == len(real) and all(
        ours in (None, theirs) or (ours == MANY and theirs is not None and theirs > 1)
        for ours, theirs in zip(said, real, strict=True)
    )
