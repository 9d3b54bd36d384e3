"""Which functions write in place into what an operation may have saved, as far as their text tells.

That is what was used before the write, or what a function of a library gave, since such functions save their results
now and then. Where the text does not tell, the answer is that it may.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradpath.analysis.inplace_writes import VIEWING, Function, is_own, is_without_grad, mentions, root_of, written
from gradpath.source.nodes import Noted, nodes


def may_be_saved(function: Function, owner: ast.ClassDef) -> bool:
    """Whether a method of a class may write into what an operation has saved: a backward through its result fails."""
    if is_without_grad(function):
        return False
    known = _saved.get(function)
    if known is None:
        body = nodes(function)
        writes = [(target, node) for node in body for target in written(node)]
        known = _saved[function] = bool(writes) and _Uses(body, _saving_parts(owner)).has_saved(writes)
    return known


_saved: Noted[bool] = Noted("_writes_saved")


_parts: Noted[frozenset[str]] = Noted("_writes_saving_parts")


def _saving_parts(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes of a class that it makes modules of that save their result, maybe among others in a container."""
    known = _parts.get(owner)
    if known is None:
        assigned = [node for node in nodes(owner) if isinstance(node, ast.Assign)]
        known = _parts[owner] = frozenset(
            target.attr
            for node in assigned
            if mentions(nodes(node.value), _SAVING)
            for target in node.targets
            if isinstance(target, ast.Attribute) and is_own(target)
        )
    return known


class _Uses:
    """Where the variables of a function are bound and read, by line; `parts` are the attributes that save results."""

    def __init__(self, body: Collection[ast.AST], parts: Collection[str]) -> None:
        self._parts = parts
        self._reads: dict[str, list[ast.expr]] = {}
        self._bound: dict[str, list[tuple[int, ast.expr | None]]] = {}
        self._loops = [each for each in body if isinstance(each, (ast.For, ast.AsyncFor, ast.While))]
        for node in body:
            match node:
                case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
                    self._reads.setdefault(ast.unparse(node) if is_own(node) else root_of(node), []).append(node)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._bound.setdefault(name, []).append((node.end_lineno or node.lineno, value))
                case ast.Name(id=name, ctx=ast.Store()):
                    self._bound.setdefault(name, []).append((node.lineno, None))

    def has_saved(self, writes: Collection[tuple[ast.expr, ast.AST]]) -> bool:
        """Whether one of the writes, each with its target, may go into what was saved."""
        return any(self._is_saved(target, node) for target, node in writes)

    def _is_saved(self, target: ast.expr, write: ast.AST) -> bool:
        while isinstance(target, ast.Subscript) or (isinstance(target, ast.Attribute) and target.attr == "data"):
            target = target.value
        if not isinstance(target, (ast.Name, ast.Attribute)):
            return True
        name = ast.unparse(target) if is_own(target) else root_of(target)
        line: int = getattr(write, "lineno", 0)
        bound = [each for each in self._bound.get(name, ()) if each[0] < line]
        since, value = max(bound, key=lambda each: each[0]) if bound else (0, None)
        if value is not None and any(
            each is not None and _may_save_result(each, self._parts) for at, each in bound if at == since
        ):
            return True
        inside = {id(each) for each in nodes(write)}
        around = (each for each in self._loops if since < each.lineno <= line <= (each.end_lineno or 0))
        until = max((each.end_lineno or 0 for each in around), default=line - 1)
        return any(since < each.lineno <= until and id(each) not in inside for each in self._reads.get(name, ()))


def _may_save_result(value: ast.expr, parts: Collection[str]) -> bool:
    """Whether what computes a value may save it; arithmetic does not, nor do most modules and what fills a tensor."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name in parts:
            return True
        case ast.Call(func=ast.Attribute(value=receiver, attr=name)):
            return not (is_own(receiver) or name in _FILLING or name in VIEWING)
        case ast.IfExp(body=body, orelse=orelse):
            return _may_save_result(body, parts) or _may_save_result(orelse, parts)
        case _:
            return False


_FILLING = frozenset(
    """arange clone detach empty empty_like eye full full_like linspace masked_fill new_empty new_full new_ones
    new_tensor new_zeros ones ones_like rand rand_like randint randn randn_like tensor zeros zeros_like""".split()  # noqa: SIM905 - a table of words.
)
"""Functions that save nothing of what they give."""

_SAVING = frozenset(
    {
        "CELU",
        "ELU",
        "LeakyReLU",
        "LogSoftmax",
        "RReLU",
        "ReLU",
        "SELU",
        "Sigmoid",
        "Softmax",
        "Softmax2d",
        "Softmin",
        "Tanh",
    }
)
"""Modules that save their result, some of them where they work in place alone."""
