"""Trees too deep to visit recursively, made shallow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradpath.source.document import Document
from gradpath.source.grammar import UNPARSED, SyntaxProblem

DEEPEST = 200
"""How many nodes may stand one within the other, the module included, apart from nodes that are no expressions."""

_SHALLOW_CODE = 150  # No code of so few characters nests more than so many nodes.
_DEEPENING = re.compile(r"[-+*/%@|&^~<>=.,:\[({]|\b(?:not|if|lambda|await|yield|and|or|for)\b")
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def prune(tree: ast.Module, document: Document) -> list[SyntaxProblem]:
    """Cut a tree, in place, where it is deeper than `DEEPEST`.

    An unknown name stands for a deep expression, `pass` for a deep block. Returns a problem for each statement that was
    cut.
    """
    problems = []
    stack: list[tuple[ast.AST, int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        for field in _BLOCKS:
            children = getattr(node, field, None)
            if not isinstance(children, list) or not children:
                continue
            if depth >= DEEPEST and isinstance(children[0], ast.stmt):
                problems.append(SyntaxProblem(document.range_of(children[0]), "nested too deeply to analyse"))
                children[:] = [ast.copy_location(ast.Pass(), children[0])]
                continue
            stack += [(child, depth + 1) for child in children]
        if isinstance(node, ast.stmt) and _may_be_deep(node, document) and _cut(node, depth):
            problems.append(SyntaxProblem(document.range_of(node), "nested too deeply to analyse"))
    return problems


def _may_be_deep(statement: ast.stmt, document: Document) -> bool:
    match statement:
        case ast.Match() | ast.Try():
            return True
        case ast.If() | ast.For() | ast.While() | ast.With() | ast.FunctionDef() | ast.ClassDef():
            last = statement.body[0].lineno
        case ast.AsyncFor() | ast.AsyncWith() | ast.AsyncFunctionDef():
            last = statement.body[0].lineno
        case _:
            last = statement.end_lineno or statement.lineno
    first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", ()))])
    size = document.characters(first, last)
    if size <= _SHALLOW_CODE:
        return False
    return len(_DEEPENING.findall(document.text_of_lines(first, last))) > _SHALLOW_CODE // 2


def _cut(statement: ast.stmt, depth: int) -> bool:
    """Replace the statement's expressions deeper than `DEEPEST`; whether there were any."""
    cut = False
    stack: list[tuple[ast.AST, int]] = [(statement, depth)]
    while stack:
        node, depth = stack.pop()
        for field, index, child in _children(node):
            if isinstance(child, ast.stmt):
                continue
            if depth < DEEPEST or not _is_replaceable(child):
                stack.append((child, depth + 1))
                continue
            cut = True
            context = getattr(child, "ctx", None) or ast.Load()
            name = ast.copy_location(ast.Name(UNPARSED, context), child)
            if index is None:
                setattr(node, field, name)
            else:
                getattr(node, field)[index] = name
    return cut


def _is_replaceable(node: ast.AST) -> bool:
    leaf = isinstance(node, ast.Name | ast.Constant)
    return (
        isinstance(node, ast.expr)
        and not leaf
        and not isinstance(node, ast.FormattedValue | ast.JoinedStr | ast.Starred | ast.Slice)
    )


def _children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield field, None, value
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield field, index, item
