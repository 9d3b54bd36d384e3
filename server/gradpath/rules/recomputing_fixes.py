"""Losses that are all computed before a loop goes through them: each is computed in its own turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.interpreter.trace import Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.report import Source
from gradpath.rules.syntax import ancestry, block_of, function_of
from gradpath.source.index import names_in, stored_names


def one_by_one(trace: Trace, source: Source, again: Site) -> Iterator[Fix]:
    """`losses = [f(x) for x in data]` and `for loss in losses:` become one loop, which computes each loss in turn."""
    document = source.document(again)
    loop = next(
        (each for each in reversed(ancestry(trace, again.node)) if isinstance(each, (ast.For, ast.While))), None
    )
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Name(id=every), orelse=[]) if loop.body[0].lineno > loop.lineno:
            block = block_of(trace, loop) or []
        case _:
            return
    place = next((i for i, each in enumerate(block) if each is loop), 0)
    made = next((each for each in reversed(block[:place]) if every in stored_names(each)), None)
    match made:
        case ast.Assign(
            targets=[ast.Name()], value=ast.ListComp(elt=value, generators=[ast.comprehension(ifs=[]) as part])
        ):
            pass
        case _:
            return
    between = block[block.index(made) + 1 : place]
    function = function_of(trace, loop)
    scopes: list[ast.stmt] = block if function is None else [function]
    reads = [each for scope in scopes for each in ast.walk(scope) if isinstance(each, ast.Name)]
    own = {id(each) for each in ast.walk(made)}
    taken = {each.id for each in reads if id(each) not in own}
    if stored_names(part.target) & taken or any(names_in(made) & (stored_names(each) | {every}) for each in between):
        return
    kept = sum(each.id == every for each in reads if id(each) not in own) > 1
    lines = [f"{name} = {edits.flat(document, value)}", *([f"{every}.append({name}.detach())"] if kept else [])]
    begun = edits.replace(document, made.value, "[]") if kept else edits.delete_statement(document, made)
    new = edits.insert_before(document, loop.body[0], *lines)
    if begun is not None and new is not None:
        header = (
            edits.replace(document, loop.target, edits.flat(document, part.target)),
            edits.replace(document, loop.iter, edits.flat(document, part.iter)),
        )
        repair = Repair(Way.EACH_IN_LOOP, (name,), (loop.lineno,))
        yield Fix.by(repair, Safety.SAFE, (begun, *header, new), preferred=True, rewrite=True)
