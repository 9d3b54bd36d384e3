"""The parameters of PyTorch's functions, as Python callers write them.

Functions written in Python tell their own signature. For those written in C++ the operator schemas are merged: the
longest overload gives the positional order, what other overloads add follows as keywords. Where several overloads read
a position differently (`max(x, dim)`, `max(x, other)`) the argument goes by the first name, and its kind tells.
"""

from __future__ import annotations

import inspect
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

BY_HAND: Mapping[str, Sequence[str]] = {
    "torch.Tensor.copy_": ["self", "other", "non_blocking=false"],
    "torch.special.polygamma": ["n", "input", "*", "out=null"],
    "torch.einsum": ["equation", "*operands"],
    "torch.Tensor.where": ["self", "condition", "other"],
    "torch.Tensor.polygamma": ["self", "n"],
    "torch.Tensor.polygamma_": ["self", "n"],
    "torch.polygamma": ["n", "input", "*", "out=null"],
    "torch.linalg.matrix_norm": ["input", 'ord="fro"', "dim=[-2, -1]", "keepdim=false", "*", "dtype=null", "out=null"],
    "torch.nonzero": ["input", "*", "out=null", "as_tuple=false"],
    "torch.Tensor.nonzero": ["self", "*", "as_tuple=false"],
    "torch.unique": ["input", "sorted=true", "return_inverse=false", "return_counts=false", "dim=null"],
    "torch.unique_consecutive": ["input", "return_inverse=false", "return_counts=false", "dim=null"],
    "torch.Tensor.to": [
        "self",
        "device=null",
        "dtype=null",
        "non_blocking=false",
        "copy=false",
        "*",
        "memory_format=null",
        "other=null",
        "tensor=null",
    ],
    "torch.Tensor.type": ["self", "dtype=null", "non_blocking=false"],
    "torch.Tensor.new_tensor": ["self", "data", "*", "dtype=null", "device=null", "requires_grad=false"],
    "torch.Tensor.cpu": ["self", "memory_format=null"],
    "torch.Tensor.cuda": ["self", "device=null", "non_blocking=false", "memory_format=null"],
    "torch.Tensor.numpy": ["self", "*", "force=false"],
    "torch.Tensor.apply_": ["self", "callable"],
    "torch.Tensor.map_": ["self", "other", "callable"],
    "torch.Tensor.requires_grad_": ["self", "requires_grad=true"],
    "torch.as_tensor": ["data", "dtype=null", "device=null"],
    "torch.asarray": ["obj", "*", "dtype=null", "device=null", "copy=null", "requires_grad=false"],
    "torch.tensor": ["data", "*", "dtype=null", "device=null", "requires_grad=false", "pin_memory=false"],
    "torch.nn.Parameter": ["data=null", "requires_grad=true"],
    "torch.where": ["condition", "input=null", "other=null", "*", "out=null"],
    "torch.clamp": ["input", "min=null", "max=null", "*", "out=null"],
    "torch.Tensor.clamp_": ["self", "min=null", "max=null"],
    "torch.std": ["input", "dim=null", "unbiased=true", "keepdim=false", "*", "correction=null", "out=null"],
    "torch.var": ["input", "dim=null", "unbiased=true", "keepdim=false", "*", "correction=null", "out=null"],
}
"""Signatures that no schema tells."""

