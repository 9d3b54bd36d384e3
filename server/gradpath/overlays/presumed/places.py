"""The places of a program that hold a thing from one statement to the next, by their texts."""

from __future__ import annotations

import ast


def place_of(node: ast.expr) -> str:
    """`x`, `self.x` or `agent.x`; `x[]` for any item of it, also of `self.settings.x`; "" for all else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case ast.Subscript(value=value):
            owner = _path(value)
            return owner and f"{owner}[]"
    return ""


def _path(node: ast.expr) -> str:
    """The same, also for attributes of attributes."""
    match node:
        case ast.Attribute(value=ast.Attribute() as value, attr=name):
            owner = _path(value)
            return owner and f"{owner}.{name}"
    return place_of(node)
