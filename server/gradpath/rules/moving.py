"""Moving a statement to where it belongs, as edits; None where the move would change what names mean."""

from __future__ import annotations

import ast

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Edit
from gradpath.interpreter.trace import Site, Trace
from gradpath.rules import edits
from gradpath.rules.graphs import reach
from gradpath.rules.syntax import ancestry, block_of, names_in
from gradpath.source.document import Document


def into_block(
    trace: Trace, document: Document, statement: ast.stmt, owner: ast.stmt, body: list[ast.stmt]
) -> tuple[Edit, ...] | None:
    """Move a statement to the start of `body`, the block of `owner`, which comes after it in the same block.

    Not where `body` binds a name that the statement reads, nor for a statement over several lines.
    """
    block = block_of(trace, statement)
    if block is None or not any(each is owner for each in block):
        return None
    if statement.end_lineno != statement.lineno or body[0].lineno == owner.lineno:
        return None
    if names_in(statement) & stored_names(owner):
        return None
    gone = edits.delete_statement(document, statement)
    new = edits.insert_before(document, first_line(body), document.slice(document.range_of(statement)))
    return None if gone is None or new is None else (gone, new)


def is_built_by(trace: Trace, node: Node, statement: ast.stmt) -> bool:
    """Whether one statement built all that a second backward would miss."""
    for each in reach([node]):
        if each.accumulates is not None or not each.holds or not isinstance(each.site, Site):
            continue
        if not any(any(part is statement for part in ancestry(trace, frame.node)) for frame in each.site.frames()):
            return False
    return True


def first_line(body: list[ast.stmt]) -> ast.stmt:
    """The first statement of a body that is not its documentation or a `nonlocal`."""
    for statement in body:
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not text and not isinstance(statement, (ast.Global, ast.Nonlocal)):
            return statement
    return body[0]


def behind(trace: Trace, document: Document, statement: ast.stmt, last: ast.stmt) -> tuple[Edit, ...] | None:
    """Move a statement behind `last`, which comes after it in the same block.

    Not where something in between binds a name that the statement reads, or reads one that it binds.
    """
    block = block_of(trace, statement)
    if block is None or not any(each is last for each in block) or len(block) < 2:
        return None
    start = next(index for index, each in enumerate(block) if each is statement)
    end = next(index for index, each in enumerate(block) if each is last)
    if end <= start or statement.end_lineno != statement.lineno:
        return None
    between = block[start + 1 : end + 1]
    if any(names_in(statement) & stored_names(each) or stored_names(statement) & names_in(each) for each in between):
        return None
    gone = edits.delete_statement(document, statement)
    new = edits.insert_after(document, last, document.slice(document.range_of(statement)))
    return None if gone is None or new is None else (gone, new)


def ahead(trace: Trace, document: Document, statement: ast.stmt, first: ast.stmt) -> tuple[Edit, ...] | None:
    """Move a statement before `first`, which comes before it in the same block, where names keep their meaning."""
    block = block_of(trace, statement)
    if block is None or not any(each is first for each in block) or len(block) < 2:
        return None
    start = next(index for index, each in enumerate(block) if each is first)
    end = next(index for index, each in enumerate(block) if each is statement)
    if end <= start or statement.end_lineno != statement.lineno:
        return None
    between = block[start:end]
    if any(names_in(statement) & stored_names(each) or stored_names(statement) & names_in(each) for each in between):
        return None
    gone = edits.delete_statement(document, statement)
    new = edits.insert_before(document, first, document.slice(document.range_of(statement)))
    return None if gone is None or new is None else (gone, new)


def removed(trace: Trace, document: Document, statement: ast.stmt) -> Edit | None:
    """Delete a statement that is not the only one of its block."""
    block = block_of(trace, statement)
    return edits.delete_statement(document, statement) if block is not None and len(block) > 1 else None


def stored_names(node: ast.AST) -> set[str]:
    """The names that a statement binds, those in blocks below it included."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
