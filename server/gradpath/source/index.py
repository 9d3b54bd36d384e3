"""The index of a piece of code: its nodes by kind, what surrounds each, names, attributes and calls; built once."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, cast

from gradpath.source.nodes import BLOCKS, nodes, noted, parts, statements
from gradpath.support.fast_dataclasses import dataclass

N = TypeVar("N", bound=ast.AST)


class Index:
    """The nodes of a statement by what is right around them, the statement itself included."""

    __slots__ = ("_around", "_root")

    def __init__(self, root: ast.stmt) -> None:
        self._root = root
        self._around = {part: node for node in nodes(root) for part in parts(node)}

    def way_to(self, node: ast.AST) -> tuple[ast.AST, ...]:
        """The nodes from the statement down to `node`, both included; empty where it is not in the statement."""
        if node is not self._root and node not in self._around:
            return ()
        way = [node]
        while way[-1] is not self._root:
            way.append(self._around[way[-1]])
        return tuple(reversed(way))


@noted
def index_of(statement: ast.stmt) -> Index:
    """The index of a statement."""
    return Index(statement)


@dataclass(frozen=True, slots=True)
class Contents:
    """The variables, attributes and calls in a piece of code, itself included, the outermost first."""

    names: Sequence[ast.Name]
    attributes: Sequence[ast.Attribute]
    calls: Sequence[ast.Call]


@noted
def _by_kind(node: ast.AST) -> dict[type[ast.AST], list[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for each in nodes(node):
        found.setdefault(each.__class__, []).append(each)
    return found


def inside(code: ast.AST, *kinds: type[N]) -> list[N]:
    """The nodes of these kinds in a piece of code, itself included: kind by kind, the outermost of each first."""
    known = _by_kind(code)
    return [each for kind in kinds for each in cast("list[N]", known.get(kind, ()))]


@noted
def contents(node: ast.AST) -> Contents:
    """The variables, attributes and calls in a piece of code, functions inside it included."""
    return Contents(inside(node, ast.Name), inside(node, ast.Attribute), inside(node, ast.Call))


@noted
def variables(node: ast.AST) -> Sequence[ast.Name | ast.Attribute]:
    """The names and attributes in a piece of code, itself included, the outermost first."""
    return [each for each in nodes(node) if isinstance(each, (ast.Name, ast.Attribute))]


def head_of(statement: ast.AST) -> list[ast.AST]:
    """The expressions of a compound statement, without its blocks."""
    return parts(statement, BLOCKS)


def names_in(node: ast.AST) -> set[str]:
    """The variables that a piece of code reads."""
    return {each.id for each in contents(node).names if isinstance(each.ctx, ast.Load)}


def stored_names(node: ast.AST) -> set[str]:
    """The variables that a piece of code binds or deletes."""
    return {each.id for each in contents(node).names if not isinstance(each.ctx, ast.Load)}


def names_of(node: ast.AST) -> set[str]:
    """The variables that a piece of code reads or binds."""
    return {each.id for each in contents(node).names}


def methods_called(node: ast.AST) -> Iterator[tuple[ast.expr, str, ast.Call]]:
    """The calls of methods, each with what it is called on and the method."""
    for call in contents(node).calls:
        if isinstance(call.func, ast.Attribute):
            yield call.func.value, call.func.attr, call


def holds(outer: ast.AST, inner: ast.AST) -> bool:
    """True if a node is another one, or a part of it."""
    return inner in _by_kind(outer).get(inner.__class__, ())


_GROWS = frozenset({"append", "extend", "insert"})


def pairs_of(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The pairs of target and value of an assignment, as in `self.a, self.b = a, b`."""
    for target in node.targets if isinstance(node, ast.Assign) else ():
        match target, getattr(node, "value", None):
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                yield from zip(targets, values, strict=True)
            case _, ast.expr() as value:
                yield target, value


def has_several(code: ast.AST, attribute: str) -> bool:
    """True if code walks through an attribute, or adds to it, as to something with any number of items."""
    for node in nodes(code):
        match node:
            case ast.For(iter=ast.Attribute(attr=name)) | ast.comprehension(iter=ast.Attribute(attr=name)):
                several = name == attribute
            case ast.Attribute(value=ast.Attribute(attr=name), attr=method):
                several = name == attribute and method in _GROWS
            case ast.AugAssign(target=ast.Attribute(attr=name)):
                several = name == attribute
            case _:
                several = False
        if several:
            return True
    return False


def outermost(found: Iterable[ast.AST]) -> list[ast.stmt]:
    """The statements that are not inside others of them."""
    some = [each for each in found if isinstance(each, ast.stmt)]
    inner: set[ast.AST] = set()
    for each in some:
        if each not in inner:
            inner.update(_within(each))
    return [each for each in some if each not in inner]


@noted
def _within(statement: ast.stmt) -> Sequence[ast.stmt]:
    return [each for each in statements([statement]) if each is not statement]


def lines_of(node: ast.AST) -> tuple[int, int]:
    """The first line of a node, its decorators included, and its last; 0 for one that has no place."""
    line = getattr(node, "lineno", 0)
    decorators = getattr(node, "decorator_list", None)
    if decorators:
        line = min(line, decorators[0].lineno)
    return line, getattr(node, "end_lineno", None) or line
