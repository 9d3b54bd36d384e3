"""Moving statements to where they belong, as edits; None where the move would change what names mean."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from gradpath.diagnostic import Edit
from gradpath.findings.syntax import block_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import Trace
from gradpath.source.document import Document
from gradpath.source.index import holds, names_in, stored_names


def into_block(
    trace: Trace, document: Document, statements: Sequence[ast.stmt], owner: ast.stmt, body: list[ast.stmt]
) -> tuple[Edit, ...] | None:
    """Move statements to the start of `body`, the block of `owner`, which comes after them, however deep.

    Not where `body` binds a name that they read, nor where something reads what they bind that stays before `body` or
    is run where `body` may not be.
    """
    block = block_of(trace, statements[0])
    places = [next((i for i, each in enumerate(block) if each is moved), None) for moved in statements]
    end = next((i for i, each in enumerate(block) if holds(each, owner)), None)
    if end is None or any(place is None or place >= end for place in places):
        return None
    bound = {name for each in statements for name in stored_names(each)}
    read = {name for each in statements for name in names_in(each)} - bound
    start = min(place for place in places if place is not None)
    between = [each for each in block[start:end] if not any(each is moved for moved in statements)]
    if (
        _reads_around(block[end], owner) & bound
        or (_is_optional(block[end], owner) and _reads(block[end + 1 :], statements, bound))
        or read & stored_names(block[end])
        or any(names_in(each) & bound or stored_names(each) & (bound | read) for each in between)
    ):
        return None
    return edits.relocated(document, statements, partial(edits.insert_before, document, first_line(body)))


def _reads(block: Sequence[ast.stmt], statements: Sequence[ast.stmt], bound: set[str]) -> bool:
    """True if a block reads the names that `statements` bind, or attributes that they set."""
    stored = [part for each in statements for part in ast.walk(each) if isinstance(part, ast.Attribute)]
    attributes = {each.attr for each in stored if isinstance(each.ctx, ast.Store)}
    used = {part.attr for each in block for part in ast.walk(each) if isinstance(part, ast.Attribute)}
    return bool(used & attributes) or any(names_in(each) & bound for each in block)


def _is_optional(statement: ast.stmt, owner: ast.stmt) -> bool:
    """True if a statement may leave out `owner`, which is in it, for another reason than that a loop has nothing."""
    around = [each for each in ast.walk(statement) if holds(each, owner)]
    return not all(isinstance(each, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)) for each in around)


def _reads_around(statement: ast.stmt, owner: ast.stmt) -> set[str]:
    """The names that a statement reads outside of functions and of the body of `owner`, which is in it."""
    found: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Name):
            found.add(node.id)
        inside = getattr(node, "body", []) if node is owner else []
        todo += [each for each in ast.iter_child_nodes(node) if not any(each is part for part in inside)]
    return found


def first_line(body: list[ast.stmt]) -> ast.stmt:
    """The first statement of a body that is not its documentation or a `nonlocal`."""
    for statement in body:
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not text and not isinstance(statement, (ast.Global, ast.Nonlocal)):
            return statement
    return body[0]


def beside(trace: Trace, statement: ast.stmt, other: ast.stmt) -> ast.stmt:
    """The statement of the block of `other` that a statement is in; itself where it is in none."""
    return next((each for each in block_of(trace, other) if holds(each, statement)), statement)


def moved_after(
    trace: Trace, document: Document, statements: Sequence[ast.stmt], last: ast.stmt
) -> tuple[Edit, ...] | None:
    """Move statements of one block after `last`, which comes after them there, where names keep their meaning."""
    between = _between(trace, statements[0], last)
    if between is None or not all(any(each is one for one in between) for each in statements):
        return None
    others = [each for each in between if not any(each is one for one in statements)]
    if any(_meddles(each, [other for other in others if other.lineno > each.lineno]) for each in statements):
        return None
    return edits.relocated(document, statements, partial(edits.insert_after, document, last))


def moved_before(trace: Trace, document: Document, statement: ast.stmt, first: ast.stmt) -> tuple[Edit, ...] | None:
    """Move a statement before `first`, which comes before it in the same block, where names keep their meaning."""
    between = _between(trace, first, statement)
    if between is None or _meddles(statement, between[:-1]):
        return None
    return edits.relocated(document, [statement], partial(edits.insert_before, document, first))


def _between(trace: Trace, first: ast.stmt, last: ast.stmt) -> list[ast.stmt] | None:
    """The statements of a block from `first` to `last`, both included; None where they do not stand so in one."""
    block = block_of(trace, first)
    start = next((index for index, each in enumerate(block) if each is first), None)
    end = next((index for index, each in enumerate(block) if each is last), None)
    return None if start is None or end is None or end <= start else block[start : end + 1]


def _meddles(statement: ast.stmt, others: Sequence[ast.stmt]) -> bool:
    """True if a statement cannot pass others because of the names that they bind and read."""
    return any(
        names_in(statement) & stored_names(each) or stored_names(statement) & (names_in(each) | stored_names(each))
        for each in others
    )


def removed(trace: Trace, document: Document, statement: ast.stmt) -> Edit | None:
    """Delete a statement that is not the only one of its block."""
    return edits.delete_statement(document, statement) if len(block_of(trace, statement)) > 1 else None
