"""The classes whose text keeps modules in plain lists, tuples and dicts."""

from __future__ import annotations

import ast

from gradpath.source.nodes import nodes, noted


@noted
def keeps_modules(owner: ast.ClassDef) -> bool:
    """True if `__init__` puts what it makes of a class into a container that is an attribute of `self`."""
    made = (each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    return any(_keeps(node) for method in made for node in nodes(method))


def _keeps(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=value):
            return _holds(value)
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr="append"), args=[made]):
            return _makes(made)
        case _:
            return False


def _holds(value: ast.expr) -> bool:
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return any(map(_makes, parts))
        case ast.ListComp(elt=made) | ast.DictComp(value=made):
            return _makes(made)
        case _:
            return False


def _makes(made: ast.expr) -> bool:
    """True if an expression calls a class, by the way classes are written."""
    match made:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name[:1].isupper()
        case _:
            return False