MANY = frozenset(
    {"split", "meshgrid", "broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "nonzero", "unravel_index"}
)
"""Functions written in Python that return any number of tensors."""

_TYPES = {
    "half",
    "float",
    "double",
    "bfloat16",
    "cfloat",
    "cdouble",
    "chalf",
    "int",
    "long",
    "short",
    "char",
    "byte",
    "bool",
}


def parameters(name: str, function: Any) -> list[str] | None:
    """The table's form of a function's signature; None where it cannot be found."""
    if name in BY_HAND:
        return list(BY_HAND[name])
    space, _, short = name.rpartition(".")
    if space == "operator" or name.partition(":")[0] in ("getitem", "setitem"):
        return None
    if space == "torch.Tensor" and (short in _TYPES):
        return ["self", "*", "memory_format=null"]
    if inspect.isfunction(function):
        hidden = getattr(torch.nn.functional, f"_{short}", None) if space == "torch.nn.functional" else None
        if inspect.isfunction(hidden) and list(inspect.signature(function).parameters) == ["args", "kwargs"]:
            function = hidden  # Chosen between at run time, by `return_indices`.
        return from_python(function)
    if inspect.isgetsetdescriptor(function) or isinstance(function, property):
        return ["self"]
    return _from_schemas(space, short) or _from_schemas(space, getattr(function, "__name__", short))


def returns_many(name: str) -> bool:
    """Whether what it returns may be a tuple or list of any length."""
    space, _, short = name.rpartition(".")
    lists = [str(returned.type) == "List[Tensor]" for schema in _schemas(space, short) for returned in schema.returns]
    return any(lists) or short in MANY


def from_python(function: Callable[..., object], skip: int = 0) -> list[str]:
    """The table's form of a Python function's signature, without its first `skip` parameters."""
    texts: list[str] = []
    keywords = False
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        match parameter.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                texts.append(f"*{parameter.name}")
                keywords = True
                continue
            case inspect.Parameter.VAR_KEYWORD:
                continue
            case inspect.Parameter.KEYWORD_ONLY if not keywords:
                texts.append("*")
                keywords = True
        if parameter.default is inspect.Parameter.empty:
            texts.append(parameter.name)
        else:
            texts.append(f"{parameter.name}={_literal(parameter.default)}")
    return texts


def _literal(value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return "null"


def _from_schemas(space: str, short: str) -> list[str] | None:
    schemas = [schema for schema in _schemas(space, short) if _is_of_python(schema)]
    first = "self" if space == "torch.Tensor" else "input"
    has_out = any("out" in schema.overload_name for schema in schemas)
    schemas = [schema for schema in schemas if not any(argument.is_out for argument in schema.arguments)]
    schemas = [
        schema
        for schema in schemas
        if not any(argument.name in ("generator", "layout") and len(schemas) > 1 for argument in schema.arguments)
    ] or schemas
    if space == "torch.Tensor":
        schemas = [schema for schema in schemas if schema.arguments and schema.arguments[0].name == "self"]
    if not schemas:
        return None
    positional: list[Any] = max(([a for a in schema.arguments if not a.kwarg_only] for schema in schemas), key=len)
    everywhere = set.intersection(*({argument.name for argument in schema.arguments} for schema in schemas))
    texts: list[str] = []
    keywords: dict[str, str] = {}
    names = {argument.name for argument in positional}
    for argument in positional:
        texts.append(_text(argument, first, argument.name in everywhere))
    for schema in schemas:
        for argument in schema.arguments:
            if argument.name not in names:
                keywords.setdefault(argument.name, _text(argument, first, len(schemas) == 1))
    if has_out and space != "torch.Tensor":
        keywords["out"] = "out=null"
    own = positional[1:] if space == "torch.Tensor" else positional
    if len(own) == 1 and str(own[0].type) in ("List[int]", "Optional[List[int]]"):
        return [*texts[:-1], f"*{own[0].name}", *keywords.values()]
    return [*texts, "*", *keywords.values()] if keywords else texts


def _is_of_python(schema: Any) -> bool:
    """Leaves out names for dimensions, packed sequences, and the overloads of TorchScript that take no tensor."""
    types = [str(argument.type) for argument in schema.arguments]
    return "Dimname" not in str(schema) and schema.overload_name != "data" and any("Tensor" in text for text in types)


def _text(argument: Any, first: str, required: bool) -> str:
    name = first if argument.name == "self" else argument.name
    if argument.has_default_value():
        return f"{name}={_literal(argument.default_value)}"
    return name if required else f"{name}=null"


def _schemas(space: str, short: str) -> list[Any]:
    prefix = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}.get(space, "")
    for name in (f"aten::{prefix}{short}", f"aten::{short}"):
        found = torch._C._jit_get_schemas_for_operator(name)
        if found:
            return list(found)
    return []


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "matmul")
_OTHERS = ("neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne")
_LOGIC = ("and_", "or_", "xor")

OPERATORS: Mapping[str, Callable[..., object]] = {
    f"operator.{name}": getattr(operator, name)
    for name in (
        *_ARITHMETIC,
        *_OTHERS,
        *_LOGIC,
        *(f"i{name.rstrip('_')}" for name in (*_ARITHMETIC, *_LOGIC)),
    )
}
"""The operators' functions, by the names that the table gives them."""
