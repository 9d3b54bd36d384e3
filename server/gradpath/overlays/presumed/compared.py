"""What a program compares on the way to a backward: a prediction and its target, by the syntax alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gradpath.overlays.presumed.roles import names_loss
from gradpath.source.nodes import last_name

_SIZES = frozenset({"abs", "norm", "pow", "square"})


def given_to(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call."""
    return [*call.args, *(each.value for each in call.keywords)]


def compared_values(leading: Iterable[ast.Call], every: Iterable[ast.AST]) -> Iterator[Sequence[ast.expr]]:
    """The arguments of losses, and the operands of differences of which the square or the absolute value is taken."""
    yield from (given_to(node) for node in leading if names_loss(last_name(node.func)))
    for node in every:
        match node:
            case ast.BinOp(left=ast.BinOp(op=ast.Sub()) as difference, op=ast.Pow()):
                pass
            case ast.Call(func=ast.Attribute(value=ast.BinOp(op=ast.Sub()) as difference, attr=name)) if name in _SIZES:
                pass
            case ast.Call(func=called, args=[ast.BinOp(op=ast.Sub()) as difference, *_]) if last_name(called) in _SIZES:
                pass
            case _:
                continue
        yield difference.left, difference.right
