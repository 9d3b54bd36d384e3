"""Module classes that leave a part of themselves to a subclass, with which the parameters of that come."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.interpreter.values import UNDEFINED, Class
from gradpath.source.index import contents
from gradpath.source.nodes import noted

_SELF = "forward"
"""The method that a module runs when it is called itself."""


def is_abstract(cls: Class) -> bool:
    """True if a module's methods call a method that it lacks, or that only raises NotImplementedError.

    A `forward` that raises, and that no method runs, leaves nothing to a subclass: others stand for it.
    """
    seen = [each.node for each in cls.mro if each.node is not None]
    called = frozenset[str]().union(*map(_called_on_self, seen))
    return any(_is_left(cls, name) for name in called)


def _is_left(cls: Class, name: str) -> bool:
    if cls.find(name) is UNDEFINED:
        return name == _SELF
    owner = next((each for each in cls.mro if name in each.members), None)
    return owner is not None and owner.node is not None and name in _raising(owner.node)


@noted
def _called_on_self(node: ast.AST) -> frozenset[str]:
    """The methods that a class calls of `self`, `forward` for a call of `self` itself."""
    return frozenset(filter(None, map(_method, contents(node).calls)))


def _method(call: ast.Call) -> str:
    match call.func:
        case ast.Name("self"):
            return _SELF
        case ast.Attribute(value=ast.Name("self"), attr=name):
            return name
    return ""


@noted
def _raising(node: ast.AST) -> frozenset[str]:
    """The methods of a class that do nothing but raise NotImplementedError."""
    return frozenset(_names(node)) if isinstance(node, ast.ClassDef) else frozenset()


def _names(node: ast.ClassDef) -> Iterator[str]:
    for method in node.body:
        match method:
            case ast.FunctionDef(name=name, body=[*_, ast.Raise(exc=ast.Name(id) | ast.Call(func=ast.Name(id)))]):
                if id == "NotImplementedError" and all(isinstance(each, ast.Expr) for each in method.body[:-1]):
                    yield name
