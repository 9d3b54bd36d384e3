"""Parameters that a loss depends on, that an optimizer steps, and that no backward ever reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.diagnostic import Fix, Level
from gradpath.findings import cuts, estimates
from gradpath.findings.gradient_flow import optimizer_name
from gradpath.findings.graphs import moved_leaves
from gradpath.findings.parameters import Group, groups_of
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.syntax import call_of, function_of
from gradpath.findings.unreached import (
    Place,
    Unreached,
    changed_by_hand,
    is_straight_through,
    key_of,
    may_be_meant,
    unreached,
)
from gradpath.fixes.cut_fixes import added, straight_through, undone
from gradpath.interpreter.events import BackwardRan, Site
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.rules.terms.left_out_losses import LeftOut, left_out_losses

LONGEST = 120
"""Characters of a headline."""

MOST_CUTS = 3
"""Cuts that a report shows, and offers to undo."""


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """One report for the parameters that the same cuts keep from all losses, or that only a loss left out trains.

    A cut that may be on purpose, as that of a baseline is, explains nothing where there is such a loss.
    """
    left_out = list(left_out_losses(trace, source))
    meant = {id(parameter) for each in left_out for parameter in each.parameters}
    cut: set[int] = set()
    for found in unreached(trace, source):
        own = set(map(id, found.parameters))
        if not own <= meant or not all(may_be_meant(trace, place.severed.cause) for place in found.places):
            cut |= own
            yield _report(trace, source, found)
    for each in left_out:
        if cut.isdisjoint(map(id, each.parameters)):
            yield _left_out(trace, source, each)


def _report(trace: Trace, source: Source, found: Unreached) -> Report:
    groups = groups_of(trace, source, found.parameters)
    what, gets = _named(groups)
    lent = [place for place in found.places if is_straight_through(place.severed)]
    rest = [place for place in found.places if place not in lent]
    # An estimate is cut off on purpose, and so is one loss beside it, which trains what it lends its value to.
    places = found.places if len(lent) != 1 else lent if len(rest) < 2 else (*rest, *lent)
    copies = [place for place in places if cuts.is_copy(place.severed.cause)]
    others = [place for place in places if place not in copies]
    # A choice has no gradient by nature: beside one, the slip is what was made a number, or an estimate turned around.
    chosen = all(cuts.is_choice(each.severed.cause) for each in others)
    one = 1 in (len(places), len(lent)) or (len(copies) == 1 and chosen)
    main = copies[0] if one and copies else places[0]
    turned_around = [place for place in places if place.estimate is not None]
    slips = [place for place in places if not may_be_meant(trace, place.severed.cause)]
    for only in (slips, turned_around):
        if len(only) == 1 and not (one and only is slips):
            one, main = True, only[0]
    first = main.severed
    at = _at(trace, source, main) if one else found.step.site
    steps = [step for place in places[:MOST_CUTS] for step in _cut(trace, source, place)]
    nothing = "no gradient but zeros" if first.cause.how in (cuts.DRAW, cuts.STEP) else "no gradient"
    steps.append(Step(first.ran.site, f"{_BY_RESULT if _is_presumed(found) else ''}gives {what} {nothing}"))
    at = next((step.site for step in steps if step.site.node is at.node), at)
    if found.step.site.node is not first.ran.site.node:
        steps.append(Step(found.step.site, f"finds {nothing} for {what}"))
    presumed = _presumed(trace, source, found, groups)
    # A way around a checkpoint, by a setting, says nothing of the way through it.
    by_checkpoint = all(cuts.is_checkpoint(place.severed.cause) for place in places)
    if not one and found.step.site.node is first.ran.site.node:  # A framework steps there.
        headline = f"{what} {gets} {nothing}: every way to the loss is cut off"
    elif not one:
        headline = f"`{source.short(at, limit=30)}` never changes {what}: every way to the loss is cut off"
    elif main.estimate is not None:
        headline = estimates.headline(source, main.estimate, what)
    else:
        headline = f"{what} {gets} {nothing}: {cuts.verdict(trace, source, first.cause, at)}"
        if len(headline) + len(presumed) > LONGEST:
            headline = f"{what} {gets} {nothing}: the cause is on line {at.line}"
    return Report(
        at,
        headline + presumed,
        tuple(steps),
        help=_way_out(trace, what, places),
        fixes=source.proposed(_fixes(trace, source, slips or places)),  # What is meant stays beside what is not.
        about=() if by_checkpoint else tuple(dict.fromkeys(map(key_of, found.parameters))),
    )


def _left_out(trace: Trace, source: Source, found: LeftOut) -> Report:
    groups = groups_of(trace, source, found.parameters)
    what, gets = _named(groups)
    optimizer = optimizer_name(trace, source, found.step.site, found.step.site) or "the optimizer"
    presumed = "" if found.held else f", if `{optimizer}` has its parameters"
    adding = f"add `{found.name}` to the loss"
    which = f"`{found.name}`"
    if found.repeated:
        adding, which = f"add up `{found.name}` over the iterations", f"`{found.name}` of an earlier iteration"
    return Report(
        found.site,
        f"{what} {gets} no gradient: {which} is in no loss that is back-propagated{presumed}",
        (
            Step(found.site, f"a loss of what {what} computes, of which nothing but the number is used"),
            Step(found.ran.site, f"goes back through another loss, and gives {what} no gradient"),
        ),
        help=f"{adding}, or compute it under `torch.no_grad()` if it is there to be watched",
        fixes=source.proposed(added(trace, source, found.ran.site, found.name)) if found.beside else (),
        about=tuple(dict.fromkeys(map(key_of, found.parameters))),
    )


def _at(trace: Trace, source: Source, place: Place) -> Site:
    """Where a cut is reported: on a decorator of the same file if its place calls that without its name, else there."""
    switch = cuts.switch_of(trace, source, place.severed.cause)
    if switch is None or switch.decorated is None or switch.site.path != place.site.path:
        return place.site
    call = call_of(trace, place.site.node)
    named = call is not None and ast.unparse(call.func).rpartition(".")[2] == switch.decorated
    inside = function_of(trace, place.site.node) is function_of(trace, switch.site.node)
    return place.site if named or inside else switch.site


def _way_out(trace: Trace, what: str, places: Sequence[Place]) -> str:
    if places[0].estimate is not None:
        return places[0].estimate.fault.value.help
    if any(is_straight_through(place.severed) for place in places):
        return f"add a loss of its own for {what}: a straight-through estimate trains only what it is added to"
    cause = places[0].severed.cause
    return cuts.way_out(cause, for_array=cuts.is_for_array(trace, cause))


def _named(groups: Sequence[Group]) -> tuple[str, str]:
    """The parameters in words, and the verb."""
    names = list(dict.fromkeys(f"`{each.name}`" for each in groups if each.name))
    match names:
        case []:
            return "what the optimizer holds", "gets"
        case [name]:
            return name, "gets"
        case [first, second]:
            return f"{first} and {second}", "get"
    return f"{names[0]} and {len(names) - 1} others", "get"


_BY_RESULT = "a backward through this result "


def _is_presumed(found: Unreached) -> bool:
    """True if neither the backward nor the step is in the text: they are presumed of a module that nothing trains."""
    return found.step.site.node is found.places[0].severed.ran.site.node


def _presumed(trace: Trace, source: Source, found: Unreached, groups: Sequence[Group]) -> str:
    """The condition on an unseen model or optimizer, or on a training that is not seen."""
    if _is_presumed(found):
        return f", unless something else trains {'them' if len(groups) > 1 else 'it'}"
    step = found.step
    known = {id(each) for each in (*step.parameters, *step.updated)}
    presumed = (each for each in groups if any(one.operation == UNSEEN or id(one) not in known for one in each.tensors))
    name = next((group.name for group in presumed), "")
    if name and all(given.optimizer is not step.optimizer for given in trace.of(Given)):
        return f", if `{optimizer_name(trace, source, step.site, step.site) or 'the optimizer'}` has its parameters"
    return f", if `{name}` is not frozen" if name else ""


def _cut(trace: Trace, source: Source, place: Place) -> Iterator[Step]:
    severed = place.severed
    if place.estimate is not None:
        yield Step(severed.site, cuts.label(severed.cause))
        yield Step(place.site, place.estimate.fault.value.label)
        return
    if place.site is severed.site:
        yield from cuts.steps(trace, source, severed.cause)
        return
    switch = cuts.switch_of(trace, source, severed.cause)
    if switch is not None and switch.site.node is not place.site.node:
        yield Step(switch.site, "no graph is built under this")
    yield Step(place.site, "computed without a graph")


def _fixes(trace: Trace, source: Source, places: Sequence[Place]) -> Iterator[Fix]:
    for place in places[:MOST_CUTS]:
        if place.estimate is not None:
            yield from straight_through(trace, source, place.site)
    severed_here = [each.severed for each in places[:MOST_CUTS] if not cuts.is_for_array(trace, each.severed.cause)]
    for severed in () if any(map(is_straight_through, severed_here)) else severed_here:
        yield from undone(trace, source, severed.cause, severed.ran.site, severed.site)


def _denied(trace: Trace, report: Report) -> bool:
    """True if a backward of another path reaches the parameters, or something else changes them there."""
    reached = {key_of(leaf) for leaf in _reached(trace)}
    return not (reached | changed_by_hand(trace)).isdisjoint(report.about)


def _reached(trace: Trace) -> list[Tensor]:
    return [leaf for run in trace.of(BackwardRan) for leaf in moved_leaves(run)]


RULE = Rule(
    "unreached-parameter",
    "detach",
    Level.WARNING,
    "an optimizer has parameters that a loss depends on, and no backward ever reaches them",
    find,
    _denied,
    idle=True,
    lasting=True,
)
