"""What a backward needs, and cannot have, is computed again, later, or from what it has: after what spoilt it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import UNSEEN, Node, Tensor
from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.graphs import is_drawn, leaves, reach
from gradpath.findings.report import Source
from gradpath.findings.syntax import Compound, Definition, ancestry, block_of, class_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import first_line, placed, repair_of
from gradpath.interpreter.events import Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, holds, inside, names_in, pairs_of
from gradpath.support.fast_dataclasses import dataclass

_Block = ast.For | ast.AsyncFor | ast.While | Definition

LONGEST = 6
"""Statements that are moved or written again together."""


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


def _builders(need: Need, caller: Site | None) -> list[ast.stmt]:
    """The simple statements of one function call that build what leads to old nodes, in their order.

    `caller` is the call that runs the function, None for the module; what the call in it that leads to the backward
    builds does not count. None of them where something else builds a part of it, or where they make what is trained.
    """
    found: dict[ast.stmt, None] = {}
    for node in _leading(need.starts, need.is_old):
        frames = node.site.frames()
        if need.near.caller not in (None, caller) and any(frame.caller is need.near.caller for frame in frames):
            continue
        frame = next((each for each in frames if each.caller is caller), None)
        statement = None if frame is None else statement_of(need.trace, frame.node)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
            return []
        found[statement] = None
    if any(_is_made_in(leaf, found) for leaf in leaves(need.starts)):
        return []  # Each run of them would begin with new parameters.
    return sorted(found, key=lambda each: each.lineno) if len(found) <= LONGEST else []


def _is_made_in(leaf: Tensor, statements: Iterable[ast.stmt]) -> bool:
    """True if one of the statements makes a leaf that is seen; presumed weights of unknown calls may be made again."""
    seen = leaf.operation != UNSEEN and not isinstance(leaf.provenance, Presumption)
    return seen and any(holds(each, frame.node) for each in statements for frame in leaf.origin.frames())


def _leading(starts: Iterable[Node], is_spent: Callable[[Node], bool]) -> list[Node]:
    """The nodes below `starts` from which a spent node can be reached, those themselves included."""
    nodes = [node for node in reach(starts) if node.accumulates is None]
    wanted = {id(node) for node in nodes if is_spent(node)}
    for node in sorted(nodes, key=lambda each: each.number):
        if any(id(edge) in wanted for edge in node.edges):
            wanted.add(id(node))
    return [node for node in nodes if id(node) in wanted]


def recomputations(need: Need) -> Iterator[Fix]:
    """The statements that compute it: moved into what is run again, moved later, or run again."""
    for caller in dict.fromkeys(frame.caller for frame in need.frames):
        built = _builders(need, caller)
        moved = [*_moved_into(need, built), *_moved_after(need, caller, built)] if built else []
        found = [*moved, *_again(need, caller, built, alone=bool(moved))] if built else []
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
        yield from _fused(need, site, outside, owner)
        to = first_line(owner.body)
        into = (Way.MOVE_INTO, outside, owner.name) if isinstance(owner, Definition) else (Way.MOVE_INTO_LOOP, outside)
        counted = isinstance(owner, ast.For) and ast.unparse(owner.iter).startswith("range(")
        safety = Safety.UNSAFE if _draws(need, outside) and not counted else Safety.SAFE
        moved = placed(need.trace, need.source.document(site), outside, to, into=True)
        yield from Fix.of(repair_of(*into), safety, moved, rewrite=True)


def _fused(need: Need, site: Site, outside: Sequence[ast.stmt], owner: ast.AST) -> Iterator[Fix]:
    """`losses = [f(x) for x in data]` and `for loss in losses:` become one loop, which computes each loss in turn."""
    match outside, owner:
        case (
            [ast.Assign(targets=[ast.Name(id=every)], value=ast.ListComp(elt=value, generators=[part]) as listed)],
            ast.For(target=ast.Name(id=name), iter=ast.Name(id=iterated)) as loop,
        ) if every == iterated and not part.ifs:
            document, body = need.source.document(site), function_of(need.trace, loop)
            code = [body] if body is not None else block_of(need.trace, loop)
            kept = any(each.id == every and each.lineno > loop.lineno for root in code for each in contents(root).names)
            lines = [f"{name} = {edits.flat(document, value)}", *([f"{every}.append({name}.detach())"] if kept else [])]
            begun = edits.replace(document, listed, "[]") if kept else edits.delete_statement(document, outside[0])
            new = edits.insert_before(document, loop.body[0], *lines)
            pairs = (loop.target, part.target), (loop.iter, part.iter)
            heads = [edits.replace(document, old, edits.flat(document, now)) for old, now in pairs]
            repair = Repair(Way.EACH_IN_LOOP, (name,), (loop.lineno,))
            yield from Fix.of(repair, Safety.SAFE, begun, heads, new, rewrite=True)


def _moved_after(need: Need, caller: Site | None, built: Sequence[ast.stmt]) -> Iterator[Fix]:
    """After what has spoilt it, where nothing reads it before that."""
    for spoilt in _in_body(need.trace, need.spoilt, caller):
        earlier = [each for each in built if each.lineno < spoilt.lineno]
        at = need.source.document(need.spoilt[0])
        moved = placed(need.trace, at, earlier, spoilt, after=True) if earlier else None
        repair = repair_of(Way.MOVE_AFTER, earlier, near=spoilt.lineno)
        safety = Safety.UNSAFE if _draws(need, earlier) else Safety.SAFE
        yield from Fix.of(repair, safety, moved, rewrite=True)


def _again(need: Need, caller: Site | None, built: list[ast.stmt], *, alone: bool) -> Iterator[Fix]:
    """Once more: before the statement that needs it, or else after the update.

    Where a step has come in between, what is computed is something else: safe where it serves that backward `alone`.
    """
    document = need.source.document(need.near)
    spoilt = [each for each in _in_body(need.trace, need.spoilt, caller) if each not in built]
    sure = (alone or not need.updated) and not (_draws(need, built) or any(each.is_open for each in reach(need.starts)))
    for user in _in_body(need.trace, (*need.uses, need.near), caller):
        for after in (*reversed(spoilt), built[-1]):
            early = [each for each in built if each.lineno <= after.lineno]
            to = next((each for each in built if each.lineno > after.lineno), user)
            simple = early and all(isinstance(each, ast.Assign) for each in early)
            new = placed(need.trace, document, early, to, again=True) if simple and after.lineno < to.lineno else None
            if new is not None:
                repair = repair_of(Way.AGAIN_BEFORE, early, near=new[0].range.start.line)
                yield Fix.by(repair, Safety.SAFE if sure else Safety.UNSAFE, new, rewrite=True)
                break
    for place in spoilt if need.updated else ():
        copied = [each for each in built if each.lineno < place.lineno]
        new = edits.relocated(document, copied, partial(edits.insert_after, document, place), again=True)
        if copied and isinstance(place, ast.Expr):
            repair = repair_of(Way.AGAIN_AFTER, copied, near=place.end_lineno)
            same = alone and not any(is_drawn(ast.unparse(each)) for each in built)
            yield from Fix.of(repair, Safety.SAFE if same else Safety.UNSAFE, new, rewrite=True)


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
                moving, document = _with_parts(function, statement), source.document(frame)
                alone = readers and len(_reads(readers[0], name)) == len(everywhere)
                alone = alone and not any(_is_made_in(leaf, moving) for leaf in leaves([node]))
                if not alone or len(moving) == len(block_of(trace, statement)):
                    return
                simple = inside(readers[0], ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
                reading = [each for each in simple if _reads(each, name) and function.name != "__init__"]
                place = min(reading, key=lambda each: each.lineno, default=first_line(readers[0].body))
                moved = edits.relocated(document, moving, partial(edits.insert_before, document, place))
                lines, what = tuple(each.lineno for each in moving), edits.flat(document, target)
                repair = Repair(Way.MOVE_TO_READER, (what,), lines, readers[0].name)
                # Several steps have used what was computed once: they would use what the parameters have become.
                safety = Safety.UNSAFE if len(trace.of(Stepped)) > 1 else Safety.SAFE
                yield from Fix.of(repair, safety, moved, rewrite=True)
                return


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


def rebuilt(trace: Trace, source: Source, part: Tensor) -> Iterator[Fix]:
    """What a part was taken from is made of all of its parts, so that what is computed with it depends on them.

    After `x, t = points[:, :1], points[:, 1:]` comes `points = torch.cat([x, t], dim=1)`.
    """
    site = part.origin
    match site.node:
        case ast.Subscript(value=ast.Name(id=whole), slice=index):
            document, items = source.document(site), index.elts if isinstance(index, ast.Tuple) else [index]
        case _:
            return
    block, torch = block_of(trace, statement_of(trace, site.node)), source.called("torch", document.path)
    parts: dict[str, ast.stmt] = {}
    for each in block:
        for target, value in pairs_of(each):
            if isinstance(target, ast.Name) and isinstance(value, ast.Subscript) and ast.unparse(value.value) == whole:
                parts[target.id] = each
    if len(parts) < 2:
        return  # The rest of it has no name.
    taking, how = list(dict.fromkeys(parts.values())), "cat" if isinstance(items[-1], ast.Slice) else "stack"
    text = f"{whole} = {torch}.{how}([{', '.join(parts)}], dim={len(items) - 1})"
    first = next((each for each in block if each.lineno < taking[0].lineno and whole in names_in(each)), None)
    if first is None:
        change: Edit | Sequence[Edit] | None = edits.insert_after(document, taking[-1], text)
    else:  # What is computed from the whole comes later, then.
        change = edits.relocated(document, taking, lambda *lines: edits.insert_before(document, first, *lines, text))
    repair = Repair(Way.FROM_PARTS, (whole,), (taking[-1].lineno,), text)
    yield from Fix.of(repair, Safety.UNSAFE, change)
