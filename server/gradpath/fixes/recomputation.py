"""What a backward needs, and cannot have, is computed again, or later: moved or run again after what spoilt it."""

from __future__ import annotations

import ast
import re
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
    arguments_of,
    block_of,
    class_of,
    function_of,
    statement_of,
)
from gradpath.fixes import edits
from gradpath.fixes.moving import first_line, placed, repair_of
from gradpath.interpreter.trace import Site, Stepped, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import contents, holds, inside, names_in, names_of, stored_names
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
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=own), attr=name)]) if function and owner:
                methods = [each for each in owner.body if isinstance(each, Definition) and _reads(each, name)]
                if len(methods) == 1 and not _is_used_outside(source.document(frame), owner, name):
                    moving, what = _with_parts(function, statement), f"{own}.{name}"
                    yield from _moved_to(trace, source.document(frame), function, moving, what, *methods)
                return


def _is_used_outside(document: Document, owner: ast.ClassDef, name: str) -> bool:
    """True if code outside of a class uses an attribute of that name, be it in a branch that the path did not take."""
    start, end = document.offset_of_line(owner.lineno), document.offset_of_line((owner.end_lineno or owner.lineno) + 1)
    used = re.compile(rf"\.\s*{re.escape(name)}\b")
    return used.search(document.text[:start]) is not None or used.search(document.text, end) is not None


def _moved_to(
    trace: Trace, document: Document, function: Definition, moving: list[ast.stmt], what: str, reader: Definition
) -> Iterator[Fix]:
    simple = inside(reader, ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
    reading = [each for each in simple if _reads(each, what.rpartition(".")[2])]
    place = first_line(reader.body) if function.name == "__init__" else min(reading, key=_line, default=None)
    bound = {name for each in moving for name in stored_names(each)}
    emptied = len(moving) == len(block_of(trace, moving[0]))
    if place is None or emptied or bound & (arguments_of(reader) | names_of(reader)):
        return
    moved = edits.relocated(document, moving, partial(edits.insert_before, document, place))
    near = None if place is first_line(reader.body) else place.lineno
    way = Way.MOVE_TO_READER if near is None else Way.MOVE_TO_READING
    repair = Repair(way, (what,), tuple(each.lineno for each in moving), reader.name, near)
    # Several steps have used what was computed once: they would now use what the parameters have become.
    safety = Safety.UNSAFE if len(trace.of(Stepped)) > 1 else Safety.SAFE
    yield from Fix.of(repair, safety, moved, rewrite=True)


def _line(statement: ast.stmt) -> int:
    return statement.lineno


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


def _reads(code: ast.AST, name: str) -> bool:
    return any(each.attr == name and isinstance(each.ctx, ast.Load) for each in inside(code, ast.Attribute))


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
