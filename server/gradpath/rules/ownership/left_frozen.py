"""Parameters that a function freezes to train something else on what they give, and that its caller trains again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.aliases import whole_of
from gradpath.autograd.tensor import Tensor
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.learning import Learner, learners
from gradpath.findings.parameters import named
from gradpath.findings.report import Report, Source, Step
from gradpath.interpreter.trace import BackwardRan, Flagged, Site, Trace
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class LeftFrozen:
    """Parameters that `trains` has taught and a call has frozen at `site`; `beside` has taught others in that call."""

    tensors: tuple[Tensor, ...]
    site: Site
    trains: BackwardRan
    beside: BackwardRan

    def report(self, trace: Trace, source: Source) -> Report:
        """The finding in words."""
        what, _ = named(trace, source, self.tensors, "what is frozen")
        return Report(
            self.site,
            f"{what} learns no more after this: nothing thaws what is frozen here",
            (
                Step(self.trains.site, f"trains {what}"),
                Step(self.site, f"freezes {what}"),
                Step(self.beside.site, "trains something else on what it gives"),
                Step(self.trains.site, f"gives {what} no gradient in the next iteration"),
            ),
            help="thaw it when that is done, or compute what it gives under `torch.no_grad()`, and freeze nothing",
        )


def left_frozen(trace: Trace) -> Iterator[LeftFrozen]:
    """What functions freeze, and leave so, in loops that train it by another function, or by themselves."""
    flags = trace.of(Flagged)
    known = learners(trace)
    found: dict[Site, list[Tensor]] = {}
    told: dict[Site, tuple[BackwardRan, BackwardRan]] = {}
    for event in flags:
        tensor = whole_of(event.tensor)
        learner = known.get(id(tensor))
        if event.value or learner is None:
            continue
        around = _loops(trace, event.site)
        trains = next((ran for ran in learner.given if around & _loops(trace, ran.site)), None)
        if trains is None or any(each.value and whole_of(each.tensor) is tensor for each in flags):
            continue
        call = _call_apart(event.site, trains.site)
        beside = None if call is None else _trained_beside(trace, event, call, learner)
        # What freezes one layer and trains the next one, call by call, is done with the first.
        if call is not None and beside is not None and beside.site.node is not trains.site.node:
            at = next(frame for frame in event.site.frames() if frame.caller is call)
            tensors = found.setdefault(at, [])
            tensors += [] if tensor in tensors else [tensor]
            told[at] = (trains, beside)
    for at, tensors in found.items():
        yield LeftFrozen(tuple(tensors), at, *told[at])


def _loops(trace: Trace, site: Site) -> set[int]:
    """The loops around a place, but for the second call of a function."""
    return {number for number, _ in site.loops if isinstance(trace.loops.get(number), ast.For | ast.While)}


def _callers(site: Site) -> list[Site]:
    """The calls that lead to a place, innermost first."""
    return [frame.caller for frame in site.frames() if frame.caller is not None]


def _call_apart(site: Site, other: Site) -> Site | None:
    """The outermost call that leads to a place and not to another one."""
    shared = set(map(id, _callers(other)))
    return next((call for call in reversed(_callers(site)) if id(call) not in shared), None)


def _trained_beside(trace: Trace, frozen: Flagged, call: Site, learner: Learner) -> BackwardRan | None:
    """A backward after the freezing, in the same call, that teaches others."""
    events = trace.among(Flagged, BackwardRan)
    for event in events[events.index(frozen) :]:
        if isinstance(event, BackwardRan) and any(each is call for each in _callers(event.site)):
            reached = {id(whole_of(leaf)) for leaf in reached_leaves(event)}
            if reached and id(learner.tensor) not in reached:
                return event
    return None
