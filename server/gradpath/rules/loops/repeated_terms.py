"""Terms of a loss that are back-propagated again as a part of a longer sum: one step uses their gradients twice.

A total that grows in a loop contains the one before: back-propagated in each iteration, what it summed first counts in
each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.gradient_flow import Effect, concerning, place_in
from gradpath.findings.graphs import is_scaling, is_sum, reached_leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import following, short_operation, with_time
from gradpath.interpreter.events import BackwardRan, Stepped
from gradpath.interpreter.trace import Trace, once
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """A backward of a sum, another one of a longer sum, and the step that uses the gradients of both."""

    first: BackwardRan
    again: BackwardRan
    step: Stepped

    def report(self, trace: Trace, source: Source) -> Report:
        """The finding in words."""
        backward, step = source.short(self.again.site, limit=32), source.short(self.step.site, limit=32)
        when = with_time(following(trace, self.again.site, self.first.site), "gives the same terms theirs once more")
        return Report(
            self.again.site,
            f"`{backward}` repeats the terms of an earlier backward, and `{step}` uses their gradients twice",
            (
                Step(self.first.site, "gives the terms summed so far their gradients"),
                Step(self.again.site, when),
                Step(self.step.site, "uses the sum of both"),
            ),
            help="back-propagate each term alone, or the whole sum once",
        )


def repeated_terms(trace: Trace) -> Iterator[Repeated]:
    """The steps that use the gradients of a sum, and those of a longer one that contains it."""
    holding: dict[Node, tuple[BackwardRan, frozenset[Node]]] = {}
    for again in trace.of(BackwardRan):
        if not again.call.accumulates:
            continue
        terms = _terms(trace, again)
        for first, before in dict.fromkeys(holding[each] for each in terms if each in holding):
            step = _used_together(trace, first, again) if before < terms else None
            if step is not None:
                yield Repeated(first, again, step)
        holding.update(dict.fromkeys(terms if again.call.retain else (), (again, terms)))


def is_repeated(trace: Trace, ran: BackwardRan) -> bool:
    """True if a later backward computes the gradients of all terms of one once more."""
    runs, terms = trace.of(BackwardRan), _terms(trace, ran)
    later = runs[place_in(runs, ran) + 1 :]
    return bool(terms) and any(terms <= _terms(trace, each) for each in later if each.call.accumulates)


@once
def _terms(trace: Trace, ran: BackwardRan) -> frozenset[Node]:
    """The nodes of what a loss is a sum of, or a mean, with the same sign."""
    zone = dict.fromkeys(reachable(ran.call.starts, lambda node: node.edges if _adds(node) else ()))
    return frozenset(node for node in zone if not _adds(node) and node.accumulates is None)


def _adds(node: Node) -> bool:
    if short_operation(node.function) in _TURNING:
        return False
    return is_sum(node) or (is_scaling(node) and len(node.edges) == 1)


_TURNING = frozenset({"sub", "rsub", "neg", "mul"})
"""The sums and multiples in which a term may have another sign."""


def _used_together(trace: Trace, first: BackwardRan, again: BackwardRan) -> Stepped | None:
    """The step that uses what both backwards have given a leaf, where nothing clears it in between."""
    given = set(map(id, reached_leaves(first)))
    steps = (_step_of(trace, leaf, first, again) for leaf in reached_leaves(again) if id(leaf) in given)
    return next((step for step in steps if step is not None), None)


def _step_of(trace: Trace, leaf: Tensor, first: BackwardRan, again: BackwardRan) -> Stepped | None:
    entries = concerning(trace, leaf)
    begun = next((place for place, entry in enumerate(entries) if entry.event is first), len(entries))
    both = False
    for entry in entries[begun:]:
        both = both or entry.event is again
        match entry.effect, entry.event:
            case Effect.ARRIVES, _:
                continue
            case Effect.USED, Stepped() as step if both:
                return step
        return None
    return None
