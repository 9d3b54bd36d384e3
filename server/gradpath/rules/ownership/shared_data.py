"""Networks that were to get the values of another one, and got its memory: `target.data = parameter.data`."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.aliases import memory_of, whole_of
from gradpath.findings.averages import mixtures
from gradpath.findings.learning import depends_on, learners
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.syntax import statement_of, tests_of
from gradpath.fixes.out_of_place import copied
from gradpath.interpreter.events import BackwardRan, Replaced, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """The memory of a trained parameter that another one got, the step that changes both, and who learns from it."""

    event: Replaced
    made: Site
    step: Stepped
    learns: BackwardRan


def shared_data(trace: Trace, source: Source) -> Iterator[Report]:
    """What follows a trained network at once, though that learns from what it computes: a target, an old policy.

    It was to stay behind where it is averaged with the other one later, or synchronized now and then. Where both are
    trained, they are tied on purpose.
    """
    for found in {each.event.site.node: each for each in _found(trace)}.values():
        at = replace(found.event.site, node=statement_of(trace, found.event.site.node))
        yield Report(
            at,
            f"`{source.short(at, limit=44)}` copies nothing: both parameters have one memory from here on",
            (
                Step(at, "gives one the memory of the other"),
                Step(found.step.site, "changes both"),
                Step(found.learns.site, "learns from what was to stay behind"),
            ),
            help="copy the values: `.data.copy_(...)`, or `.clone()` of what is given",
            fixes=source.proposed(copied(trace, source, found.made)),
        )


def _found(trace: Trace) -> Iterator[_Shared]:
    known = learners(trace)
    newest = {id(event.tensor): event for event in trace.of(Replaced)}
    averaged = {id(whole_of(memory_of(each.own))) for each in mixtures(trace) if not each.loaded} if newest else set()
    for event in newest.values():
        given, own = event.source, whole_of(event.tensor)
        if given is None or not own.is_parameter:
            continue
        owner, other = whole_of(memory_of(given)), known.get(id(own))
        learner = known.get(id(owner))
        if owner is own or learner is None or not owner.is_parameter or (other is not None and other.used):
            continue
        learns = next((ran for ran in learner.given if depends_on(ran, own)), None)
        begun = trace.events.index(event)
        step = next((each for each in learner.used if trace.events.index(each) > begun), None)
        behind = id(own) in averaged or (step is not None and _is_now_and_then(trace, event, step))
        if learns is not None and step is not None and behind:
            yield _Shared(event, given.origin, step, learns)


def _is_now_and_then(trace: Trace, event: Replaced, step: Stepped) -> bool:
    """True if a condition decides in which iterations of a training the memory is given."""
    around = {number for number, _ in step.site.loops}
    again = any(number in around for number, _ in event.site.loops)
    return again and any(tests_of(trace, frame) for frame in event.site.frames())
