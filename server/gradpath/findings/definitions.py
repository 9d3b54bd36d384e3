"""What the text of the code that ran gives to a name, and the expressions that a value is computed from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradpath.findings.syntax import function_of
from gradpath.interpreter.trace import Trace
from gradpath.source.document import Document
from gradpath.source.index import contents, pairs_of
from gradpath.source.nodes import last_name

MOST_EXPRESSIONS = 40
"""Expressions that are looked at."""

ADDING = frozenset({"append", "extend", "appendleft", "insert", "add"})
"""Methods that put something into a container."""


def defining_expressions(trace: Trace, document: Document, start: ast.expr) -> list[ast.expr]:
    """The expressions of a file that the value of `start` was computed from, itself first.

    What a number was read out of (`x` of `x.item()`) is not followed, nor what a function was given.
    """
    found: dict[int, ast.expr] = {}
    todo: list[ast.expr] = [start]
    for expression in todo:  # Which grows on the way.
        if len(found) < MOST_EXPRESSIONS and id(expression) not in found and _is_of(document, expression):
            found[id(expression)] = expression
            function = function_of(trace, expression)
            for node in feeding(expression):
                if isinstance(node, ast.Name):
                    todo += [each for each in given_to(trace, node.id) if function_of(trace, each) is function]
                else:
                    todo += _returned(trace, node)
    return list(found.values())


def _is_of(document: Document, expression: ast.expr) -> bool:
    """True if an expression stands in a document, which other files that ran have no part in."""
    try:
        there = ast.parse(f"({document.slice(document.range_of(expression))})", mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return ast.dump(there) == ast.dump(expression)


def feeding(expression: ast.expr) -> Iterator[ast.Name | ast.Call]:
    """The names and calls that an expression takes its value from: none below what is read out, none of a condition."""
    todo: list[ast.AST] = [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Name, ast.Call)):
            yield node
        parts: Iterable[ast.AST] = () if is_read_out(node) else ast.iter_child_nodes(node)
        todo += (node.body, node.orelse) if isinstance(node, ast.IfExp) else parts


def is_read_out(node: ast.AST) -> bool:
    """True if an expression is `x.item()` or `x.tolist()`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("item", "tolist")


def given_to(trace: Trace, text: str) -> Iterator[ast.expr]:
    """What statements that ran give a variable or an attribute: assigned, added to it, or gone through by a loop."""
    for statement in trace.visits:
        match statement:
            case ast.Assign():
                yield from dict.fromkeys(value for target, value in pairs_of(statement) if _gets(target, text))
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.For(target=target, iter=value)
            ) if _gets(target, text):
                yield value
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=how), args=[*_, value])):
                if how in ADDING and _gets(owner, text):
                    yield value


def _gets(target: ast.expr, text: str) -> bool:
    """True if a target is a variable or an attribute, an item of it, or has it among its items."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_gets(each, text) for each in target.elts)
    inner = target.value if isinstance(target, (ast.Subscript, ast.Starred)) else target
    return isinstance(inner, (ast.Name, ast.Attribute)) and ast.unparse(inner) == text


def _returned(trace: Trace, call: ast.Call) -> Iterator[ast.expr]:
    """What the function of that name returns, where one ran."""
    for statement in trace.visits:
        if isinstance(statement, ast.Return) and statement.value is not None:
            function = function_of(trace, statement)
            if function is not None and function.name == last_name(call.func):
                yield statement.value


def numbers_kept(tree: ast.AST, value: ast.expr) -> list[ast.Call]:
    """Where numbers are read out that code puts into a list by a name, or into one place of its records.

    A function that nothing has called counts as well, and so does a list of another object by the same name.
    """
    place: object = None
    match value:
        case ast.ListComp(elt=ast.Subscript(slice=ast.Constant(value=place)), generators=[part]):
            value = part.iter
    items: list[ast.expr] = []
    for call in contents(tree).calls:
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr=how), args=[*_, item]) if how in ADDING:
                items += [item] if last_name(owner) == last_name(value) != "" else []
    if isinstance(place, int):
        records = [each.elts for each in items if isinstance(each, ast.Tuple | ast.List)]
        items = [each[place] for each in records if -len(each) <= place < len(each)]
    return [each for each in items if isinstance(each, ast.Call) and is_read_out(each)]
