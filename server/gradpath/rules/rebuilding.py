"""The statements that build what a later backward needs, moved or written again: each call then has its own graph."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Edit
from gradpath.interpreter.trace import Site, Trace
from gradpath.rules import edits
from gradpath.rules.graphs import reach
from gradpath.rules.moving import stored_names
from gradpath.rules.syntax import ancestry, block_of, names_in, statement_of
from gradpath.source.document import Document

LONGEST = 6
"""Statements that are moved or written again together."""


def builders(
    trace: Trace,
    starts: Iterable[Node],
    is_spent: Callable[[Node], bool],
    caller: Site | None,
    inner: Site | None = None,
) -> list[ast.stmt] | None:
    """The assignments of one function call that build what leads from `starts` to spent nodes, in their order.

    `caller` is the call that runs the function, None for the module; what the call `inner` in it builds does not count.
    None where something else builds a part of it.
    """
    found: dict[ast.stmt, None] = {}
    for node in leading(starts, is_spent):
        if not isinstance(node.site, Site):
            return None
        if inner is not None and any(frame.caller is inner for frame in node.site.frames()):
            continue
        frame = next((each for each in node.site.frames() if each.caller is caller), None)
        statement = None if frame is None else statement_of(trace, frame.node)
        if not isinstance(statement, ast.Assign) or not all(_is_name(each) for each in statement.targets):
            return None
        found[statement] = None
    ordered = sorted(found, key=lambda each: each.lineno)
    return ordered if 0 < len(ordered) <= LONGEST else None


def leading(starts: Iterable[Node], is_spent: Callable[[Node], bool]) -> list[Node]:
    """The nodes below `starts` from which a spent node can be reached, those themselves included."""
    nodes = [node for node in reach(starts) if node.accumulates is None]
    wanted = {id(node) for node in nodes if is_spent(node)}
    for node in sorted(nodes, key=lambda each: each.number):
        if any(id(edge) in wanted for edge in node.edges):
            wanted.add(id(node))
    return [node for node in nodes if id(node) in wanted]


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(isinstance(each, ast.Name) for each in target.elts)
    return isinstance(target, ast.Name)


def read_elsewhere(trace: Trace, statements: list[ast.stmt], inside: ast.AST) -> bool:
    """Whether code outside of `inside` and of the statements reads or binds a name that they bind."""
    names = {name for each in statements for name in stored_names(each)}
    excused = {id(part) for root in (*statements, inside) for part in ast.walk(root)}
    own = ancestry(trace, inside)
    scopes = [each for each in own[:-1] if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    roots: list[ast.AST] = [scopes[-1]] if scopes else list(trace.visits)
    return any(
        isinstance(each, ast.Name) and each.id in names and id(each) not in excused
        for root in roots
        for each in ast.walk(root)
    )


def written_again(
    trace: Trace, document: Document, statements: list[ast.stmt], after: ast.stmt, last: ast.stmt
) -> tuple[Edit, ast.stmt] | None:
    """Copies of the statements that stand before `after`, put where the rest of them, or `last`, begins.

    All stand in one block, that of `last`. None where a name has another meaning by then.
    """
    block = block_of(trace, last)
    if block is None:
        return None
    places = [next((i for i, each in enumerate(block) if each is one), None) for one in statements]
    end = next(i for i, each in enumerate(block) if each is last)
    middle = next((i for i, each in enumerate(block) if any(part is after for part in ast.walk(each))), None)
    if middle is None or any(place is None for place in places):
        return None
    known = [place for place in places if place is not None]
    before = [place for place in known if place < middle]
    behind = [place for place in known if place > middle]
    if not before or middle in known or middle >= end:
        return None
    target = block[min([*behind, end])]
    copied = [block[place] for place in sorted(before)]
    bound = {name for each in copied for name in stored_names(each)}
    read = {name for each in copied for name in names_in(each)} - bound
    stretch = block[min(before) : block.index(target)]
    if any(stored_names(each) & (read | bound) for each in stretch if each not in copied):
        return None
    texts = [edits.lines_to_move(document, each) for each in copied]
    if any(text is None for text in texts):
        return None
    edit = edits.insert_before(document, target, *(line for text in texts for line in text or ()))
    return None if edit is None else (edit, target)
