"""The statements that build what a later backward needs, moved or written again: each call then has its own graph."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import UNSEEN, Node, Tensor
from gradpath.diagnostic import Edit
from gradpath.findings.graphs import leaves, reach
from gradpath.findings.syntax import ancestry, block_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import first_line
from gradpath.interpreter.trace import Site, Trace
from gradpath.source.document import Document
from gradpath.source.index import holds, names_in, stored_names

LONGEST = 6
"""Statements that are moved or written again together."""


def builders(
    trace: Trace,
    starts: Iterable[Node],
    is_spent: Callable[[Node], bool],
    caller: Site | None,
    inner: Site | None = None,
) -> list[ast.stmt] | None:
    """The simple statements of one function call that build what leads from `starts` to spent nodes, in their order.

    `caller` is the call that runs the function, None for the module; what the call `inner` in it builds does not count.
    None where something else builds a part of it, or where they make what is trained; weights that are presumed to
    stand in an unknown call may do.
    """
    found: dict[ast.stmt, None] = {}
    starts = list(starts)
    for node in leading(starts, is_spent):
        if inner is not None and any(frame.caller is inner for frame in node.site.frames()):
            continue
        frame = next((each for each in node.site.frames() if each.caller is caller), None)
        statement = None if frame is None else statement_of(trace, frame.node)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
            return None
        found[statement] = None
    ordered = sorted(found, key=lambda each: each.lineno)
    seen = (
        leaf for leaf in leaves(starts) if leaf.operation != UNSEEN and not isinstance(leaf.provenance, Presumption)
    )
    if any(_is_made_in(trace, leaf, found) for leaf in seen):
        return None  # Each run of them would begin with new parameters.
    return ordered if 0 < len(ordered) <= LONGEST else None


def _is_made_in(trace: Trace, leaf: Tensor, statements: Iterable[ast.stmt]) -> bool:
    """True if one of the statements makes a leaf, itself or by what it calls."""
    lines = {frame.line for frame in leaf.origin.frames()}
    near = [each for each in statements if any(each.lineno <= line <= (each.end_lineno or line) for line in lines)]
    return any(holds(each, frame.node) for each in near for frame in leaf.origin.frames())


def leading(starts: Iterable[Node], is_spent: Callable[[Node], bool]) -> list[Node]:
    """The nodes below `starts` from which a spent node can be reached, those themselves included."""
    nodes = [node for node in reach(starts) if node.accumulates is None]
    wanted = {id(node) for node in nodes if is_spent(node)}
    for node in sorted(nodes, key=lambda each: each.number):
        if any(id(edge) in wanted for edge in node.edges):
            wanted.add(id(node))
    return [node for node in nodes if id(node) in wanted]


def _binds_names(statement: ast.Assign) -> bool:
    return all(_is_name(each) for each in statement.targets)


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(isinstance(each, ast.Name) for each in target.elts)
    return isinstance(target, ast.Name)


def read_elsewhere(trace: Trace, statements: list[ast.stmt], inside: ast.AST) -> bool:
    """True if code outside of `inside` and of the statements reads or binds a name that they bind."""
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
) -> tuple[Edit, ast.stmt, list[ast.stmt]] | None:
    """Copies of the statements up to `after`, put where the rest of them, or `last`, begins.

    Where `last` is in a loop that begins after `after`, the copies go to the start of its body. None where a name has
    another meaning by then.
    """
    block = block_of(trace, min(statements, key=lambda each: each.lineno))
    places = [_place(block, each) for each in statements]
    middle, end = _place(block, after), _place(block, last)
    known = [place for place in places if place is not None]
    within = middle in known and after is not statements[-1]
    if middle is None or end is None or len(known) < len(places) or within or middle >= end:
        return None
    before = sorted({place for place in known if place <= middle})
    copied = [block[place] for place in before]
    if not copied or not all(isinstance(each, ast.Assign) and _binds_names(each) for each in copied):
        return None
    target = block[min([*(place for place in known if place > middle), end])]
    stretch = block[before[0] : block.index(target)]
    if target is block[end] and isinstance(target, (ast.For, ast.AsyncFor, ast.While)):
        stretch, target = [*stretch, target], first_line(target.body)
    bound = {name for each in copied for name in stored_names(each)}
    read = {name for each in copied for name in names_in(each)} - bound
    if any(stored_names(each) & (read | bound) for each in stretch if each not in copied):
        return None
    texts = [edits.lines_to_move(document, each) for each in copied]
    edit = edits.insert_before(document, target, *(line for text in texts for line in text or ()))
    return None if edit is None else (edit, target, copied)


def _place(block: list[ast.stmt], statement: ast.stmt) -> int | None:
    return next((i for i, each in enumerate(block) if holds(each, statement)), None)
