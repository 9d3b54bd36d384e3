"""Parameters that were one in two places of a model, until another one took one of the places."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.findings.learning import Learner, learners
from gradpath.findings.stories import bindings
from gradpath.interpreter.events import Site, Stepped
from gradpath.interpreter.ownership import Supplanted
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Untied:
    """Where a parameter was `tied`, `lost` one of its places, and the step that trains it beside the new one."""

    tied: Site
    lost: Supplanted
    step: Stepped


def untied(trace: Trace) -> Iterator[Untied]:
    """The shared parameters that lost a place to another one, if both are trained from then on.

    Who unties them on purpose begins with the values that they have, or gives the layer that has borrowed them up.
    """
    known = learners(trace) if trace.of(Supplanted) else {}
    for event in trace.of(Supplanted):
        for old in (each for each in event.before if all(each is not one for one in event.now)):
            places = _places(trace, old, event)
            step = _used_after(trace, known.get(id(old)), event)
            taken = (_used_after(trace, known.get(id(new)), event) for new in event.now if not _is_made_of(new, old))
            own = event.made is None or (isinstance(old.origin, Site) and old.origin.node is event.made.node)
            if len(places) > 1 and step is not None and own and any(each is not None for each in taken):
                yield Untied(places[-1], event, step)
                break


def _places(trace: Trace, parameter: Tensor, until: Supplanted) -> list[Site]:
    """Where a parameter came to be a part of a layer, and where the program has made it one of others."""
    end = trace.place_of(until)
    bound = (each for each in bindings(trace, parameter) if isinstance(each.site.node, ast.Attribute))
    found = [each.site for each in bound if trace.place_of(each) < end]
    return [parameter.origin, *found] if parameter.operation == "parameter" else found


def _used_after(trace: Trace, learner: Learner | None, event: Supplanted) -> Stepped | None:
    """The first step after an event that a parameter has a gradient for."""
    used = () if learner is None else learner.used
    return next((each for each in used if trace.place_of(each) > trace.place_of(event)), None)


def _is_made_of(new: Tensor, old: Tensor) -> bool:
    """True if a parameter began with the values of another one."""
    if new.copied is old or any(each is old for each in new.ancestors()):
        return True
    return any(each.cut is not None and each.cut.source is old for each in new.ancestors())
