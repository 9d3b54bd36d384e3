"""Moving statements to where they belong, as edits; None where the move would change what names mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.report import Source
from gradpath.findings.stories import lifted, same_activation
from gradpath.findings.syntax import ancestry, block_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import holds, names_in, names_of, stored_names


def into_block(
    trace: Trace, document: Document, statements: Sequence[ast.stmt], owner: ast.stmt, body: list[ast.stmt]
) -> tuple[Edit, ...] | None:
    """Move statements to the start of `body`, the block of `owner`, which comes after them, however deep.

    Not where a statement that they pass, or that they move into, binds a name that they read or bind.
    """
    block = block_of(trace, statements[0])
    places = [block.index(each) if each in block else None for each in statements]
    end = next((i for i, each in enumerate(block) if holds(each, owner)), None)
    known = [each for each in places if each is not None]
    if end is None or len(known) < len(places) or max(known) >= end:
        return None
    names = {name for each in statements for name in names_of(each)}
    bound = {name for each in statements for name in stored_names(each)}
    between = [each for each in block[min(known) : end] if each not in statements]
    if any(stored_names(each) & names or names_in(each) & bound for each in between):
        return None
    if stored_names(block[end]) & (names - bound):
        return None
    return edits.relocated(document, statements, partial(edits.insert_before, document, first_line(body)))


def first_line(body: list[ast.stmt]) -> ast.stmt:
    """The first statement of a body that is not its documentation or a `nonlocal`."""
    for statement in body:
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not text and not isinstance(statement, (ast.Global, ast.Nonlocal)):
            return statement
    return body[0]


def moving(
    trace: Trace,
    source: Source,
    site: Site,
    other: Site,
    way: Way,
    safety: Safety = Safety.UNSAFE,
    *,
    before: bool = False,
) -> Iterator[Fix]:
    """The statement that leads to `site` moves after the one that leads to `other`, or `before` it, in one body."""
    place = lifted(site, other)
    if not same_activation(place, other):
        return
    statement, document = statement_of(trace, place.node), source.document(place)
    to = statement_of(trace, other.node)
    moved = moved_before(trace, document, statement, to) if before else moved_after(trace, document, [statement], to)
    yield from Fix.of(repair_of(way, [statement], near=to.lineno), safety, moved, rewrite=True)


def moved_after(
    trace: Trace, document: Document, statements: Sequence[ast.stmt], last: ast.stmt, *headers: str
) -> tuple[Edit, ...] | None:
    """Move statements of one block after `last`, where names keep their meaning, into blocks that `headers` begin.

    The tests of `if`s that they stand in, and `last` does not, come along; so does a loop that holds nothing else.
    """
    return _moved(trace, document, statements, last, headers, after=True)


def moved_before(trace: Trace, document: Document, statement: ast.stmt, first: ast.stmt) -> tuple[Edit, ...] | None:
    """Move a statement before `first` in the same way."""
    return _moved(trace, document, [statement], first, (), after=False)


def _moved(
    trace: Trace,
    document: Document,
    statements: Sequence[ast.stmt],
    to: ast.stmt,
    headers: Sequence[str],
    *,
    after: bool,
) -> tuple[Edit, ...] | None:
    inner, tests = block_of(trace, statements[0]), list[ast.expr]()
    block, here = inner, statements[0]
    while not any(holds(each, to) for each in block):
        around = [each for each in ancestry(trace, here)[:-1] if isinstance(each, ast.stmt)]
        outer = around[-1] if around else None
        if isinstance(outer, ast.If | ast.For | ast.While | ast.With) and _is_all(outer, statements):
            statements, inner = [outer], block_of(trace, outer)
        elif isinstance(outer, ast.If) and here in outer.body:
            tests.append(outer.test)
        else:
            return None
        here, block = outer, block_of(trace, outer)
    start, end = block.index(here), next(index for index, each in enumerate(block) if holds(each, to))
    if (start >= end) if after else (start <= end):
        return None
    between = block[start + 1 : end + 1] if after else block[end:start]
    first = statements[0].lineno
    passed = [*between] if block is inner else [*inner, *between]
    passed = [each for each in passed if each not in statements and (each.lineno > first) is after]
    if any(_meddles(each, [one for one in passed if not after or one.lineno > each.lineno]) for each in statements):
        return None
    if any(names_in(test) & stored_names(each) for test in tests for each in passed):
        return None
    headers = [*(f"if {edits.flat(document, test)}:" for test in reversed(tests)), *headers]
    insert = partial(edits.insert_after if after else edits.insert_before, document, block[end])
    return edits.relocated(document, statements, insert, headers)


def _is_all(outer: ast.If | ast.For | ast.While | ast.With, statements: Sequence[ast.stmt]) -> bool:
    """True if some statements are all that another one holds."""
    return not getattr(outer, "orelse", []) and all(each in statements for each in outer.body)


def _meddles(statement: ast.stmt, others: Sequence[ast.stmt]) -> bool:
    """True if a statement cannot pass others because of the names that they bind and read."""
    return any(
        names_in(statement) & stored_names(each) or stored_names(statement) & (names_in(each) | stored_names(each))
        for each in others
    )


def repair_of(way: Way, statements: Sequence[ast.stmt], *subjects: str, near: int | None = None) -> Repair:
    """The repair that moves some statements, or runs them again; its title shows them where they are short."""
    return Repair(
        way, subjects, tuple(each.lineno for each in statements), "; ".join(map(ast.unparse, statements)), near
    )


def removed(trace: Trace, document: Document, statement: ast.stmt) -> Edit | None:
    """Delete a statement that is not the only one of its block."""
    return edits.delete_statement(document, statement) if len(block_of(trace, statement)) > 1 else None
