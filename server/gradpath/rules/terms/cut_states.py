"""States that a loop over a sequence cuts off in each step, so that nothing is learnt from one step for a later one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings import cuts
from gradpath.findings.graphs import leads_to, leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, short_operation
from gradpath.findings.syntax import ancestry
from gradpath.fixes.cut_fixes import undone
from gradpath.interpreter.events import BackwardRan, Built, CutOff, Site
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import inside, names_of


def cut_states(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Report]:
    """The cuts of states from which one backward learns, where nothing else leads from a step to the one before.

    Whose steps have a loss each cuts off on purpose, and so does who refines one thing again and again.
    """
    executed = frozenset(ran.executed)
    for cut in _between_steps(trace):
        before = cut.cut.source
        assert before is not None
        after = _next_step(trace, before, cut, executed)
        if after is not None and not any(before.node in each.executed for each in trace.of(BackwardRan)):
            text, cause = source.short(cut.site, limit=40), cuts.cause_of_tensor(cut.tensor)
            yield Report(
                cut.site,
                f"`{text}` cuts off the state in each step: no step learns what a later one needs of it",
                (
                    Step(cut.site, "takes the state of the step before, and leaves its graph"),
                    Step(ran.site, "goes back through one step, and no further"),
                ),
                help="cut the state off between sequences, not between the steps of one",
                fixes=source.proposed(undone(trace, source, cause, ran.site, lifted(cut.site, ran.site))),
            )


@once
def _between_steps(trace: Trace) -> list[CutOff]:
    """The cuts, under no condition, of what a loop over the items of a sequence has computed with weights."""
    return [
        event
        for event in trace.of(CutOff)
        if event.site.loops
        and short_operation(event.cut.how) in ("detach", "data")
        and event.cut.source is not None
        and event.cut.source.node is not None
        and _is_over_items(trace, event.cut.source.node, event.site)
    ]


def _next_step(trace: Trace, before: Tensor, cut: CutOff, executed: Set[Node]) -> Node | None:
    """What the next iteration computes of a state that was cut off, at the same place and with the same weights."""
    assert before.node is not None
    for event in _built_at(trace).get(_site_of(before.node).node, ()):
        if (
            event.node in executed
            and _is_next(_site_of(before.node).loops, event.site.loops)
            and any(each is cut.tensor for operand in event.operands for each in operand.lineage())
            and not leads_to(event.node, before.node)
            and _weights(before.node) == _weights(event.node)
        ):
            return event.node
    return None


@once
def _built_at(trace: Trace) -> Mapping[ast.AST, list[Built]]:
    """The operations of a path, by their places."""
    found: dict[ast.AST, list[Built]] = {}
    for event in trace.of(Built):
        found.setdefault(event.site.node, []).append(event)
    return found


def _site_of(node: Node) -> Site:
    assert isinstance(node.site, Site)
    return node.site


def _is_next(before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]) -> bool:
    """True if a place is in the iteration of the innermost loop that follows on that of the other."""
    return bool(before) and before[:-1] == after[:-1] and (before[-1][0], before[-1][1] + 1) == after[-1]


def _weights(node: Node) -> set[int]:
    return {id(leaf) for leaf in leaves([node]) if leaf.is_weight}


def _is_over_items(trace: Trace, made: Node, cut: Site) -> bool:
    """True if each step is given an item of its own: by a recurrent cell, or as it takes one by the loop's index."""
    around = trace.loops.get(cut.loops[-1][0])
    if not isinstance(around, ast.For):
        return False
    way = ancestry(trace, cut.node)
    if around not in way or any(isinstance(each, ast.If) for each in way[way.index(around) :]):
        return False
    if made.name.rpartition(".")[2].lower().endswith("cell"):
        return True
    index = names_of(around.target)
    taken = (each for each in inside(around, ast.Subscript) if isinstance(each.ctx, ast.Load))
    return any(not index.isdisjoint(names_of(each.slice)) for each in taken)
