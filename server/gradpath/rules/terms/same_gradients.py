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
    same = _constant_down_to(ran)
    alone = [leaf for leaf in reached_leaves(ran) if leaf.is_parameter and leaf.accumulator in same]
    if not alone:
        return
    ways = ways_in(trace, ran)
    for leaf in alone:
        found = ways(leaf)
        severed = found.cuts if found is not None and found.sure else ()
        if severed and not any(is_of_another_time(each) or is_on_purpose(trace, source, each) for each in severed):
            yield SameGradient(severed[0], leaf)


def _constant_down_to(ran: BackwardRan) -> set[Node | None]:
    """The nodes that get the same gradient whatever the values are: nothing on the ways down to them saved one.

    So are sums, means, rows and multiples by plain numbers.
    """
    plain: set[Node | None] = set()
    givers = ran.call.givers
    for node in (*ran.executed, *(each for each in givers if each.accumulates is not None)):
        above = givers.get(node, ())
        if plain.issuperset(above) and (above or node in ran.call.starts) and _is_constant(node):
            plain.add(node)
    return plain


def _is_constant(node: Node) -> bool:
    """True if what a node hands on depends on the gradient that it gets alone; a division saves its number as well."""
    if node.saved or node.is_open or node.custom is not None or node.hooks or node.name == PRESUMED:
        return False
    return not node.holds or is_scaling(node)
