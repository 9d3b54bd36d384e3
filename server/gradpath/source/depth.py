"""Trees too deep to visit recursively, made shallow."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence

from gradpath.source.document import Document
from gradpath.source.grammar import UNPARSED, SyntaxProblem
from gradpath.source.nodes import PARTS

DEEPEST = 200
"""The greatest depth of nested expressions, the module included."""

# No code of so few characters, or of so few operators, nests as deep.
_SHALLOW_CODE = 150
_FEW_OPERATORS = 75
_OPERATORS = b"-+*/%@|&^~<>=.,:[({"
_KEYWORDS = (b"not", b"if", b"lambda", b"await", b"and", b"or", b"for")
_BLOCKS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.FunctionDef: ("body",),
    ast.AsyncFunctionDef: ("body",),
    ast.ClassDef: ("body",),
    ast.With: ("body",),
    ast.AsyncWith: ("body",),
    ast.For: ("body", "orelse"),
    ast.AsyncFor: ("body", "orelse"),
    ast.While: ("body", "orelse"),
    ast.If: ("body", "orelse"),
    ast.Try: ("body", "orelse", "finalbody"),
}
if sys.version_info >= (3, 11):
    _BLOCKS[ast.TryStar] = _BLOCKS[ast.Try]


def prune(tree: ast.Module, document: Document) -> list[SyntaxProblem]:
    """Cut a tree, in place, where it is deeper than `DEEPEST`.

    An unknown name replaces a deep expression, `pass` a deep block. Returns a problem for each statement that was
    cut.
    """
    problems = []
    text, starts = document.text, document.line_starts
    stack = [(tree.body, 2)]
    while stack:
        block, depth = stack.pop()
        if depth > DEEPEST:
            problems.append(_problem(block[0], document))
            block[:] = [ast.copy_location(ast.Pass(), block[0])]
            continue
        for node in block:
            # This runs for every statement: what can be spared is.
            first, last = node.lineno, node.end_lineno or node.lineno
            kind = node.__class__
            fields = _BLOCKS.get(kind)
            parts: Sequence[ast.ExceptHandler | ast.match_case] = ()
            if fields is not None:
                for field in fields:
                    children = getattr(node, field)
                    if children:
                        stack.append((children, depth + 1))
                # The decorators of a definition are above its own line: its code is that down to the first statement.
                decorators = getattr(node, "decorator_list", None)
                first = decorators[0].lineno if decorators else first
                last = node.body[0].lineno  # type: ignore[attr-defined]
                parts = getattr(node, "handlers", ())
            elif kind is ast.Match:
                parts = node.cases  # type: ignore[attr-defined]
            for part in parts:
                stack.append((part.body, depth + 2))
            if not parts:
                start, end = starts[first - 1], starts[last] if last < len(starts) else len(text)
                if end - start <= _SHALLOW_CODE or type(getattr(node, "value", None)) is ast.Constant:
                    continue
                if not _may_be_deep(text[start:end].encode("utf-8", "surrogatepass")):
                    continue
            if _is_deep(node, depth) and _cut(node, depth):
                problems.append(_problem(node, document))
    return problems


def _problem(node: ast.stmt, document: Document) -> SyntaxProblem:
    return SyntaxProblem(document.range_of(node), "nested too deeply to analyse")


def _may_be_deep(code: bytes) -> bool:
    operators = len(code) - len(code.translate(None, _OPERATORS))
    return operators + sum(map(code.count, _KEYWORDS)) > _FEW_OPERATORS


def _is_deep(statement: ast.stmt, depth: int) -> bool:
    """True if expressions of a statement are nested deeper than `DEEPEST`."""
    level: list[ast.AST] = [statement]
    while level and depth <= DEEPEST:
        depth += 1
        below: list[ast.AST] = []
        for node in level:
            for name in PARTS[node.__class__]:
                part = getattr(node, name, None)
                if part.__class__ is list:
                    below += [each for each in part if each is not None and not isinstance(each, ast.stmt)]
                elif part is not None:
                    below.append(part)
        level = below
    return bool(level)


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
