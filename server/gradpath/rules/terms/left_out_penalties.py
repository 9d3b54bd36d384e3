"""Penalties of a gradient that was asked for with `create_graph=True`, and that are in no loss."""

from __future__ import annotations

from collections.abc import Iterator, Set

from gradpath.autograd.tensor import Tensor
from gradpath.findings.gradient_flow import place_in
from gradpath.findings.graphs import executed_nodes
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import bindings
from gradpath.findings.unreached import has_others
from gradpath.fixes.cut_fixes import added
from gradpath.interpreter.trace import BackwardRan, Built, Site, Trace, once
from gradpath.rules.terms.left_out_losses import is_passed_on, named_at, unread_nodes
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutPenalty:
    """What is computed at `site` of a `gradient` that has a graph, and that the backward beside it does not contain."""

    site: Site
    name: str
    penalty: Tensor
    gradient: Tensor
    ran: BackwardRan

    def report(self, trace: Trace, source: Source) -> Report:
        term = self.name if self.penalty.one_element is True else f"{self.name}.mean()"
        return Report(
            self.site,
            f"`{self.name}` is in no loss that is back-propagated: the graph of its gradient is built for nothing",
            (
                Step(self.gradient.origin, "builds a graph of the gradient, by `create_graph=True`"),
                Step(self.site, "what is computed of it, and goes nowhere"),
                Step(self.ran.site, "goes back through a loss without it"),
            ),
            help=f"add `{term}` to the loss, or drop `create_graph=True` if it is there to be watched",
            fixes=source.proposed(added(trace, source, self.ran.site, term)) if self.name.isidentifier() else (),
        )


def left_out_penalties(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[LeftOutPenalty]:
    """The results that depend on a gradient with a graph, and end beside a backward that comes in the same iteration.

    What is computed after it is there to be watched.
    """
    if not _spare_gradients(trace) or has_others(trace):
        return
    before = (event for event in trace.events[: place_in(trace.events, ran)] if isinstance(event, Built))
    made = [event for event in before if event.site.loops == ran.site.loops]
    spare = {each for event in made for each in event.operands if each in _spare_gradients(trace)}
    ends = unread_nodes(trace)
    for event in made:
        penalty = next(iter(event.node.outputs), None)
        if event.node not in ends or penalty is None or is_passed_on(trace, penalty) or not bindings(trace, penalty):
            continue  # A tensor without a name is there to be watched.
        gradient = next((each for each in penalty.ancestors() if each in spare), None)
        if gradient is not None:
            yield LeftOutPenalty(*named_at(trace, source, penalty, ran), penalty, gradient, ran)


@once
def _spare_gradients(trace: Trace) -> Set[Tensor]:
    """The gradients that could be differentiated, that something is computed of, and that no backward goes through."""
    given = {each for event in trace.of(Built) for each in event.operands if each.operation == "gradient"}
    used = executed_nodes(trace) if given else frozenset()
    return {each for each in given if each.requires_grad and each.node not in used}
