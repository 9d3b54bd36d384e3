"""Parts that a program makes and puts into a model that is not seen, and that are frozen with all of it afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.findings.gradient_flow import is_harmless
from gradpath.findings.learning import learners
from gradpath.findings.parameters import named
from gradpath.findings.report import Report, Source, Step
from gradpath.interpreter.trace import Built, Flagged, Lent, Mutated, Site, Stepped, Trace
from gradpath.rules.ownership.lacking import written
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class FrozenParts:
    """New parameters, `tensors`, that were frozen at `site` with the rest of a model, of which `step` trains others."""

    tensors: tuple[Tensor, ...]
    site: Site
    step: Stepped

    def report(self, trace: Trace, source: Source) -> Report:
        """The finding in words."""
        what, more = named(trace, source, self.tensors, "what was put in")
        return Report(
            self.site,
            f"{what}{more} never learn{'' if more else 's'}: frozen with the model, after it was put in",
            (
                Step(self.tensors[0].origin, "makes a part of the model"),
                Step(self.site, "freezes the whole model, with what was put in"),
                Step(self.step.site, "changes other parameters"),
            ),
            help="freeze the model first, or set the flag of what was put in to True again",
        )


def frozen_parts(trace: Trace) -> Iterator[FrozenParts]:
    """What nothing has given other values than its first ones, and nothing thaws before something else is trained."""
    flags = {id(event.tensor): event for event in trace.of(Flagged)}
    new = {each.site.node for each in flags.values() if each.tensor.operation != UNSEEN and not each.value}
    frozen = (each for each in trace.of(Flagged) if not each.value and each.site.node in new)
    wholes = {each.site.node for each in frozen if _is_trained_in_part(trace, each)}
    found: dict[object, list[Flagged]] = {}
    for event in flags.values():
        tensor = event.tensor
        is_new = tensor.is_parameter and tensor.operation != UNSEEN and id(tensor) not in written(trace)
        if is_new and not event.value and event.site.node in wholes and tensor.member_of is None:
            found.setdefault(event.site.node, []).append(event)
    for events in found.values():
        since = trace.events[trace.events.index(events[-1]) :]
        step = next((each for each in since if isinstance(each, Stepped) and each.updated), None)
        lent = any(isinstance(each, Lent) and not is_harmless(each) for each in since)
        if step is not None and not lent:
            yield FrozenParts(tuple(each.tensor for each in events), events[0].site, step)


def _is_trained_in_part(trace: Trace, frozen: Flagged) -> bool:
    """True if a step changes a part of a frozen model, or a layer that works on what it gives.

    One that only follows another model, or is compared with one, is frozen for good.

    What was loaded, or handed to unseen code, before it was frozen may have parts that have learnt.
    """
    whole, before = frozen.tensor, trace.events[: trace.events.index(frozen)]
    lent = any(isinstance(each, Lent) and not is_harmless(each) for each in before)
    if whole.operation != UNSEEN or lent or any(isinstance(each, Mutated) and each.tensor is whole for each in before):
        return False
    own = set(map(id, whole.storage.whole()))
    used = {number: learner for number, learner in learners(trace).items() if learner.used}
    return any(id(each.tensor.storage) in own for each in used.values()) or any(
        not used.keys().isdisjoint(map(id, event.operands))
        and any(one is whole for each in event.operands for one in each.ancestors())
        for event in trace.of(Built)
    )
