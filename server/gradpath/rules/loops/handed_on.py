"""Gradients of a copy that the program hands to the original, with those of the copy's own last step still in them.

In first-order meta-learning a copy takes some steps, a loss of the adapted copy is back-propagated, and its gradients
become those of the model. Where the copy is cleared before each of its own backwards alone, the last of these counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor, together
from gradpath.findings.gradient_flow import Effect, concerning
from gradpath.findings.learning import learners
from gradpath.interpreter.events import BackwardRan, GradientSet, Stepped
from gradpath.interpreter.trace import Trace


def handed_on(trace: Trace) -> Iterator[tuple[Stepped, BackwardRan, GradientSet]]:
    """The last step of a copy, the backward that added to what that has used, and the place where the sum is taken."""
    owners: dict[int, Tensor] = {}
    for learner in learners(trace).values() if trace.of(GradientSet) else ():
        owners[id(learner.tensor.grad)] = learner.tensor
    for event in trace.of(GradientSet):
        gradients = () if event.value is None else together([event.value])
        for leaf in (owners[id(each)] for each in gradients if id(each) in owners):
            last = None if leaf is event.tensor else _last_sum(trace, leaf, event)
            if last is not None:
                yield (*last, event)


def _last_sum(trace: Trace, leaf: Tensor, taken: GradientSet) -> tuple[Stepped, BackwardRan] | None:
    """The backward that gave a leaf its gradient last, and the step before it, if nothing cleared it in between."""
    until = trace.place_of(taken)
    before = [entry for entry in concerning(trace, leaf) if trace.place_of(entry.event) < until]
    match before[-2:]:
        case [used, given]:
            if isinstance(used.event, Stepped) and used.effect is Effect.USED and isinstance(given.event, BackwardRan):
                return used.event, given.event
    return None
