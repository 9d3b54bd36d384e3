"""Losses of a loop that the next iteration puts another one in the place of: a backward goes through the last alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.findings.graphs import executed_nodes, moves_any, reach
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted
from gradpath.findings.syntax import LOOPS, ancestry, statement_of
from gradpath.interpreter.events import BackwardRan, Bound, Site
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.terms.left_out_losses import is_passed_on, left_out_losses, unread_nodes
from gradpath.rules.terms.summands import scalings, unscaled
from gradpath.source.index import inside


def overwritten_losses(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Report]:
    """The variable of a loop that the backward after it goes through, of which nothing reads the earlier values.

    Each iteration computes its own, of the same or of other data: one that goes on with what an earlier one has
    computed refines something. Nor does a loop that may leave early, or choose, mean all of its iterations.
    """
    around = len(ran.site.loops)
    for statement, bound in _in_loops(trace).items():
        own = [each for each in bound if len(each.site.loops) > around and each.site.loops[:around] == ran.site.loops]
        last = own[-1].tensor if len(own) > 1 else None
        if last is None or not is_loss(last, ran) or not _takes_all(trace, statement):
            continue
        depth = len(own[-1].site.loops)
        missed = [each for each in own[:-1] if len(each.site.loops) == depth and _is_missed(trace, statement, each)]
        told = {each.site.node for each in left_out_losses(trace, source)}  # Whose parameters nothing else trains.
        if len(missed) == len(own) - 1 and _is_alone(last, own[-1].site) and own[-1].site.node not in told:
            yield _report(own, ran)


def _report(own: Sequence[Bound], ran: BackwardRan) -> Report:
    at, name = lifted(own[-1].site, ran.site) if own[-1].site.path != ran.site.path else own[-1].site, own[-1].name
    return Report(
        at,
        f"each iteration puts its loss in the place of `{name}`: only the last one is back-propagated",
        (
            Step(own[0].site, "computes a loss, with its graph"),
            Step(at, "in the next iteration, puts another one in its place"),
            Step(ran.site, "goes back through the last one alone"),
        ),
        help=f"add them up: `{name} = {name} + ...`, from `{name} = 0` before the loop",
    )


@once
def _in_loops(trace: Trace) -> dict[ast.stmt, list[Bound]]:
    """The values with a graph that a statement gives one variable, in the iterations of a loop."""
    found: dict[ast.stmt, list[Bound]] = {}
    for event in trace.of(Bound):
        if event.site.loops and (event.is_unused or (event.tensor is not None and event.tensor.node is not None)):
            statement = statement_of(trace, event.site.node)
            if isinstance(statement, ast.Assign) and all(isinstance(each, ast.Name) for each in statement.targets):
                found.setdefault(statement, []).append(event)
    return found


def is_loss(value: Tensor, ran: BackwardRan) -> bool:
    """True if a backward goes through a value that is one number for sure: its root, or a term."""
    if value.node not in ran.executed:
        return False
    root = ran.call.roots[0]
    if any(each is value for each in scalings(root)):
        return True
    return unscaled(value).one_element is True and any(each is value for each in root.lineage())


def _takes_all(trace: Trace, statement: ast.stmt) -> bool:
    """True if a loop comes to a statement in each iteration, and to each of its iterations."""
    around = ancestry(trace, statement)
    loop = _loop_around(trace, statement)
    if loop is statement or isinstance(loop, ast.While) or any(True for _ in inside(loop, ast.Break)):
        return False
    tests = [each.test for each in around[around.index(loop) :] if isinstance(each, ast.If)]
    asks = [node for test in tests for node in inside(test, ast.Compare)]
    return not any(isinstance(op, ast.Eq | ast.In | ast.Is) for node in asks for op in node.ops)


def _is_missed(trace: Trace, statement: ast.stmt, bound: Bound) -> bool:
    """True if a loss is of what learns, ends where it is, and is kept for nothing else."""
    value = bound.tensor
    if value is None:
        read = (each for each in inside(_loop_around(trace, statement), ast.Name) if isinstance(each.ctx, ast.Load))
        return all(each.id != bound.name for each in read)
    if value.node is None or value.node not in unread_nodes(trace) or value.node in executed_nodes(trace):
        return False
    return moves_any(value.node) and not is_passed_on(trace, value)


def _loop_around(trace: Trace, statement: ast.stmt) -> ast.AST:
    return next((each for each in reversed(ancestry(trace, statement)) if isinstance(each, LOOPS)), statement)


def _is_alone(value: Tensor, site: Site) -> bool:
    """True if nothing of a value was computed in an earlier iteration of the loop that it is computed in."""
    depth = len(site.loops)
    computed = (each.site for each in reach([value]) if each.accumulates is None)
    others = (each.loops[:depth] for each in computed if isinstance(each, Site))
    return all(len(each) < depth or each == site.loops or each[-1][0] != site.loops[-1][0] for each in others)
