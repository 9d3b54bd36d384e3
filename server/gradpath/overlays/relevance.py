"""Which of the project's functions are not worth following: those that only shuffle options, texts and files about.

They can cost more than all the rest: parsers of configurations that call themselves, walks over folders. A call of one
gives something unknown, as that of a library's function does.
"""

from __future__ import annotations

import ast
from enum import Enum

from gradpath.patterns import regex
from gradpath.source.nodes import Noted, nodes

_TENSORS = regex(r"torch|lightning|accelerate|\.backward\(")
_TELLING = frozenset(
    {
        "backward",
        "detach",
        "detach_",
        "grad",
        "item",
        "parameters",
        "requires_grad",
        "requires_grad_",
        "step",
        "zero_grad",
    }
)
_KEEPING = frozenset({"append", "data", "extend"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_FILES = frozenset({"importlib", "inspect", "open", "os", "pkgutil"})
_LIBRARIES = frozenset({"F", "accelerate", "lightning", "nn", "np", "numpy", "optim", "pl", "torch"})

_known: Noted[_Kind] = Noted("_relevance_known")


def speaks_of_tensors(text: str) -> bool:
    """Whether a module's text has anything to do with tensors."""
    return _TENSORS.search(text) is not None


def is_chore(statement: ast.stmt, module: str) -> bool:
    """Whether a statement of a module (its text) defines a function that is not worth following.

    That is one which loops or calls itself, and in which nothing looks like the life of a tensor or an optimizer. In a
    module that speaks of tensors it must also handle files or modules, and mention no library of tensors.
    """
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    known = _known.get(statement)
    if known is None:
        known = _known[statement] = _kind(statement)
    return known is _Kind.OF_FILES or (known is _Kind.BLIND and not speaks_of_tensors(module))


class _Kind(Enum):
    """What a function does: something with tensors perhaps, nothing with tensors by its looks, or a chore on files."""

    OPEN = "open"
    BLIND = "blind"
    OF_FILES = "of files"


def _kind(function: ast.FunctionDef | ast.AsyncFunctionDef) -> _Kind:
    repeats = files = tensors = keeps = False
    for node in nodes(function):
        match node:
            case ast.Attribute(attr=name) if name in _TELLING:
                return _Kind.OPEN
            case ast.Attribute(attr=name) if name in _KEEPING:
                keeps = True
            case ast.Call(func=ast.Name(id=name)) if name == function.name:
                repeats = True
            case ast.Name(id=name):
                files = files or name in _FILES
                tensors = tensors or name in _LIBRARIES
            case ast.Import() | ast.ImportFrom():
                tensors = True
            case _:
                repeats = repeats or isinstance(node, _LOOPS)
    if not repeats:
        return _Kind.OPEN
    if files and not tensors:
        return _Kind.OF_FILES
    return _Kind.OPEN if keeps else _Kind.BLIND
