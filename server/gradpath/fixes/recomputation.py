"""What a backward needs, and cannot have, is computed again, or later: moved or written again after what spoilt it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.graphs import is_drawn, reach
from gradpath.findings.report import Source
from gradpath.findings.syntax import Compound, Definition, ancestry, block_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import into_block, moved_after, repair_of
from gradpath.fixes.rebuilding import builders, written_again
from gradpath.interpreter.trace import Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, holds, stored_names
from gradpath.support.fast_dataclasses import dataclass

_Block = ast.For | ast.AsyncFor | ast.While | Definition


@dataclass(frozen=True, slots=True)
class Need:
    """What the backward at `near` needs: the graph that leads from `starts` to nodes that are old.

    `spoilt` is where that came about, by an earlier backward or by an update, the last one last; `uses` are places that
    go on from it. What it is computed from may be `updated` by now.
    """

    trace: Trace
    source: Source
    starts: tuple[Node, ...]
    is_old: Callable[[Node], bool]
    near: Site
    spoilt: tuple[Site, ...]
    updated: bool
    uses: tuple[Site, ...] = ()

    @property
    def frames(self) -> list[Site]:
        """The places that lead to the backward, to a use, and to where it was computed, from the inside out."""
        made = [each.site for each in self.starts]
        return [frame for site in (self.near, *self.uses, *made) for frame in site.frames()]


def recomputations(need: Need) -> Iterator[Fix]:
    """The statements that compute it: moved into what is run again, moved later, or written again."""
    for caller in dict.fromkeys(frame.caller for frame in need.frames):
        inner = need.near.caller if need.near.caller is not caller else None
        built = builders(need.trace, need.starts, need.is_old, caller, inner)
        if built is not None:
            moved = [*_moved_into(need, built), *_moved_after(need, caller, built)]
            found = [*moved, *_again(need, caller, built, alone=bool(moved))]
            yield from found
            if found:
                return


def _moved_into(need: Need, built: Sequence[ast.stmt]) -> Iterator[Fix]:
    """To the start of a loop, or of a function, that comes after them and is run again; the outermost one first."""
    ways = [ancestry(need.trace, frame.node) for frame in reversed(need.frames)]
    around = dict.fromkeys(each for way in ways for each in way if isinstance(each, _Block))
    for owner in around:
        outside = [each for each in built if not holds(owner, each)]
        if not outside or owner.lineno <= outside[-1].lineno:
            continue
        statements = list(dict.fromkeys(_beside(need.trace, each, outside) for each in outside))
        site = next(each for each in need.frames if holds(owner, each.node))
        moved = into_block(need.trace, need.source.document(site), statements, owner, owner.body)
        repair = repair_of(Way.MOVE_INTO_LOOP, outside)
        if isinstance(owner, Definition):
            repair = repair_of(Way.MOVE_INTO, outside, owner.name)
        counted = isinstance(owner, ast.For) and ast.unparse(owner.iter).startswith("range(")
        safety = Safety.UNSAFE if _draws(need, outside) and not counted else Safety.SAFE
        yield from Fix.of(repair, safety, moved, rewrite=True)


def _moved_after(need: Need, caller: Site | None, built: Sequence[ast.stmt]) -> Iterator[Fix]:
    """After what has spoilt it, where nothing reads it before that."""
    for spoilt in _in_body(need.trace, need.spoilt, caller):
        earlier = [each for each in built if each.lineno < spoilt.lineno]
        document = need.source.document(next(iter(need.spoilt)))
        moved = moved_after(need.trace, document, earlier, spoilt) if earlier else None
        repair = repair_of(Way.MOVE_AFTER, earlier, near=spoilt.lineno)
        safety = Safety.UNSAFE if _draws(need, earlier) else Safety.SAFE
        yield from Fix.of(repair, safety, moved, rewrite=True)


def _again(need: Need, caller: Site | None, built: list[ast.stmt], *, alone: bool) -> Iterator[Fix]:
    """Once more: before the statement that needs it, or else after the update.

    Where a step has come in between, what is computed is something else: safe where it serves that backward `alone`.
    """
    document = need.source.document(need.near)
    users = [*_in_body(need.trace, need.uses, caller), *_in_body(need.trace, (need.near,), caller)]
    spoilt = [each for each in _in_body(need.trace, need.spoilt, caller) if each not in built]
    drawn = any(is_drawn(ast.unparse(each)) for each in built)
    for user, after in ((user, after) for user in users for after in (*reversed(spoilt), built[-1])):
        again = written_again(need.trace, document, built, after, user)
        if again is not None:
            edit, target, copied = again
            repair = repair_of(Way.AGAIN_BEFORE, copied, near=target.lineno)
            safety = Safety.SAFE if alone or not need.updated else Safety.UNSAFE
            safety = Safety.UNSAFE if _safety(need, built) is Safety.UNSAFE else safety
            yield Fix.by(repair, safety, (edit,), rewrite=True)
            break
    for place in spoilt if need.updated else ():
        copied = [each for each in built if each.lineno < place.lineno]
        texts = [edits.lines_to_move(document, each) for each in copied]
        new = edits.insert_after(document, place, *(line for text in texts for line in text or ()))
        if texts and all(texts) and isinstance(place, ast.Expr):
            repair = repair_of(Way.AGAIN_AFTER, copied, near=place.end_lineno)
            safety = Safety.SAFE if alone and not drawn else Safety.UNSAFE
            yield from Fix.of(repair, safety, new, rewrite=True)


def _in_body(trace: Trace, sites: Sequence[Site], caller: Site | None) -> list[ast.stmt]:
    """The statements of one body that lead to some places."""
    frames = (frame for site in sites for frame in site.frames() if frame.caller is caller)
    found = (statement_of(trace, frame.node) for frame in frames)
    return list(dict.fromkeys(each for each in found if not isinstance(each, Compound)))


def _beside(trace: Trace, statement: ast.stmt, found: Sequence[ast.stmt]) -> ast.stmt:
    """The statement, or the `if` around it that holds nothing else."""
    around = ancestry(trace, statement)
    outer = around[-2] if len(around) > 1 else None
    alone = isinstance(outer, ast.If) and not outer.orelse and all(each in found for each in outer.body)
    return outer if isinstance(outer, ast.If) and alone else statement


def _draws(need: Need, built: Sequence[ast.stmt]) -> bool:
    """True if random numbers are drawn for it: others would then come out in another order."""
    return any(map(is_drawn, (*(each.name for each in reach(need.starts)), *map(ast.unparse, built))))


def _safety(need: Need, built: Sequence[ast.stmt]) -> Safety:
    """True if it comes out the same a second time: nothing is drawn, and nothing unknown is called."""
    unknown = any(each.is_open for each in reach(need.starts))
    return Safety.UNSAFE if unknown or _draws(need, built) else Safety.SAFE


def one_by_one(trace: Trace, source: Source, again: Site) -> Iterator[Fix]:
    """`losses = [f(x) for x in data]` and `for loss in losses:` become one loop, which computes each loss in turn."""
    document = source.document(again)
    loop = next(
        (each for each in reversed(ancestry(trace, again.node)) if isinstance(each, (ast.For, ast.While))), None
    )
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Name(id=every), orelse=[]) if loop.body[0].lineno > loop.lineno:
            block = block_of(trace, loop)
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
    function = function_of(trace, loop)
    scopes: list[ast.stmt] = block if function is None else [function]
    reads = [each for scope in scopes for each in contents(scope).names]
    own = {id(each) for each in contents(made).names}
    kept = sum(each.id == every for each in reads if id(each) not in own) > 1
    lines = [f"{name} = {edits.flat(document, value)}", *([f"{every}.append({name}.detach())"] if kept else [])]
    begun = edits.replace(document, made.value, "[]") if kept else edits.delete_statement(document, made)
    new = edits.insert_before(document, loop.body[0], *lines)
    header = (
        edits.replace(document, loop.target, edits.flat(document, part.target)),
        edits.replace(document, loop.iter, edits.flat(document, part.iter)),
    )
    yield from Fix.of(Repair(Way.EACH_IN_LOOP, (name,), (loop.lineno,)), Safety.SAFE, begun, *header, new, rewrite=True)
