"""Makes a program smaller as long as it keeps a property: statements go, bodies lose headers, expressions shrink."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator

BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef)


def shrink(text: str, keeps: Callable[[str], bool], limit: int = 2000) -> str:
    """The smallest program found that still `keeps` the property, with at most `limit` trials."""
    trials = 0

    def good(candidate: str) -> bool:
        nonlocal trials
        trials += 1
        try:
            ast.parse(candidate)
        except (SyntaxError, ValueError):
            return False
        return keeps(candidate)

    changed = True
    while changed and trials < limit:
        changed = False
        for step in (_without_runs, _without_statements, _without_headers, _simpler_expressions):
            progress = True
            while progress and trials < limit:
                progress = False
                for candidate in step(text):
                    if trials >= limit:
                        break
                    if candidate != text and good(candidate):
                        text, progress, changed = candidate, True, True
                        break
    return text


def _without_runs(text: str) -> Iterator[str]:
    """Half, a quarter, ... of the top-level statements removed."""
    body = ast.parse(text).body
    size = len(body) // 2
    while size > 1:
        for start in range(len(body) - size, -1, -size):
            yield _cut(text, _first(body[start]), body[start + size - 1].end_lineno or 0)
        size //= 2


def _without_statements(text: str) -> Iterator[str]:
    """One statement removed, the last first; an emptied body gets a `pass`."""
    for body in _bodies(ast.parse(text)):
        for node in reversed(body):
            if len(body) > 1:
                yield _cut(text, _first(node), node.end_lineno or 0)
            elif not isinstance(node, ast.Pass):
                yield _cut(text, _first(node), node.end_lineno or 0, " " * node.col_offset + "pass")


def _without_headers(text: str) -> Iterator[str]:
    """One compound statement replaced by one of its bodies."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (*BLOCKS, ast.ClassDef)):
            continue
        bodies = [node.body, getattr(node, "orelse", [])]
        for body in bodies:
            if body:
                inner = textwrap.dedent("\n".join(lines[_first(body[0]) - 1 : body[-1].end_lineno]))
                moved = textwrap.indent(inner, " " * node.col_offset)
                yield _cut(text, _first(node), node.end_lineno or 0, moved)
        if isinstance(node, ast.If | ast.For | ast.Try) and getattr(node, "orelse", None):
            tail = node.orelse[-1].end_lineno or 0
            yield _cut(text, (node.body[-1].end_lineno or 0) + 1, tail)


def _simpler_expressions(text: str) -> Iterator[str]:
    """One expression replaced by a part of it, a keyword dropped, or a loop shortened."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count)) as number]) if count > 1:
                yield _put(lines, number, str(count - 1))
        if not isinstance(node, ast.expr) or node.lineno != node.end_lineno:
            continue
        for part in _parts(node):
            if part.lineno == part.end_lineno == node.lineno and not isinstance(part, ast.Constant):
                yield _put(lines, node, lines[part.lineno - 1][part.col_offset : part.end_col_offset])
        if isinstance(node, ast.Call):
            yield from _fewer_arguments(lines, node)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Call(func=ast.Attribute(value=value), args=arguments):
            yield from arguments
            yield value
        case ast.Call(args=arguments):
            yield from arguments
        case ast.Subscript(value=value):
            yield value
        case ast.Attribute() | ast.List() | ast.Tuple() | ast.Lambda() | ast.Starred():
            return
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield child


def _fewer_arguments(lines: list[str], node: ast.Call) -> Iterator[str]:
    """The call without one of its keyword arguments; positional ones stay, for without them it is another call."""
    kept: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    if any(a.lineno != a.end_lineno for a in kept):
        return
    for index in range(len(node.args), len(kept)):
        rest = kept[:index] + kept[index + 1 :]
        texts = [lines[a.lineno - 1][a.col_offset : a.end_col_offset] for a in rest]
        function = lines[node.lineno - 1][node.col_offset : node.func.end_col_offset]
        yield _put(lines, node, f"{function}({', '.join(texts)})")


def _put(lines: list[str], node: ast.expr, text: str) -> str:
    line = lines[node.lineno - 1]
    changed = line[: node.col_offset] + text + line[node.end_col_offset :]
    return "\n".join([*lines[: node.lineno - 1], changed, *lines[node.lineno :]])


def _cut(text: str, first: int, last: int, instead: str = "") -> str:
    lines = text.split("\n")
    return "\n".join([*lines[: first - 1], *([instead] if instead else []), *lines[last:]])


def _first(node: ast.stmt) -> int:
    """The line a statement begins on, its decorators counted."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body:
                yield body
