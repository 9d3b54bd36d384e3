"""Relevance: the texts that use tensors, and the project's functions that are not worth following.

The latter only handle options, texts and files. They can cost more than all the rest: recursive parsers of
configurations, walks over folders. A call of one returns an unknown, like that of a library's function.
"""

from __future__ import annotations

import ast
from functools import cache

from gradpath.overlays.registry import called_methods, libraries
from gradpath.source.imports import MODULES
from gradpath.source.nodes import nodes, noted
from gradpath.support.fast_enums import Enum
from gradpath.support.lazy_regex import regex
from gradpath.support.words import words

_IMPORT = regex(r"(?m)^[ \t]*(?:from|import)[ \t]")
_WEIGHT = regex(r"\bmodel\.[\w.\[\]]*\.(?:bias|weight)\b")
_LAYER = regex(r"\bnn\.[A-Z]")
_TELLING = words("backward detach detach_ grad item parameters requires_grad requires_grad_ step zero_grad")
_KEEPING = frozenset({"append", "data", "extend"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_OF_TENSORS = ("numpy", "torch")
_OTHERS = ("tensorflow", "keras", "jax")
_FILES = frozenset({"importlib", "inspect", "open", "os", "pkgutil"})

_OF_FRAGMENTS = (
    "def forward(self",
    "no_grad(",
    "optim.",
    "optimizer.step(",
    "requires_grad",
)


def speaks_of_tensors(text: str) -> bool:
    """True if a module's text has anything to do with tensors; what has not is neither parsed nor analysed.

    That is one which speaks of PyTorch (one that imports another such library has to import it, too), runs a backward,
    imports a library that an overlay knows, or defines a method that a framework calls; or a fragment that uses names
    of PyTorch and does not import it, or nothing but the weights of a model.
    """
    # A word is found many times as fast as an expression, and most texts with such a word need nothing else.
    if ".backward(" in text or ("torch" in text and not _is_of_others(text)):
        return True
    if any(word in text for word in (*_definitions(), *_OF_FRAGMENTS)):
        return True
    if "nn." in text and _LAYER.search(text) is not None:
        return True
    if _WEIGHT.search(text) is not None and _IMPORT.search(text) is None:
        return True
    return any(name in text and _is_imported(name, text) for name in libraries())


def _is_of_others(text: str) -> bool:
    """True if a text imports a library that computes without PyTorch, and not PyTorch itself: it mentions that."""
    return any(_is_imported(name, text) for name in _OTHERS) and not _is_imported("torch", text)


def is_of_tensors(module: str) -> bool:
    """True if a dotted name looks like that of a tensor library or of a part of one."""
    return "torch" in module or module.partition(".")[0] in libraries()


@cache
def _definitions() -> tuple[str, ...]:
    return tuple(f"def {name}(" for name in called_methods())


def _is_imported(name: str, text: str) -> bool:
    """True if a name is in the first line of an import statement."""
    at = text.find(name)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        if _IMPORT.match(text, start, at):
            return True
        at = text.find(name, at + 1)
    return False


def is_chore(statement: ast.stmt, module: str) -> bool:
    """True if a statement of a module (its text) defines a function that is not worth following.

    That is one which loops or calls itself, and in which nothing looks like the life of a tensor or an optimizer. In a
    module that speaks of tensors it must also handle files or modules, and mention no library of tensors.
    """
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    kind = _kind(statement)
    return kind is _Kind.OF_FILES or (kind is _Kind.BLIND and not speaks_of_tensors(module))


class _Kind(Enum):
    """The relevance of a function: perhaps about tensors, apparently not about tensors, or only file handling."""

    OPEN = "open"
    BLIND = "blind"
    OF_FILES = "of files"


@noted
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
                tensors = tensors or MODULES.get(name, name).startswith(_OF_TENSORS) or name in libraries()
            case ast.Import() | ast.ImportFrom():
                tensors = True
            case _:
                repeats = repeats or isinstance(node, _LOOPS)
    if not repeats:
        return _Kind.OPEN
    if files and not tensors:
        return _Kind.OF_FILES
    return _Kind.OPEN if keeps else _Kind.BLIND
