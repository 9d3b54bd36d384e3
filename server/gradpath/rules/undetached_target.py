"""A constant of a method, such as a target, that is computed with a graph of the network that is trained by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from gradpath.diagnostic import Level
from gradpath.findings.report import Finding, Report, Rule, Source, reports
from gradpath.interpreter.events import Stepped
from gradpath.interpreter.trace import Trace
from gradpath.rules.targets.advantages import advantages
from gradpath.rules.targets.bootstrapped import bootstrapped
from gradpath.rules.targets.collapsing import collapsing
from gradpath.rules.targets.followers import followers
from gradpath.rules.targets.live_factors import live_factors
from gradpath.rules.targets.scored_samples import scored_samples


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Losses that compare a network with a reward and a multiple of what it gives itself."""
    trained = {id(each) for step in trace.of(Stepped) for each in step.held}
    found: list[Iterable[Finding | Report]] = [scored_samples(trace, source)]
    if trained:
        found += bootstrapped(trace, source, trained), followers(trace, source), live_factors(trace, trained)
    if trace.of(Stepped):
        found += advantages(trace, source, trained), collapsing(trace, source)
    yield from reports(trace, source, chain(*found))


RULE = Rule(
    "undetached-target",
    "detach",
    Level.HINT,
    "a target, or another constant of the method, is computed with a graph of the network that is trained by it",
    find,
)
