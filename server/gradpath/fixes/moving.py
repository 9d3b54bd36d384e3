"""Statements that move to where they belong, where names keep their meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.definitions import ADDING
from gradpath.findings.report import Source
from gradpath.findings.stories import lifted, same_activation
from gradpath.findings.syntax import ancestry, block_of, class_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import contents, holds, inside, names_in, names_of, stored_names


def first_line(body: list[ast.stmt]) -> ast.stmt:
    """The first statement of a body that is not its documentation or a `nonlocal`."""
    texts = [isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in body]
    code = (each for each, text in zip(body, texts, strict=True) if not text)
    return next((each for each in code if not isinstance(each, (ast.Global, ast.Nonlocal))), body[0])


def moving(
    trace: Trace, source: Source, at: Site, to: Site, way: Way, safety: Safety = Safety.UNSAFE, *, before: bool = False
) -> Iterator[Fix]:
    """The statement that leads to a place moves after the one that leads `to` another, or `before` it, in one body."""
    place = lifted(at, to)
    if same_activation(place, to):
        statement, target = statement_of(trace, place.node), statement_of(trace, to.node)
        moved = placed(trace, source.document(place), [statement], target, after=not before)
        yield from Fix.of(repair_of(way, [statement], near=target.lineno), safety, moved, rewrite=True)


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
        rest = [*getattr(outer, "body", []), *getattr(outer, "orelse", [])]
        if isinstance(outer, ast.If | ast.For | ast.While | ast.With) and all(each in statements for each in rest):
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
        set_here = stored_names(each)
        if any(_meddles(one, each, again=again) for one in moved) or any(names_in(test) & set_here for test in tests):
            return None
    if into and stored_names(target) & read:
        return None
    headers = (*(f"if {edits.flat(document, test)}:" for test in reversed(tests)), *headers)
    insert = partial(edits.insert_after if after else edits.insert_before, document, to if into else target)
    return edits.relocated(document, statements, insert, headers, again=again)


def _meddles(statement: ast.stmt, other: ast.stmt, *, again: bool) -> bool:
    """True if a statement cannot pass another one, or be run `again` after it, because of the names that they bind."""
    own, others = (stored_names(each) | _filled(each) for each in (statement, other))
    return bool(others & names_of(statement) or (not again and own & names_in(other)))


def _filled(statement: ast.stmt) -> set[str]:
    """The variables that a statement puts something into: `cache` of `cache.append(h)`."""
    owners = (call.func for call in contents(statement).calls if isinstance(call.func, ast.Attribute))
    return {owner.value.id for owner in owners if owner.attr in ADDING and isinstance(owner.value, ast.Name)}


def repair_of(way: Way, statements: Sequence[ast.stmt], *subjects: str, near: int | None = None) -> Repair:
    """The repair that moves some statements, or runs them again; its title shows them where they are short."""
    lines, text = tuple(each.lineno for each in statements), "; ".join(map(ast.unparse, statements))
    return Repair(way, subjects, lines, text, near)


def removed(trace: Trace, document: Document, statement: ast.stmt) -> Edit | None:
    """Delete a statement that is not the only one of its block."""
    return edits.delete_statement(document, statement) if len(block_of(trace, statement)) > 1 else None


def hoisted(trace: Trace, source: Source, made: Site, into: str = "__init__") -> Iterator[Fix]:
    """`head = nn.Linear(8, 1)` in a method becomes `head = self.head`, which another method makes at its end."""
    owner = class_of(trace, made.node)
    methods = {} if owner is None else {each.name: each for each in owner.body if isinstance(each, ast.FunctionDef)}
    begin, known = methods.get(into), [] if owner is None else inside(owner, ast.Attribute)
    match statement_of(trace, made.node):
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if begin is not None:
            document, own = source.document(made), begin.args.args[0].arg
            text = f"{own}.{name} = {edits.flat(document, call)}"
            if all(each.attr != name for each in known):
                new = edits.insert_after(document, begin.body[-1], text)
                repair = Repair(Way.MAKE_ONCE, text=text)
                yield from Fix.of(repair, Safety.UNSAFE, edits.replace(document, call, f"{own}.{name}"), new)
