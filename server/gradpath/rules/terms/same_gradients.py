"""Learned weights that are cut off where they weigh something: a penalty alone moves them, always the same way."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import PRESUMED, Node, Tensor
from gradpath.findings import cuts
from gradpath.findings.graphs import is_scaling, reached_leaves
from gradpath.findings.parameters import named
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.unreached import is_of_another_time, is_on_purpose
from gradpath.findings.ways import Severed, ways_in
from gradpath.fixes.cut_fixes import undone
from gradpath.interpreter.events import BackwardRan, Site
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable


@dataclass(frozen=True, slots=True, eq=False)
class SameGradient:
    """A cut that leaves a parameter nothing but a gradient that depends on no value: the same number in each step."""

    severed: Severed
    parameter: Tensor

    @property
    def site(self) -> Site:
        """Where the graph ends."""
        return self.severed.site

    def report(self, trace: Trace, source: Source) -> Report:
        cause, ran = self.severed.cause, self.severed.ran
        what, _ = named(trace, source, [self.parameter])
        why = cuts.verdict(trace, source, cause, self.site)
        return Report(
            self.site,
            f"the loss gives {what} only the same gradient in each step: {why}",
            (
                Step(self.site, "takes the value and leaves the graph"),
                Step(ran.site, f"gives {what} a gradient that depends on no data"),
            ),
            help=cuts.way_out(cause),
            fixes=source.proposed(undone(trace, source, cause, ran.site, self.site)),
        )


def same_gradients(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[SameGradient]:
    """The parameters of one backward whose gradient depends on no value, and whose own value the loss depends on."""
    alone = [leaf for leaf in reached_leaves(ran) if leaf.is_parameter and _is_the_same(ran, leaf)]
    if not alone:
        return
    ways = ways_in(trace, ran)
    for leaf in alone:
        found = ways(leaf)
        severed = found.cuts if found is not None and found.sure else ()
        if severed and not any(is_of_another_time(each) or is_on_purpose(trace, source, each) for each in severed):
            yield SameGradient(severed[0], leaf)


def _is_the_same(ran: BackwardRan, leaf: Tensor) -> bool:
    """True if nothing on the ways down to a leaf saved a value: sums, means, rows and multiples by plain numbers."""
    start = [] if leaf.accumulator is None else [leaf.accumulator]
    above = [*reachable(start, lambda node: ran.call.givers.get(node, ()))][1:]
    return bool(above) and all(map(_is_constant, above))


def _is_constant(node: Node) -> bool:
    """True if what a node hands on depends on the gradient that it gets alone; a division saves its number as well."""
    if node.saved or node.is_open or node.custom is not None or node.hooks or node.name == PRESUMED:
        return False
    return not node.holds or is_scaling(node)
