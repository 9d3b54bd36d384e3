"""A term of a loss that is cut off, so that what it came from learns nothing from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from gradpath.diagnostic import Level
from gradpath.findings import cuts
from gradpath.findings.estimates import estimates
from gradpath.findings.report import Finding, Report, Rule, Source, reports
from gradpath.findings.unreached import unreached
from gradpath.fixes.cut_fixes import straight_through
from gradpath.interpreter.events import BackwardRan, Site
from gradpath.interpreter.trace import Trace
from gradpath.rules.terms.constant_criteria import ConstantCriterion, constant_criteria
from gradpath.rules.terms.constant_terms import Term, constant_terms
from gradpath.rules.terms.cut_states import cut_states
from gradpath.rules.terms.cut_terms import flat_terms
from gradpath.rules.terms.drawn_terms import drawn_terms
from gradpath.rules.terms.dropped_sums import dropped_sums
from gradpath.rules.terms.idle_functions import idle_functions
from gradpath.rules.terms.left_out_losses import late_terms, left_out_penalties
from gradpath.rules.terms.overwritten_losses import overwritten_losses
from gradpath.rules.terms.same_gradients import same_gradients
from gradpath.rules.terms.self_comparisons import anchored, cancelled
from gradpath.rules.terms.unused_terms import unused_terms
from gradpath.rules.terms.zero_distances import zero_distances
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Terms that are plain copies, or whose parameters learn from nothing else, if nothing else is known of the cut."""
    if not trace.is_whole:
        return
    places = [place for each in unreached(trace, source) for place in each.places]
    told = {site.node for place in places for site in (place.site, place.severed.site)}
    blocks = {_block(trace, source, place.severed.site) for place in places} - {None}
    runs = (event for event in trace.of(BackwardRan) if event.call.accumulates)
    yield from reports(trace, source, (each for ran in runs for each in _found(trace, source, ran, blocks)), told)


def _found(trace: Trace, source: Source, ran: BackwardRan, blocks: Set[ast.AST | None]) -> Iterator[Finding | Report]:
    """The terms of one backward that teach nothing, or not all that they depend on."""
    constants: list[Term | ConstantCriterion] = [*constant_terms(trace, source, ran)]
    for term in (*constants, *constant_criteria(trace, source, ran)):
        if not blocks or term.cause.site is None or _block(trace, source, term.cause.site) not in blocks:
            yield term  # What is under the same `no_grad` is one fault.
    yield from cancelled(trace, ran)
    yield from anchored(trace, source, ran)
    yield from zero_distances(trace, source, ran)
    for each in estimates(trace, ran):
        yield replace(each.report(trace, source), fixes=source.proposed(straight_through(trace, source, each.site)))
    yield from drawn_terms(trace, ran)
    yield from unused_terms(trace, source, ran)
    yield from flat_terms(trace, source, ran)
    yield from same_gradients(trace, source, ran)
    yield from left_out_penalties(trace, source, ran)
    yield from late_terms(trace, source, ran)
    yield from overwritten_losses(trace, source, ran)
    yield from dropped_sums(trace, source, ran)
    yield from idle_functions(trace, source, ran)
    yield from cut_states(trace, source, ran)


def _block(trace: Trace, source: Source, site: Site) -> ast.AST | None:
    """The `with` or decorator around a site that switches gradients off."""
    switch = cuts.switch_around(trace, source, site)
    return None if switch is None else switch.site.node


RULE = Rule(
    "detached-term",
    "detach",
    Level.WARNING,
    "a term of a loss is cut off: it counts in the loss, and nothing learns from it",
    find,
    idle=True,
    of_losses=True,
)
