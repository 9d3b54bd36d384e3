"""Terms of a loss that are constant between their jumps: what they depend on gets nothing but zeros from them."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.findings.graphs import moved_leaves, moves_any, nodes_of
from gradpath.findings.report import Source
from gradpath.findings.unreached import is_of_another_time, is_on_purpose
from gradpath.findings.ways import ways_to
from gradpath.interpreter.trace import BackwardRan, Trace
from gradpath.rules.terms.cut_terms import CutTerm
from gradpath.rules.terms.summands import terms


def flat_terms(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[CutTerm]:
    """The terms of one backward that depend on what other terms train through rounded numbers or signs alone."""
    taught = moved_leaves(ran)
    for term, site in terms(trace, ran):
        if any(map(moves_any, nodes_of([term]))):
            continue
        missed = [(leaf, ways) for leaf, ways in ways_to(trace, term, ran) if ways.sure and ways.cuts]
        missed = [(leaf, ways) for leaf, ways in missed if any(leaf is each for each in taught)]
        cuts = [each for _, ways in missed for each in ways.cuts]
        if cuts and not any(is_of_another_time(each) or is_on_purpose(trace, source, each) for each in cuts):
            yield CutTerm(cuts[0], tuple(leaf for leaf, _ in missed), site, cuts[0].site)
