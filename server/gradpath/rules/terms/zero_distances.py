"""Terms that measure how far a tensor without a graph is from itself: a penalty that is zero on every run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.aliases import memory_of
from gradpath.autograd.provenance import OBSERVED
from gradpath.autograd.tensor import Tensor
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, short_operation
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.terms.constant_terms import gathered
from gradpath.rules.terms.self_comparisons import DISTANCES, MEASURING
from gradpath.rules.terms.summands import constants


def zero_distances(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Report]:
    """The distances of one backward whose two sides are the same memory each time, and have no graph.

    A place that compares anything else, too, or has a graph, is one where the sides only begin alike.
    """
    for value, event, _ in constants(trace, ran):
        made = [*value.lineage(), *gathered(trace, value)]
        for each in made:
            at = each.origin
            if isinstance(at, Site) and at.node in _of_itself(trace) and _is_measured(each, made):
                yield _report(trace, source, ran, each, event.site)


def _report(trace: Trace, source: Source, ran: BackwardRan, difference: Tensor, added: Site) -> Report:
    site: Site = difference.origin
    at = site if site.path == ran.site.path else lifted(site, ran.site)
    parts = (each.origin for each in difference.maker if _of_all(each) is not each)
    shown = [part for part in parts if isinstance(part, Site) and part.node is not site.node]
    return Report(
        at,
        f"nothing learns from `{source.short(site, limit=40)}`: it compares a tensor with itself",
        (
            *(Step(part, "all of the tensor that it is compared with") for part in shown[:1]),
            Step(at, "zero on every run, and without a graph"),
            Step(added if added.path == at.path else lifted(added, ran.site), "adds a constant to the loss"),
            Step(ran.site, "gives no parameter a gradient from it"),
        ),
        help="compare what is to learn, on its graph, with the copy that was kept of it",
    )


@once
def _of_itself(trace: Trace) -> frozenset[ast.AST]:
    """The places where a path compares tensors without a graph, and each with itself."""
    differences: dict[ast.AST, list[Tensor]] = {}
    for ran in trace.of(BackwardRan):
        for value, _, _ in constants(trace, ran):
            for each in (*value.lineage(), *gathered(trace, value)):
                if short_operation(each.operation) in MEASURING and isinstance(each.origin, Site):
                    differences.setdefault(each.origin.node, []).append(each)
    on_graph = {event.site.node for event in trace.of(Built)} if differences else set()
    return frozenset(node for node, found in differences.items() if node not in on_graph and all(map(_is_zero, found)))


def _is_zero(difference: Tensor) -> bool:
    """True if both sides of a difference are certainly the same tensor, or all of it."""
    sides = [memory_of(_of_all(memory_of(each))) for each in difference.maker]
    if len(sides) != 2 or sides[0] is not sides[1] or difference.requires_grad:
        return False
    return all(each.provenance is OBSERVED for each in difference.lineage())


def _of_all(part: Tensor) -> Tensor:
    """The tensor itself for a slice that leaves nothing out: `x[: x.shape[0]]`."""
    while part.operation == "index" and len(part.maker) == 1:
        (whole,) = part.maker
        known = part.shape is not None and all(size is not None and size >= 0 for size in part.shape)
        if not known or part.shape != whole.shape or part.storage is not whole.storage:
            break
        part = whole
    return part


def _is_measured(difference: Tensor, made: list[Tensor]) -> bool:
    """True if a difference is squared, or the like, on the way; a loss of both sides does so itself."""
    if short_operation(difference.operation) != "sub":
        return True
    users = [each for each in made if any(difference is one for one in each.maker)]
    return any(
        short_operation(each.operation) in DISTANCES
        or (short_operation(each.operation) == "mul" and all(one is difference for one in each.maker))
        for each in users
    )
