"""Terms of a loss whose gradients no step uses, and which a cut keeps from what the same backward trains."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice

from gradpath.autograd.tensor import Tensor
from gradpath.findings.gradient_flow import Effect, Entry, flow_of, lent, looks_at_gradients
from gradpath.findings.graphs import leaves, reached_leaves
from gradpath.findings.learning import holdings
from gradpath.findings.report import Source
from gradpath.findings.unreached import is_of_another_time, is_on_purpose, places_of
from gradpath.findings.ways import Severed, ways_to
from gradpath.interpreter.events import (
    BackwardRan,
    Bound,
    Cleared,
    Event,
    GradientSet,
    Stepped,
    Stored,
    parts_of,
    tensor_of,
)
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.terms.cut_terms import CutTerm
from gradpath.rules.terms.summands import on_the_way, terms


def unused_terms(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[CutTerm]:
    """The terms of one backward whose gradients are not used, and which a cut keeps from what that backward trains.

    A gradient is not used where it is cleared again, or no optimizer has the parameter. What the backward trains has to
    be known, and each way from there to the term has to be cut by a slip.
    """
    if not _is_followed(trace):
        return
    fates = _fates(trace, ran)
    taught = {number for number, fate in fates.items() if fate is Effect.USED}
    for term, site in terms(trace, ran):
        learned = leaves([term])
        used = {id(leaf) for leaf in learned if _is_used(trace, fates, leaf)}
        if not learned or len(used) == len(learned) or taught <= used:
            continue
        missed: list[tuple[Tensor, tuple[Severed, ...]]] = []
        for parameter, ways in ways_to(trace, term, ran, wanted=taught - used):
            slips = not any(is_of_another_time(each) or is_on_purpose(trace, source, each) for each in ways.cuts)
            if not (ways.sure and ways.cuts and slips):
                missed.clear()
                break
            missed.append((parameter, ways.cuts))
        if missed and used:
            cut = [each.cause.tensor for _, severed in missed for each in severed]
            missed = [] if any(not _is_unused(term, each, used) for each in cut) else missed
        if missed:
            first = missed[0][1][0]
            place = next(iter(places_of(trace, source, [first]).values()))
            yield CutTerm(first, tuple(parameter for parameter, _ in missed), site, place.site)


def _is_unused(term: Tensor, cut: Tensor, used: Set[int]) -> bool:
    """True if a value goes into a term through weights, and no gradient of these is used."""
    edges = (edge for each in on_the_way(term, [cut]) if each.node is not None for edge in each.node.edges)
    met = {id(edge.accumulates) for edge in edges if edge.accumulates is not None}
    return bool(met) and met.isdisjoint(used)


@once
def _is_followed(trace: Trace) -> bool:
    """True if all that may use a gradient is seen: what each optimizer has is known, and nothing was handed out."""
    made = {id(given.optimizer) for given in trace.of(Given) if given.known or given.models}
    held = holdings(trace)
    return (
        all(id(step.optimizer) in made or held[id(step.optimizer)] for step in trace.of(Stepped))
        and not trace.of(GradientSet)
        and not lent(trace)
    )


def _is_used(trace: Trace, fates: dict[int, Effect], leaf: Tensor) -> bool:
    """True if a gradient is used, or may be: it is not, where it is cleared first, or where no optimizer has the leaf.

    What is still there at the end of the path meets what happens first when that is run once more.
    """
    if leaf.member_of is not None:
        return _is_used(trace, fates, leaf.member_of)
    fate = fates.get(id(leaf))
    if fate is None:
        if all(id(leaf) not in own for own in holdings(trace).values()):
            return not (leaf.is_weight or _is_left(trace, leaf))
        concerning = (effect for effect, _, tensors in _flow(trace) if tensors is None or id(leaf) in tensors)
        fate = next((effect for effect in concerning if effect is not Effect.ARRIVES), None)
    return fate is not Effect.CLEARED


def _is_left(trace: Trace, leaf: Tensor) -> bool:
    """True if a value was cut off and made a leaf, and the path neither looks at gradients nor keeps it for others."""
    if leaf.cut is None or looks_at_gradients(trace):
        return False
    names = [event.name for event in trace.of(Bound) if event.tensor is leaf]
    given = (trace.returned, *parts_of(trace.returned))
    kept = any(event.tensor is leaf for event in trace.of(Stored)) or any(tensor_of(each) is leaf for each in given)
    return not kept and not any("." in each for each in names)


@once
def _flow(trace: Trace) -> list[tuple[Effect, Event, Set[int] | None]]:
    """What happens to gradients, and to which: an optimizer that clears them clears those of what it has."""
    held = holdings(trace)
    found: list[tuple[Effect, Event, Set[int] | None]] = []
    for entry in flow_of(trace):
        match entry:
            case Entry(event=Cleared(owner=owner, steps=True), effect=effect) if held.get(id(owner)):
                if effect is Effect.CLEARED:
                    found.append((effect, entry.event, held[id(owner)]))
            case Entry(event=Stepped(optimizer=optimizer)) if held.get(id(optimizer)):
                found.append((entry.effect, entry.event, held[id(optimizer)]))
            case _:
                found.append((entry.effect, entry.event, entry.tensors))
    return found


def _fates(trace: Trace, ran: BackwardRan) -> dict[int, Effect]:
    """The first event for each gradient that a backward gives, if there is one."""
    flow = _flow(trace)
    begun = next((place for place, (_, event, _) in enumerate(flow) if event is ran), len(flow))
    waiting = {id(leaf) for leaf in reached_leaves(ran)}
    fates: dict[int, Effect] = {}
    for effect, _, tensors in islice(flow, begun + 1, None):
        if not waiting:
            break
        if effect is not Effect.ARRIVES:
            concerned = waiting if tensors is None else waiting & tensors
            fates.update(dict.fromkeys(concerned, effect))
            waiting = waiting - concerned
    return fates
