"""Makes watchable calls: binds the arguments of a sample to the parameters of the table's signature."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.utils._pytree import tree_flatten

from .call import Call
from .fold import describe


class Unbindable(Exception):
    """The arguments do not fit the signature."""


def bind(parameters: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    """Parameter name to argument; what varargs take becomes a list, what is absent stays absent."""
    names = [text.partition("=")[0] for text in parameters]
    positional = names[: next((index for index, name in enumerate(names) if name.startswith("*")), len(names))]
    rest = next((name[1:] for name in names if name.startswith("*") and name != "*"), None)
    bound: dict[str, object] = dict(zip(positional, args, strict=False))
    extra = list(args[len(positional) :])
    if extra:
        if rest is None:
            raise Unbindable(f"{len(args)} positional arguments")
        bound[rest] = extra if len(extra) > 1 or isinstance(extra[0], (Tensor, int)) else extra[0]
    known = {name.removeprefix("*") for name in names}
    for name, value in kwargs.items():
        if name not in known:
            raise Unbindable(f"no parameter {name}")
        bound[name] = value
    return bound


def defaults(parameters: Sequence[str]) -> dict[str, object]:
    """Parameter name to its default; None where there is none."""
    found: dict[str, object] = {}
    for text in parameters:
        name, equals, literal = text.partition("=")
        found[name.removeprefix("*")] = json.loads(literal) if equals else None
    found.pop("", None)
    return found


def call_of(
    run: Callable[..., object], parameters: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Call:
    """A call of an operation; raises Unbindable."""
    bound = bind(parameters, args, kwargs)
    owner = {id(leaf): name for name, value in bound.items() for leaf in tree_flatten(value)[0]}
    slots = tuple(owner[id(leaf)] for leaf in tree_flatten((tuple(args), dict(kwargs)))[0] if isinstance(leaf, Tensor))
    lists = frozenset(name for name, value in bound.items() if not isinstance(value, Tensor) and slots.count(name) > 1)
    kinds = {name: describe(value) for name, value in {**defaults(parameters), **bound}.items()}
    kinds |= _derived(bound)
    return Call(run, tuple(args), dict(kwargs), slots, kinds, lists)


def _derived(bound: Mapping[str, object]) -> dict[str, object]:
    """Facts on tensors and lists that few operations depend on: "x.ndim", "x.contiguous", "x.len"."""
    found: dict[str, object] = {}
    for name, value in bound.items():
        if isinstance(value, Tensor):
            found |= {f"{name}.ndim": value.dim(), f"{name}.contiguous": value.is_contiguous()}
        elif isinstance(value, (list, tuple)):
            found[f"{name}.len"] = len(value)
    return found


def module_call(
    module: nn.Module,
    listed: bool,
    init: Mapping[str, object],
    forward: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Call:
    """A call of a module; its parameters go by name where they are `listed`, else all by "*"."""
    call = call_of(module, forward, args, kwargs)
    parameters = {
        name if listed else f"*{name}": parameter for name, parameter in module.named_parameters(recurse=True)
    }
    kinds = {**call.kinds, **{name: describe(value) for name, value in init.items()}}
    buffers = {name: buffer for name, buffer in module.named_buffers() if "." not in name}
    return Call(module, call.args, call.kwargs, call.slots, kinds, call.lists, parameters, buffers)


def describe_call(call: Call, *more: object) -> str:
    """A text that is equal for calls that are much alike: two of a kind are enough to look at."""
    ranks = [tensor.dim() for tensor in call.tensors()]
    return repr((sorted(call.kinds.items(), key=str), call.slots, ranks, more))
