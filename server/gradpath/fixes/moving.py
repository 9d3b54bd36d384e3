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
from gradpath.fixes.origins import ADDING
from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import contents, holds, names_in, names_of, stored_names


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
    moved = placed(trace, document, [statement], to, after=not before)
    yield from Fix.of(repair_of(way, [statement], near=to.lineno), safety, moved, rewrite=True)


def placed(
    trace: Trace,
    document: Document,
    statements: Sequence[ast.stmt],
    to: ast.stmt,
    *headers: str,
    after: bool = False,
    into: bool = False,
    again: bool = False,
) -> tuple[Edit, ...] | None:
    """Move statements of one block before or `after` another one, where names keep their meaning.

    Those that are to go `into` a later statement start its block, however deep; those that run `again` stay as well.
    Blocks that `headers` begin come around them. The tests of `if`s that they stand in, and `to` does not, come along;
    so does a block that holds nothing else.
    """
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
    later = after or into or again
    if start == end or (start < end) is not later:
        return None
    target = block[end]
    if again and isinstance(target, ast.For | ast.AsyncFor | ast.While):
        into, to = True, first_line(target.body)
    passed = block[start + 1 : end + after] if later else block[end:start]
    passed = [each for each in (passed if block is inner else [*inner, *passed]) if each not in statements]
    passed = [each for each in passed if (each.lineno > statements[0].lineno) is later]
    bound = {name for each in statements for name in stored_names(each)}
    read = {name for each in statements for name in names_in(each)} - bound
    for each in passed:
        moved = [one for one in statements if not later or one.lineno < each.lineno]
        if any(_meddles(one, each, again=again) for one in moved) or any(map(partial(_sets, each), tests)):
            return None
    if into and stored_names(target) & read:
        return None
    headers = (*(f"if {edits.flat(document, test)}:" for test in reversed(tests)), *headers)
    insert = partial(edits.insert_after if after else edits.insert_before, document, to if into else target)
    return edits.relocated(document, statements, insert, headers, again=again)


def _is_all(outer: ast.If | ast.For | ast.While | ast.With, statements: Sequence[ast.stmt]) -> bool:
    """True if some statements are all that another one holds."""
    return not getattr(outer, "orelse", []) and all(each in statements for each in outer.body)


def _sets(statement: ast.stmt, test: ast.expr) -> bool:
    return not stored_names(statement).isdisjoint(names_in(test))


def _meddles(statement: ast.stmt, other: ast.stmt, *, again: bool) -> bool:
    """True if a statement cannot pass another one, or be run `again` after it, because of the names that they bind."""
    if (stored_names(other) | _filled(other)) & names_of(statement):
        return True
    return not again and not (stored_names(statement) | _filled(statement)).isdisjoint(names_in(other))


def _filled(statement: ast.stmt) -> set[str]:
    """The variables that a statement puts something into: `cache` of `cache.append(h)`."""
    owners = (call.func for call in contents(statement).calls if isinstance(call.func, ast.Attribute))
    return {owner.value.id for owner in owners if owner.attr in ADDING and isinstance(owner.value, ast.Name)}


def repair_of(way: Way, statements: Sequence[ast.stmt], *subjects: str, near: int | None = None) -> Repair:
    """The repair that moves some statements, or runs them again; its title shows them where they are short."""
    return Repair(
        way, subjects, tuple(each.lineno for each in statements), "; ".join(map(ast.unparse, statements)), near
    )


def removed(trace: Trace, document: Document, statement: ast.stmt) -> Edit | None:
    """Delete a statement that is not the only one of its block."""
    return edits.delete_statement(document, statement) if len(block_of(trace, statement)) > 1 else None
