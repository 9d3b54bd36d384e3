"""What bombs are made of, read from the tables of the interpreter and from Python itself."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

from gradpath import autograd
from gradpath.interpreter.builtins import make_builtins
from gradpath.interpreter.values import Class, NativeFunction
from gradpath.overlays import registry

KINDS = (bool, bytes, complex, dict, float, frozenset, int, list, range, set, str, tuple)
"""The types of Python whose methods are called."""

LIBRARIES = ("collections", "copy", "functools", "heapq", "itertools", "math", "operator", "random")
"""The modules of the standard library of which overlays know names."""

_ENDING = frozenset({"exit", "quit", "breakpoint", "input", "help"})


@cache
def functions() -> tuple[str, ...]:
    """The builtin functions and types that the interpreter models."""
    known = make_builtins().items()
    callable_ones = (name for name, value in known if isinstance(value, (NativeFunction, Class)))
    return tuple(sorted(name for name in callable_ones if name not in _ENDING and not _is_exception(name)))


def _is_exception(name: str) -> bool:
    return name.endswith(("Error", "Exception", "Warning", "Exit", "Interrupt", "Iteration", "Group"))


@cache
def library_functions() -> tuple[str, ...]:
    """The dotted names of the standard library that overlays give a meaning."""
    return tuple(sorted(name for name in registry.names() if name.partition(".")[0] in LIBRARIES))


@cache
def methods() -> tuple[str, ...]:
    """The methods of Python's own types."""
    return tuple(sorted({name for kind in KINDS for name in dir(kind) if not name.startswith("_")}))


@cache
def tensor_methods() -> tuple[str, ...]:
    """The methods of tensors of which the table of operations tells."""
    table = json.loads((Path(autograd.__path__[0]) / "ops.json").read_text(encoding="utf-8"))
    named = {name for part in table.values() if isinstance(part, dict) for name in part}
    return tuple(sorted(name.removeprefix(_METHOD) for name in named if name.startswith(_METHOD)))


_METHOD = "torch.Tensor."


@cache
def binary_operators() -> tuple[str, ...]:
    """Python's binary operators, as they are written."""
    one = ast.Name("a")
    written = (ast.unparse(ast.BinOp(one, kind(), one)) for kind in ast.operator.__subclasses__())
    return tuple(sorted(each.removeprefix("a").removesuffix("a").strip() for each in written))


@cache
def comparisons() -> tuple[str, ...]:
    """Python's comparisons, as they are written."""
    one = ast.Name("a")
    written = (ast.unparse(ast.Compare(one, [kind()], [one])) for kind in ast.cmpop.__subclasses__())
    return tuple(sorted(each.removeprefix("a").removesuffix("a").strip() for each in written))
