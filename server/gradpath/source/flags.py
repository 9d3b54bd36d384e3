"""What the text of a program does to `requires_grad`."""

from __future__ import annotations

import ast


def may_thaw(node: ast.AST) -> bool:
    """True for an assignment to a flag, or a call of `requires_grad_`, with anything but a literal False."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=value):
            return not (isinstance(value, ast.Constant) and value.value is False)
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=args, keywords=keywords):
            given = [*args, *(each.value for each in keywords)]
            return not any(isinstance(each, ast.Constant) and each.value is False for each in given)
    return False
