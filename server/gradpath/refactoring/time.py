"""Truncated back-propagation through time: each step, or every few, starts from values without their graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from gradpath.findings.syntax import is_read_first
from gradpath.refactoring.bodies import Body, Counter, Rewrite, calls_in, counter_of
from gradpath.repairs import Repair, Way
from gradpath.source.index import names_in, stored_names

SEVERAL = 4
"""Steps that are gone back through: a number for people to change."""

Detaching = Mapping[str, Sequence[str]]
"""The lines that take each variable out of its graph."""


def truncated(body: Body, block: Sequence[ast.stmt], detaching: Detaching) -> Iterator[Rewrite]:
    """The candidates for a loop that stands in `block`."""
    bound = {name for each in body.statements for name in stored_names(each)}
    carried = sorted(name for name in bound & {*detaching} if is_read_first(body.statements, name))
    if body.calls("backward"):
        yield from _each_step(body, carried, detaching)
    else:
        counter = counter_of(body)
        yield from () if counter is None else _in_chunks(body, block, carried, detaching, counter)


def _each_step(body: Body, carried: Sequence[str], detaching: Detaching) -> Iterator[Rewrite]:
    """`h = h.detach()` at the start of each iteration, and no graph is kept."""
    if not carried:
        return
    backwards = {call.index: body.without_kept_graph(call) for call in body.calls("backward")}
    pieces = [backwards.get(index, piece) for index, piece in enumerate(body.pieces)]
    lines = "".join(body.line(line) for name in carried for line in detaching[name])
    guard = body.line(f"if {' and '.join(f'{name} is not None' for name in carried)}:")
    repair = Repair(Way.EACH_STEP_FROM_VALUES, tuple(carried))
    for text in (lines, guard + body.deeper(lines)):
        yield Rewrite(repair, body.written([text, *pieces]))


def _in_chunks(
    body: Body, block: Sequence[ast.stmt], carried: Sequence[str], detaching: Detaching, counter: Counter
) -> Iterator[Rewrite]:
    """The backward and the step after the loop move into it, for every few steps."""
    place = next((index for index, each in enumerate(block) if each is body.loop), 0)
    after = block[place + 1 :]
    steps = calls_in(after, "step")
    after, rest = (after[: steps[-1].index + 1], after[steps[-1].index + 1 :]) if steps else ([], [])
    roots = calls_in(after, "backward")
    if len(roots) != 1 or not all(isinstance(each, ast.Expr) for each in after):
        return
    totals = [name for name in carried if name in names_in(roots[0].node)]
    states = [name for name in carried if name not in totals]
    begun = [each for each in block[:place] if isinstance(each, ast.Assign) and stored_names(each) == {*totals}]
    if len(totals) != 1 or not states or not begun or any(names_in(each) & {*totals} for each in rest):
        return
    cleared = [] if calls_in(after, "zero_grad") else [f"{body.text_of(call.owner)}.zero_grad()" for call in steps]
    lines = [*cleared, *map(body.text_of, after), *(line for name in states for line in detaching[name])]
    lines.append(body.text_of(begun[-1]))
    text = body.line(f"if {counter.every(SEVERAL)}:") + body.deeper("".join(map(body.line, lines)))
    written = body.written([*body.pieces, text], header=counter.header, without=after)
    yield Rewrite(Repair(Way.CHUNKS, tuple(states), near=SEVERAL), written)
