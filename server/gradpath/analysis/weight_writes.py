"""Which functions hand a weight to a function of the same file that writes into what it is given.

PyTorch refuses that while gradients are on: `fill_sines(self.embedding.weight)`.
"""

from __future__ import annotations

import ast

from gradpath.analysis.inplace_writes import Defined, Function, is_without_grad, root_of, written
from gradpath.source.nodes import Noted, nodes

_WEIGHTS = frozenset({"bias", "weight"})

_writing: Noted[bool] = Noted("_weights_writing")


def hands_on_weights(function: Function, defined: Defined) -> bool:
    """Whether a function calls one of `defined`, the functions of its file, with a weight that this writes into."""
    for node in nodes(function):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in defined and _is_given(node):
                if any(map(_writes_into_argument, defined[name])):
                    return True
            case _:
                pass
    return False


def _is_given(call: ast.Call) -> bool:
    given = (*call.args, *(each.value for each in call.keywords))
    return any(isinstance(each, ast.Attribute) and each.attr in _WEIGHTS for each in given)


def _writes_into_argument(function: Function) -> bool:
    writes = _writing.get(function)
    if writes is None:
        spec = function.args
        given = {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
        into = {root_of(target) for node in nodes(function) for target in written(node)}
        writes = _writing[function] = bool(given & into) and not is_without_grad(function)
    return writes
