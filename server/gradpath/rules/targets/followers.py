"""Networks that follow another one as an average of it, and are trained by gradients as well.

The target network of BYOL, the teacher of a mean teacher: what the loss gives them moves them away from the average.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.aliases import whole_of
from gradpath.autograd.tensor import Tensor
from gradpath.findings.averages import mixtures
from gradpath.findings.graphs import reached_leaves, takes
from gradpath.findings.learning import learners
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace
from gradpath.rules.targets.operands import detached_result


def followers(trace: Trace, source: Source) -> Iterator[Report]:
    """The parameters that are mixed from those of another network and stepped with them by a loss of both."""
    found = (
        (whole_of(each.own), whole_of(each.others[0]), each.site) for each in mixtures(trace) if len(each.others) == 1
    )
    mixed = {(id(own), id(other)): (own, other, site) for own, other, site in found}
    known = learners(trace)
    for own, other, site in mixed.values():
        learner, followed = known.get(id(own)), known.get(id(other))
        if learner is None or not learner.used or (id(other), id(own)) in mixed:
            continue
        if followed is not None and all(each not in followed.used for each in learner.used):
            continue  # An optimizer of its own is there to train it.
        for ran in learner.given:
            if any(each is other for each in reached_leaves(ran)):
                yield from (_report(source, used, site, ran) for used in _uses(trace, ran, own, other))
                break


def _report(source: Source, used: Site, averaged: Site, ran: BackwardRan) -> Report:
    return Report(
        used,
        f"`{source.short(used)}` has a graph: the loss trains what is an average of another network",
        (
            Step(used, "computes with the average, and a graph"),
            Step(ran.site, "gives both networks gradients"),
            Step(lifted(averaged, averaged), "averages the other one's parameters"),
        ),
        help="compute it under `torch.no_grad()`, or freeze the average by `requires_grad_(False)`",
        fixes=source.proposed(detached_result(source, used)),
    )


def _uses(trace: Trace, ran: BackwardRan, own: Tensor, other: Tensor) -> Iterator[Site]:
    """Where a backward went through what was computed with `own`: the innermost calls that are not with `other`, too.

    Both networks run the code of one class; its callers alone tell them apart.
    """
    shared = {frame.node for site in _sites(trace, ran, other) for frame in site.frames()}
    for site in _sites(trace, ran, own):
        yield next((frame for frame in site.frames() if frame.node not in shared), site)


def _sites(trace: Trace, ran: BackwardRan, parameter: Tensor) -> list[Site]:
    """Where what a backward went through was computed with a parameter."""
    executed = set(ran.executed)
    return [event.site for event in trace.of(Built) if event.node in executed and takes(event.node, parameter)]
