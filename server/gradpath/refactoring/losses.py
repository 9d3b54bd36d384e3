"""Loops with several losses, or several batches for one step: when each is computed, gone back from, and stepped on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from gradpath.diagnostic import Edit
from gradpath.fixes.edits import append, followed
from gradpath.fixes.lessons import Taught
from gradpath.refactoring.bodies import Body, Rewrite, counter_of
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, names_in, names_of, stored_names

SEVERAL = 4
"""Micro-batches that are accumulated: a number for people to change."""

MOST_NAMES = 4
"""Values that are detached on trial, one after the other."""


def summed(body: Body) -> Iterator[Rewrite]:
    """`a.backward(retain_graph=True)` and `b.backward()` become `(a + b).backward()` at the place of the last."""
    backwards = body.calls("backward")
    if len(backwards) < 2 or any(
        backwards[0].index < each.index < backwards[-1].index
        for how in ("step", "zero_grad")
        for each in body.calls(how)
    ):
        return
    if any(each.node.args or any(k.arg != "retain_graph" for k in each.node.keywords) for each in backwards):
        return
    *_, last = backwards
    text = f"({' + '.join(body.text_of(each.owner) for each in backwards)}).backward()"
    pieces = [
        body.line(text) if index == last.index else piece
        for index, piece in enumerate(body.pieces)
        if index not in {each.index for each in backwards[:-1]}
    ]
    yield Rewrite(Repair(Way.SUM_IN_LOOP, text=text), body.written(pieces))


def computed_for_each(body: Body) -> Iterator[Rewrite]:
    """What two losses share is computed a second time after the backward of the first, which kept its graph."""
    match body.calls("backward"):
        case [first, second] if any(each.arg == "retain_graph" for each in first.node.keywords):
            pass
        case _:
            return
    own, others = body.needed(second.index), body.needed(first.index)
    shared = sorted(index for index in own & others if isinstance(body.statements[index], ast.Assign))
    late = sorted(index for index in own - others if index < first.index)
    pieces = [piece for index, piece in enumerate(body.pieces) if index not in late and index < first.index]
    pieces += [body.without_kept_graph(first), *(body.pieces[index] for index in [*shared, *late])]
    pieces += body.pieces[first.index + 1 :]
    lines = tuple(body.statements[index].lineno for index in shared)
    if shared:
        yield Rewrite(Repair(Way.FORWARD_FOR_EACH, lines=lines), body.written(pieces))


# One optimizer after the other


def one_after_the_other(body: Body) -> Iterator[Rewrite]:
    """For each of two optimizers in turn its gradients are cleared, its loss is gone back from, and it steps."""
    backwards, steps, clears = (body.calls(how) for how in ("backward", "step", "zero_grad"))
    owners = [body.text_of(each.owner) for each in steps]
    if len(backwards) != 2 or len(steps) != 2 or len({*owners}) != 2:
        return
    calls = {each.index for each in (*backwards, *steps, *clears)}
    needs = [body.needed(each.index) - calls for each in backwards]
    shared = needs[0] & needs[1]
    rest = [index for index in range(len(body.pieces)) if index not in needs[0] | needs[1] | calls]
    last = max(each.index for each in backwards)
    if any(index < last and not isinstance(body.statements[index], ast.Assign) for index in rest):
        return  # It may have to be done where it stands.
    for order in (steps, [*reversed(steps)]):
        names = tuple(body.text_of(each.owner) for each in order)
        for cut in _detached(body, needs[0] - shared, shared):
            pieces = [body.pieces[index] for index in sorted(shared)]
            for backward, step, need, owner in zip(backwards, order, needs, names, strict=True):
                edits = cut if backward is backwards[0] else ()
                own = [each.index for each in clears if body.text_of(each.owner) == owner][:1]
                pieces += [body.pieces[index] for index in own] or [body.line(f"{owner}.zero_grad()")]
                pieces += [body.piece(index, edits) for index in sorted(need - shared)]
                pieces += [body.without_kept_graph(backward), body.pieces[step.index]]
            pieces += [body.pieces[index] for index in rest]
            yield Rewrite(Repair(Way.ONE_AFTER_THE_OTHER, names), body.written(pieces), _are_apart)


def _detached(body: Body, own: Iterable[int], shared: Iterable[int]) -> Iterator[Sequence[Edit]]:
    """No edit, then those that detach one value of the shared statements where the first loss reads it, then all."""
    bound = {name for index in shared for name in stored_names(body.statements[index])}
    reads = [each for index in own for each in contents(body.statements[index]).names]
    reads = [each for each in reads if isinstance(each.ctx, ast.Load) and each.id in bound]
    by_name = {name: [each for each in reads if each.id == name] for name in sorted({each.id for each in reads})}
    yield ()
    for found in [*by_name.values()][:MOST_NAMES]:
        yield [edit for each in found for edit in append(body.document, each, ".detach()")]
    if 1 < len(by_name) <= MOST_NAMES:
        yield [edit for each in reads for edit in append(body.document, each, ".detach()")]


def _are_apart(taught: Taught) -> bool:
    """True if each optimizer steps on the gradients of one backward, which no other one steps on."""
    places: dict[int, set[object]] = {}
    for lesson in taught.lessons:
        places.setdefault(lesson.optimizer, set()).update(lesson.backwards)
    sets = [*places.values()]
    return len(sets) == 2 and all(len(each) == 1 for each in sets) and not any(a & b for a, b in pairwise(sets))


# Micro-batches


def accumulated(body: Body) -> Iterator[Rewrite]:
    """A part of each loss is gone back from, and a step is made after every few batches, and after the last."""
    backwards, steps, clears = (body.calls(how) for how in ("backward", "step", "zero_grad"))
    counter = counter_of(body)
    if len(backwards) != 1 or not steps or not clears or counter is None or not isinstance(body.loop, ast.For):
        return
    (backward,) = backwards
    needs = {name for index in body.needed(backward.index) for name in names_in(body.statements[index])}
    inside = range(backward.index + 1, steps[-1].index + 1)
    updating = [index for index in inside if index not in {each.index for each in clears}]
    bound = {name for index in updating for name in stored_names(body.statements[index])}
    others = [each for index, each in enumerate(body.statements) if index not in updating]
    if steps[0].index < backward.index or any(names_of(each) & bound for each in others):
        return
    if not needs & names_of(body.loop.target) or backward.node.args:
        return
    document, owner = body.document, body.text_of(backward.owner)
    part = f"({followed(owner, backward.owner, f' / {SEVERAL}')})"
    divided = body.piece(backward.index, [Edit(document.path, document.range_of(backward.owner), part)])
    cleared = [body.pieces[each.index] for each in clears]
    text = body.line(f"if {counter.every(SEVERAL)}:")
    text += body.deeper("".join([*(body.pieces[index] for index in updating), *cleared]))
    moved = {*updating, *(each.index for each in clears)}
    pieces = [piece for index, piece in enumerate(body.pieces) if index < backward.index and index not in moved]
    pieces += [divided, text]
    pieces += [piece for index, piece in enumerate(body.pieces) if index > backward.index and index not in moved]
    before = [body.text_of(each.node) for each in clears]
    written = body.written(pieces, header=counter.header, before=before)
    yield Rewrite(Repair(Way.ACCUMULATE, near=SEVERAL), written, lambda taught: bool(taught.given))
