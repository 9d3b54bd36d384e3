"""Terms of a loss that give gradients, and none to what other terms train: a cut keeps them from that."""

from __future__ import annotations

from gradpath.autograd.tensor import Tensor
from gradpath.findings import cuts
from gradpath.findings.parameters import named
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted
from gradpath.findings.ways import Severed
from gradpath.fixes.cut_fixes import undone
from gradpath.interpreter.trace import Site, Trace
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
