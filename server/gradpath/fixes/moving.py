"""Statements: what they give to a name, and how they move to where they belong, where names keep their meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.report import Source
from gradpath.findings.stories import lifted, same_activation
from gradpath.findings.syntax import ancestry, block_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import contents, holds, names_in, names_of, pairs_of, stored_names
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
