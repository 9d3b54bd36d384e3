"""Networks that follow another one as an average of it, and are trained by gradients as well.

The target network of BYOL, the teacher of a mean teacher: what the loss gives them moves them away from the average.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.aliases import memory_of, whole_of
from gradpath.autograd.tensor import Tensor
from gradpath.findings.graphs import reached_leaves, takes
from gradpath.findings.learning import learners
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted
from gradpath.interpreter.trace import BackwardRan, Built, Event, Mutated, Replaced, Site, Trace
from gradpath.rules.aliased_copy import values_of
from gradpath.rules.targets.operands import detached_result
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Follower:
    """A parameter that is `averaged` from another one's, used at `site`, and moved by a backward that moves both."""

    site: Site
    averaged: Site
    ran: BackwardRan

    def report(self, trace: Trace, source: Source) -> Report:
        text = source.short(self.site, limit=40)
        return Report(
            self.site,
            f"`{text}` has a graph: the loss trains what is an average of another network",
            (
                Step(self.site, "computes with the average, and a graph"),
                Step(self.ran.site, "gives both networks gradients"),
                Step(lifted(self.averaged, self.averaged), "averages the other one's parameters"),
            ),
            help="compute it under `torch.no_grad()`, or freeze the average by `requires_grad_(False)`",
            fixes=source.proposed(detached_result(source, self.site)),
        )


def followers(trace: Trace) -> Iterator[Follower]:
    """The parameters that are mixed from those of another network and stepped by a loss of both."""
    mixed = {(id(own), id(other)): (own, other, site) for own, other, site in _mixed(trace)}
    known = learners(trace)
    for own, other, site in mixed.values():
        learner = known.get(id(own))
        if learner is None or not learner.used or (id(other), id(own)) in mixed:
            continue
        for ran in learner.given:
            if any(each is other for each in reached_leaves(ran)):
                used = _use(trace, ran, own)
                if used is not None:
                    yield Follower(used, site, ran)
                break


def _mixed(trace: Trace) -> Iterator[tuple[Tensor, Tensor, Site]]:
    """The parameters that are written with a mixture of themselves and others, and what is mixed in."""
    scaled: set[int] = set()
    for event in trace.events:
        if not isinstance(event, (Mutated, Replaced)):
            continue
        own = memory_of(event.tensor)
        if not own.is_parameter:
            continue
        values = [memory_of(each) for source in _sources(event) for each in values_of(source, event.site)]
        others = {id(each): each for each in values if each is not own}
        is_mixture = isinstance(event, Mutated) and event.write.operation.endswith(("lerp_", "add_"))
        if isinstance(event, Mutated) and not values and event.write.operation.endswith("mul_"):
            scaled.add(id(own))
        of_itself = any(each is own for each in values) or id(own) in scaled or _lerps(event)
        if len(others) == 1 and of_itself and (is_mixture or len(values) > len(others)):
            (other,) = others.values()
            if other.is_parameter:
                yield whole_of(own), whole_of(other), event.site


def _lerps(event: Event) -> bool:
    """True if a write moves a tensor a part of the way to another one."""
    return isinstance(event, Mutated) and event.write.operation.endswith("lerp_")


def _sources(event: Mutated | Replaced) -> tuple[Tensor, ...]:
    if isinstance(event, Mutated):
        return event.sources
    return () if event.source is None else (event.source,)


def _use(trace: Trace, ran: BackwardRan, parameter: Tensor) -> Site | None:
    """Where a backward went through what was computed with a parameter."""
    executed = set(ran.executed)
    for event in trace.of(Built):
        if event.node in executed and takes(event.node, parameter):
            return event.site
    return None
