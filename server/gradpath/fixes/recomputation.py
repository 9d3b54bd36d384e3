"""What a backward needs, and cannot have, is computed again, or later: moved or run again after what spoilt it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import UNSEEN, Node, Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.graphs import is_drawn, leaves, reach
from gradpath.findings.report import Source
from gradpath.findings.syntax import (
    Compound,
    Definition,
    ancestry,
    block_of,
    class_of,
    function_of,
    statement_of,
)
from gradpath.fixes import edits
from gradpath.fixes.moving import first_line, placed, repair_of
from gradpath.fixes.origins import given_to
from gradpath.interpreter.events import Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, holds, inside, names_in
from gradpath.support.fast_dataclasses import dataclass

_Block = ast.For | ast.AsyncFor | ast.While | Definition

LONGEST = 6
"""Statements that are moved or written again together."""


def _builders(
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
    for node in _leading(starts, is_spent):
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


def _leading(starts: Iterable[Node], is_spent: Callable[[Node], bool]) -> list[Node]:
    """The nodes below `starts` from which a spent node can be reached, those themselves included."""
    nodes = [node for node in reach(starts) if node.accumulates is None]
    wanted = {id(node) for node in nodes if is_spent(node)}
    for node in sorted(nodes, key=lambda each: each.number):
        if any(id(edge) in wanted for edge in node.edges):
            wanted.add(id(node))
    return [node for node in nodes if id(node) in wanted]


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
    """The statements that compute it: moved into what is run again, moved later, or run again."""
    for caller in dict.fromkeys(frame.caller for frame in need.frames):
        inner = need.near.caller if need.near.caller is not caller else None
        built = _builders(need.trace, need.starts, need.is_old, caller, inner)
        if built is not None:
            moved = [*_moved_into(need, built), *_moved_after(need, caller, built)]
            found = [*moved, *_again(need, caller, built, alone=bool(moved))]
            yield from found
            if found:
                return


def _moved_into(need: Need, built: Sequence[ast.stmt]) -> Iterator[Fix]:
    """To the start of a loop, or of a function, that comes after them and is run again; the outermost one first."""
    ways = [ancestry(need.trace, frame.node) for frame in reversed(need.frames)]
    for owner in dict.fromkeys(each for way in ways for each in way if isinstance(each, _Block)):
        outside = [each for each in built if not holds(owner, each)]
        if not outside or owner.lineno <= outside[-1].lineno:
            continue
        site = next(each for each in need.frames if holds(owner, each.node))
        to = first_line(owner.body)
        repair = repair_of(Way.MOVE_INTO_LOOP, outside)
        if isinstance(owner, Definition):
            repair = repair_of(Way.MOVE_INTO, outside, owner.name)
        counted = isinstance(owner, ast.For) and ast.unparse(owner.iter).startswith("range(")
        safety = Safety.UNSAFE if _draws(need, outside) and not counted else Safety.SAFE
        moved = placed(need.trace, need.source.document(site), outside, to, into=True)
        yield from Fix.of(repair, safety, moved, rewrite=True)


def _moved_after(need: Need, caller: Site | None, built: Sequence[ast.stmt]) -> Iterator[Fix]:
    """After what has spoilt it, where nothing reads it before that."""
    for spoilt in _in_body(need.trace, need.spoilt, caller):
        earlier = [each for each in built if each.lineno < spoilt.lineno]
        document = need.source.document(need.spoilt[0])
        moved = placed(need.trace, document, earlier, spoilt, after=True) if earlier else None
        repair = repair_of(Way.MOVE_AFTER, earlier, near=spoilt.lineno)
        safety = Safety.UNSAFE if _draws(need, earlier) else Safety.SAFE
        yield from Fix.of(repair, safety, moved, rewrite=True)


def _again(need: Need, caller: Site | None, built: list[ast.stmt], *, alone: bool) -> Iterator[Fix]:
    """Once more: before the statement that needs it, or else after the update.

    Where a step has come in between, what is computed is something else: safe where it serves that backward `alone`.
    """
    document = need.source.document(need.near)
    spoilt = [each for each in _in_body(need.trace, need.spoilt, caller) if each not in built]
    unknown = any(each.is_open for each in reach(need.starts))
    sure = (alone or not need.updated) and not _draws(need, built) and not unknown
    for user in _in_body(need.trace, (*need.uses, need.near), caller):
        for after in (*reversed(spoilt), built[-1]):
            early = [each for each in built if each.lineno <= after.lineno]
            late = [each for each in built if each.lineno > after.lineno]
            simple = early and all(isinstance(each, ast.Assign) for each in early)
            to = late[0] if late else user
            new = placed(need.trace, document, early, to, again=True) if simple and after.lineno < to.lineno else None
            if new is not None:
                repair = repair_of(Way.AGAIN_BEFORE, early, near=new[0].range.start.line)
                yield Fix.by(repair, Safety.SAFE if sure else Safety.UNSAFE, new, rewrite=True)
                break
    drawn = any(is_drawn(ast.unparse(each)) for each in built)
    for place in spoilt if need.updated else ():
        copied = [each for each in built if each.lineno < place.lineno]
        new = edits.relocated(document, copied, partial(edits.insert_after, document, place), again=True)
        if copied and isinstance(place, ast.Expr):
            repair = repair_of(Way.AGAIN_AFTER, copied, near=place.end_lineno)
            safety = Safety.SAFE if alone and not drawn else Safety.UNSAFE
            yield from Fix.of(repair, safety, new, rewrite=True)


def _in_body(trace: Trace, sites: Sequence[Site], caller: Site | None) -> list[ast.stmt]:
    """The statements of one body that lead to some places."""
    frames = (frame for site in sites for frame in site.frames() if frame.caller is caller)
    found = (statement_of(trace, frame.node) for frame in frames)
    return list(dict.fromkeys(each for each in found if not isinstance(each, Compound)))


def _draws(need: Need, built: Sequence[ast.stmt]) -> bool:
    """True if random numbers are drawn for it: others would then come out in another order."""
    return any(map(is_drawn, (*(each.name for each in reach(need.starts)), *map(ast.unparse, built))))


def computed_where_read(trace: Trace, source: Source, node: Node) -> Iterator[Fix]:
    """`self.table = make(self.weight)` moves to the only method that reads `self.table`.

    From `__init__` it moves to the start of that method, else to the statement that reads it, in a loop for instance.
    `node` is what is needed a second time.
    """
    for frame in node.site.frames():
        statement, function = statement_of(trace, frame.node), function_of(trace, frame.node)
        owner = None if function is None else class_of(trace, function)
        match statement:
            case ast.Assign(targets=[ast.Attribute(attr=name) as target]) if function and owner:
                readers = [each for each in owner.body if isinstance(each, Definition) and _reads(each, name)]
                everywhere = _reads(source.tree(frame.path), name)  # Also in a branch that the path did not take.
                if readers and len(_reads(readers[0], name)) == len(everywhere):
                    moving, document = _with_parts(function, statement), source.document(frame)
                    if len(moving) == len(block_of(trace, statement)):
                        return
                    place = _place_in(readers[0], name, first=function.name == "__init__")
                    moved = edits.relocated(document, moving, partial(edits.insert_before, document, place))
                    lines, what = tuple(each.lineno for each in moving), edits.flat(document, target)
                    repair = Repair(Way.MOVE_TO_READER, (what,), lines, readers[0].name)
                    # Several steps have used what was computed once: they would use what the parameters have become.
                    safety = Safety.UNSAFE if len(trace.of(Stepped)) > 1 else Safety.SAFE
                    yield from Fix.of(repair, safety, moved, rewrite=True)
                return


def _place_in(reader: Definition, name: str, *, first: bool) -> ast.stmt:
    """The first statement of a method, or the first simple one that reads an attribute."""
    reading = [each for each in inside(reader, ast.Assign, ast.AugAssign, ast.Expr, ast.Return) if _reads(each, name)]
    start = first_line(reader.body)
    return start if first else min(reading, key=lambda each: each.lineno, default=start)


def _with_parts(function: Definition, statement: ast.stmt) -> list[ast.stmt]:
    """A statement, and those before it in a body that compute in local variables what it alone reads, in order."""
    moving = [statement]
    for each in reversed(function.body[: function.body.index(statement)] if statement in function.body else []):
        match each:
            case ast.Assign(targets=[ast.Name(id=name)]):
                readers = [other for other in function.body if other is not each and name in names_in(other)]
                if readers and all(other in moving for other in readers):
                    moving.insert(0, each)
    return moving


def _reads(code: ast.AST, name: str) -> list[ast.Attribute]:
    return [each for each in inside(code, ast.Attribute) if each.attr == name and isinstance(each.ctx, ast.Load)]


def one_by_one(trace: Trace, source: Source, again: Site) -> Iterator[Fix]:
    """`losses = [f(x) for x in data]` and `for loss in losses:` become one loop, which computes each loss in turn."""
    document, around = source.document(again), ancestry(trace, again.node)
    loop = next((each for each in reversed(around) if isinstance(each, ast.For)), None)
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Name(id=every)):
            made = [each for each in given_to(trace, every) if function_of(trace, each) is function_of(trace, loop)]
        case _:
            return
    match made:
        case [ast.ListComp(elt=value, generators=[ast.comprehension(ifs=[]) as part]) as first, *_]:
            body = around[:1] if function_of(trace, loop) else block_of(trace, loop)
            reads = [each for root in body for each in contents(root).names if each.id == every]
            kept = any(each.lineno > loop.lineno for each in reads)
            lines = [f"{name} = {edits.flat(document, value)}", *([f"{every}.append({name}.detach())"] if kept else [])]
            statement = statement_of(trace, first)
            begun = edits.replace(document, first, "[]") if kept else edits.delete_statement(document, statement)
            new = edits.insert_before(document, loop.body[0], *lines)
            taken = edits.replace(document, loop.target, edits.flat(document, part.target))
            through = edits.replace(document, loop.iter, edits.flat(document, part.iter))
            repair = Repair(Way.EACH_IN_LOOP, (name,), (loop.lineno,))
            yield from Fix.of(repair, Safety.SAFE, begun, taken, through, new, rewrite=True)
