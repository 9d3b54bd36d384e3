"""Terms of a loss that give gradients, and none to what other terms train: a cut keeps them from that.

Such as one that is constant between its jumps: what it depends on gets nothing but zeros from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.findings import cuts
from gradpath.findings.graphs import moved_leaves, moves_any, nodes_of
from gradpath.findings.parameters import named
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted
from gradpath.findings.unreached import is_of_another_time, is_on_purpose
from gradpath.findings.ways import Severed, ways_to
from gradpath.fixes.cut_fixes import undone
from gradpath.interpreter.events import BackwardRan, Site
from gradpath.interpreter.trace import Trace
from gradpath.rules.terms.summands import terms
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class CutTerm:
    """A cut that keeps a term of the loss, `computed` at a place, from `parameters` that other terms train.

    `place` is where the cut is reported.
    """

    severed: Severed
    parameters: tuple[Tensor, ...]
    computed: Site
    place: Site

    @property
    def site(self) -> Site:
        """Where the graph ends."""
        return self.severed.site

    def report(self, trace: Trace, source: Source) -> Report:
        cause, ran = self.severed.cause, self.severed.ran
        what, more = named(trace, source, self.parameters, "what it came from")
        return Report(
            self.place,
            f"a term of the loss gives {what}{more} no gradient: {cuts.verdict(trace, source, cause, self.place)}",
            (
                Step(self.place, "takes the value and leaves the graph"),
                Step(lifted(self.computed, ran.site), "a term of the loss that depends on it"),
                Step(ran.site, f"gives {what} no gradient from it"),
            ),
            help=cuts.way_out(cause),
            fixes=source.proposed(undone(trace, source, cause, ran.site, self.computed)),
        )


def flat_terms(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[CutTerm]:
    """The terms of one backward that depend on what other terms train through rounded numbers or signs alone."""
    taught = moved_leaves(ran)
    for term, site in terms(trace, ran):
        if any(map(moves_any, nodes_of([term]))):
            continue
        missed = [(leaf, ways) for leaf, ways in ways_to(trace, term, ran) if ways.sure and ways.cuts]
        missed = [(leaf, ways) for leaf, ways in missed if any(leaf is each for each in taught)]
        severed = [each for _, ways in missed for each in ways.cuts]
        if severed and not any(is_of_another_time(each) or is_on_purpose(trace, source, each) for each in severed):
            yield CutTerm(severed[0], tuple(leaf for leaf, _ in missed), site, severed[0].site)
