"""What stands where in a statement: an index of its nodes, made once and asked by whoever looks outward from a node."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradpath.source.nodes import nodes, noted, parts, statements


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


def holds(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether a node is another one, or a part of it."""
    return any(part is inner for part in nodes(outer))


def outermost(found: Iterable[ast.AST]) -> list[ast.stmt]:
    """Those of some statements that are in none of the others."""
    some = [each for each in found if isinstance(each, ast.stmt)]
    inner: set[ast.AST] = set()
    for each in some:
        if each not in inner:
            inner.update(part for part in statements([each]) if part is not each)
    return [each for each in some if each not in inner]


def lines_of(node: ast.AST) -> tuple[int, int]:
    """The first line of a node, its decorators included, and its last; 0 for one that has no place."""
    line = getattr(node, "lineno", 0)
    decorators = getattr(node, "decorator_list", None)
    if decorators:
        line = min(line, decorators[0].lineno)
    return line, getattr(node, "end_lineno", None) or line
