"""Which functions write in place into one of several views that they have just taken, as far as their text tells.

PyTorch refuses that: `a, b = x.chunk(2)`, `a += 1`.
"""

from __future__ import annotations

import ast

from gradpath.analysis.inplace_writes import Function, root_of, written
from gradpath.source.nodes import Noted, nodes

PARTING = frozenset(
    {"chunk", "dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "unbind", "unsafe_chunk", "vsplit"}
)
"""Methods, and functions, that give several views of one tensor."""

_parting: Noted[bool] = Noted("_writes_parting")


def writes_into_parts(function: Function) -> bool:
    """Whether a function writes into one of several views that it has just taken."""
    writes = _parting.get(function)
    if writes is None:
        body = nodes(function)
        into = {root_of(target) for node in body for target in written(node)}
        writes = _parting[function] = bool(into) and any(into & names for names in map(_taken_apart, body))
    return writes


def _taken_apart(node: ast.AST) -> set[str]:
    """The variables that a statement binds to several views of one tensor, or to a tuple of them."""
    match node:
        case ast.Assign(targets=[target], value=value) | ast.For(target=target, iter=value) if _gives_parts(value):
            return {each.id for each in nodes(target) if isinstance(each, ast.Name)}
        case _:
            return set()


def _gives_parts(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(attr=name), args=arguments):
            return name in PARTING and not any(_is_text(each) for each in arguments)
        case ast.Subscript(value=whole):
            return _gives_parts(whole)
        case _:
            return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
