"""Which of the project's functions are not worth following: those that only shuffle options, texts and files about.

They can cost more than all the rest: parsers of configurations that call themselves, walks over folders. A call of one
gives something unknown, as that of a library's function does.
"""

from __future__ import annotations

import ast
import re
from weakref import WeakKeyDictionary

_TENSORS = re.compile(r"torch|lightning|accelerate|\.backward\(")
_TELLING = frozenset(
    {
        "append",
        "backward",
        "data",
        "detach",
        "detach_",
        "extend",
        "grad",
        "item",
        "parameters",
        "requires_grad",
        "requires_grad_",
        "step",
        "zero_grad",
    }
)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_known: WeakKeyDictionary[ast.stmt, bool] = WeakKeyDictionary()


def speaks_of_tensors(text: str) -> bool:
    """Whether a module's text has anything to do with tensors."""
    return _TENSORS.search(text) is not None


def is_chore(statement: ast.stmt) -> bool:
    """Whether a statement of a module that does not speak of tensors defines a function that is not worth following.

    That is one which loops or calls itself, and in which nothing looks like the life of a tensor or an optimizer.
    """
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    known = _known.get(statement)
    if known is None:
        known = _known[statement] = _is_chore(statement)
    return known


def _is_chore(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    repeats = False
    for node in ast.walk(function):
        match node:
            case ast.Attribute(attr=name) if name in _TELLING:
                return False
            case ast.Call(func=ast.Name(id=name)) if name == function.name:
                repeats = True
            case _:
                repeats = repeats or isinstance(node, _LOOPS)
    return repeats
