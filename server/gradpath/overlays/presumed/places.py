"""The places of a program that hold a thing from one statement to the next, by their texts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from gradpath.source.index import pairs_of
from gradpath.source.nodes import nodes, noted
from gradpath.support.words import words

WRAPPERS = words("AveragedModel DDP DataParallel DistributedDataParallel FSDP FullyShardedDataParallel")
"""Constructors and functions whose first argument is a module."""


def place_of(node: ast.expr) -> str:
    """`x`, `self.x` or `agent.x`; `x[]` for any item of it, also of `self.settings.x`; "" for all else.

    `model.module`, which `DataParallel` and its kin wrap, has the place of `model`.
    """
    match node:
        case ast.Attribute(value=ast.Attribute() | ast.Name() as wrapper, attr="module") if not _is_self(wrapper):
            return place_of(wrapper)
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case ast.Subscript(value=value):
            owner = _path(value)
            return owner and f"{owner}[]"
    return ""


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _path(node: ast.expr) -> str:
    """The same, also for attributes of attributes."""
    match node:
        case ast.Attribute(value=ast.Attribute() as value, attr=name):
            owner = _path(value)
            return owner and f"{owner}.{name}"
    return place_of(node)


def kept_as(method: ast.AST, variable: str) -> Sequence[str]:
    """The attributes that `self.x = variable` fills, or `self.x = variable.to(device)`."""
    return _kept(method).get(variable, ())


@noted
def _kept(method: ast.AST) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    for node in nodes(method):
        for target, value in pairs_of(node):
            value = _unwrapped(value)
            if isinstance(value, ast.Name) and (place := place_of(target)).startswith("self."):
                kept.setdefault(value.id, []).append(place)
    return kept


@noted
def attributes_made(init: ast.AST) -> Mapping[ast.AST, Sequence[str]]:
    """The places of the attributes that calls are bound to, or unpacked into, on whatever device these are put."""
    made: dict[ast.AST, tuple[str, ...]] = {}
    for node in nodes(init):
        match node:
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                bound = [target]
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
                bound = [each for each in parts if isinstance(each, ast.Attribute)]
            case _:
                continue
        made |= dict.fromkeys(_results(value), tuple(map(place_of, bound)))
    return made


def _results(value: ast.expr) -> Iterator[ast.expr]:
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*_results(body), *_results(orelse))
        case ast.Call(func=ast.Attribute(value=ast.Call() as moved, attr="cuda" | "to")):
            yield from _results(moved)
        case ast.Call():
            yield value


def _unwrapped(value: ast.expr) -> ast.expr:
    """The module in `DDP(model.to(device))`."""
    while isinstance(value, ast.Call):
        match value:
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _MOVING:
                value = owner
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]) if name in WRAPPERS:
                value = first
            case _:
                break
    return value


_MOVING = frozenset({"cpu", "cuda", "double", "eval", "float", "half", "to", "train"})
"""Methods of modules that return the module."""
