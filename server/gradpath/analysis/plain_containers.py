"""The classes whose text keeps modules in plain lists, tuples and dicts."""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradpath.source.nodes import nodes, noted


@noted
def keeps_modules(owner: ast.ClassDef) -> bool:
    """True if `__init__` puts what it makes of a class into a container that is an attribute of `self`."""
    made = (each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    written = ((method, _filled(method)) for method in made)
    return any(_keeps(node, filled) for method, filled in written for node in nodes(method))


def _keeps(node: ast.AST, filled: Collection[str]) -> bool:
    """True if a node puts a module into an attribute that is a container, or one of the `filled` into an attribute."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=ast.Name(id=name)):
            return name in filled
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=value):
            return _holds(value)
        case _:
            return isinstance(_receiver(node), ast.Attribute)


def _filled(method: ast.FunctionDef) -> set[str]:
    """The variables of containers into which a method puts modules."""
    receivers = (_receiver(node) for node in nodes(method))
    return {each.id for each in receivers if isinstance(each, ast.Name)}


def _receiver(node: ast.AST) -> ast.expr | None:
    """The container into which a node puts a module: `blocks.append(nn.Linear(1, 1))`, `heads[name] = Head()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=container, attr="append"), args=[made]) if _makes(made):
            return container
        case ast.Assign(targets=[ast.Subscript(value=container)], value=made) if _makes(made):
            return container
        case _:
            return None


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
