"""Parameters that get gradients, and that no optimizer holds, though one holds others of the same model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Level
from gradpath.findings.gradient_flow import has_run_loops, updated_by_hand
from gradpath.findings.graphs import leaves, reached_leaves
from gradpath.findings.parameters import ways_of
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.syntax import function_of
from gradpath.interpreter.events import BackwardRan, Bound, Mutated, Named, Replaced, Stepped
from gradpath.interpreter.ownership import Attached, Given, Overlooked
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.by_default import argument_left_out
from gradpath.rules.ownership.by_hand import left_by_hand
from gradpath.rules.ownership.copies import copied, of_copies, rebound, replaced_leaves
from gradpath.rules.ownership.doubled import doubled, given_twice, repeated
from gradpath.rules.ownership.forgotten_groups import Forgotten, appending, forgotten
from gradpath.rules.ownership.free_leaves import free
from gradpath.rules.ownership.hidden_modules import hidden, made_in_forward
from gradpath.rules.ownership.lacking import Lacking, is_of_layer
from gradpath.rules.ownership.left_behind import left_behind, targets
from gradpath.rules.ownership.left_out import left_out, ungrouped, unheld
from gradpath.rules.ownership.loose_tensors import loose
from gradpath.rules.ownership.overwritten import overwritten
from gradpath.rules.ownership.parts import attached, in_plain_containers, place_of, remade, unregistered
from gradpath.rules.ownership.thawed import thawed
from gradpath.rules.ownership.used_up import is_used_up, used_up
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Untrained:
    """Parameters that get a gradient in one backward, and the step after it of the optimizer that lacks them."""

    lacking: Lacking
    given: Given
    arrives: BackwardRan
    step: Stepped


_FINDERS = (rebound, copied, unregistered, given_twice, repeated, remade, ungrouped, free, left_out, unheld)
"""What finds parameters without an optimizer, most specific first: what one explains no later one explains again."""


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Parts that a model got after its optimizer was made, and parts in a plain container of it."""
    for find_alone in (hidden, loose, made_in_forward, left_by_hand, used_up, left_behind):
        yield from find_alone(trace, source)
    for group in forgotten(trace):
        yield _forgotten(trace, source, group)
    if not has_run_loops(trace) or not trace.of(Given) or not trace.of(Stepped):
        return
    yield from overwritten(trace)
    for each in untrained(trace, source):
        yield _report(trace, source, each)


def untrained(trace: Trace, source: Source) -> Iterator[Untrained]:
    """The parameters that get gradients and are in no optimizer, reason by reason."""
    held = _held(trace)
    if _holds_any(trace):
        for lacking in rebound(trace, source, held) if _are_made_here(trace) else ():
            yield from _used_with(trace, lacking)  # What was made later is in none of them.
        return
    early = (attached, in_plain_containers, thawed, replaced_leaves)
    for lacking in (each for find_early in early for each in find_early(trace, held)):
        yield from _used_with(trace, lacking)
    known = held | {id(tensor) for event in _parts(trace) for tensor in event.tensors}
    for find_lacking in _FINDERS:
        explained = set(known)
        for lacking in find_lacking(trace, source, known):
            if not explained.issuperset(map(id, lacking.tensors)):
                yield from _used_with(trace, lacking)
                explained.update(map(id, lacking.tensors))
        known = explained
    for lacking in of_copies(trace, source, held):
        yield from _used_with(trace, lacking)


def _parts(trace: Trace) -> list[Attached | Overlooked]:
    """The parts of modules that may have left an optimizer without parameters."""
    events = trace.among(Attached, Overlooked)
    return [event for event in events if isinstance(event, Attached | Overlooked)]


def _denied(trace: Trace, report: Report) -> bool:
    """True if a path shows an optimizer that holds, or may hold, what came to be at the place of a report."""
    if any(group.site.node is report.at.node for group in forgotten(trace)) or is_used_up(trace, report):
        return False
    if not trace.of(Given) and any(place_of(trace, each).node is report.at.node for each in trace.of(Overlooked)):
        return False  # An optimizer that is not seen is presumed to be given `parameters()`.
    made_in = function_of(trace, report.at.node)
    if not trace.of(Given) and made_in is not None and made_in.name == "forward":
        return False  # It makes another one each time: no optimizer that is not seen has it.
    target = targets(trace).get(report.at.node)
    if target is not None:
        return target.follows is not None
    if _holds_any(trace) and not _are_made_here(trace):
        made = {given.site.node for given in trace.of(Given)}
        by_default = (each.site.node for each in report.steps if argument_left_out(trace, each.site.node))
        return all(each in made for each in by_default)
    held = _held(trace)
    here = [each.tensors for each in _parts(trace) if place_of(trace, each).node is report.at.node]
    here += [each.tensors for each in thawed(trace, frozenset()) if each.site.node is report.at.node]
    if any(id(tensor) in held for tensors in here for tensor in tensors):
        return True
    for event in trace.of(Named):
        named = not report.about or event.name in report.about  # `encoder, decoder = Encoder(), Decoder()`
        if named and event.site.node is report.at.node and not held.isdisjoint(ways_of(trace, event)):
            return True
    there = [bound for bound in trace.of(Bound) if bound.site.node is report.at.node]
    if any(id(each.tensor) in held for each in there if not report.about or each.name in report.about):
        return True
    twice = {id(each.optimizer) for pair in doubled(trace) for each in pair}
    twice |= {id(each.optimizer) for each in trace.of(Given) if each.twice}
    return any(
        step.updated
        for given in trace.of(Given)
        if given.site.node is report.at.node and id(given.optimizer) not in twice
        for step in trace.of(Stepped)
        if step.optimizer is given.optimizer
    )


def _holds_any(trace: Trace) -> bool:
    """True if there is an optimizer of which it is not known what it holds: any parameters, perhaps."""
    known = {id(given.optimizer): given.known for given in _in_use(trace)}
    return not all(known.values()) or any(not known.get(id(step.optimizer), step.known) for step in trace.of(Stepped))


def _are_made_here(trace: Trace) -> bool:
    """True if the program is seen to make each optimizer that steps."""
    return {id(step.optimizer) for step in trace.of(Stepped)} <= {id(given.optimizer) for given in trace.of(Given)}


def _in_use(trace: Trace) -> list[Given]:
    """What optimizers were given, without those that never step where the same call made a successor, which does."""
    made, stepping = trace.of(Given), {id(step.optimizer) for step in trace.of(Stepped)}
    succeeded = {given.site.node for given in made if id(given.optimizer) in stepping}
    return [each for each in made if id(each.optimizer) in stepping or each.site.node not in succeeded]


def _held(trace: Trace) -> set[int]:
    """The parameters that some optimizer holds, or that the program moves, or asks for the gradient of, by itself.

    What represents an unseen model counts if one of its parameters does.
    """
    held = [tensor for given in _in_use(trace) for tensor in given.parameters]
    for step in trace.of(Stepped):
        held += step.held
    for event in trace.among(Mutated, Replaced):
        assert isinstance(event, Mutated | Replaced)
        moved = updated_by_hand(trace, event)
        if moved is not None:
            held.append(moved)
    for run in trace.of(BackwardRan):
        if not run.call.accumulates:  # What an attack changes by the gradient that it asks for.
            held += [leaf for leaf in reached_leaves(run) if not is_of_layer(leaf)]
            held += [leaf for wanted in run.call.targets or () for leaf in _formed_into(wanted)]
    wholes = (tensor.member_of for tensor in held if tensor.member_of is not None)
    return set(map(id, (*held, *wholes)))


def _formed_into(wanted: Node) -> list[Tensor]:
    """The leaves of which a tensor is a part or another form, if no parameter came before it."""
    found = leaves([wanted])
    return [] if any(leaf.is_weight for leaf in found) else found


def _used_with(trace: Trace, lacking: Lacking) -> Iterator[Untrained]:
    """The first of the optimizers that steps after a backward which gives some of the parameters a gradient."""
    wanted = set(map(id, lacking.tensors))
    optimizers = {id(given.optimizer): given for given in reversed(lacking.optimizers)}
    arrives: BackwardRan | None = None
    for event in trace.among(BackwardRan, Stepped):
        match event:
            case BackwardRan() if event.call.accumulates and not wanted.isdisjoint(map(id, reached_leaves(event))):
                arrives = event
            case Stepped() if (
                arrives is not None and id(event.optimizer) in optimizers and (lacking.idle or _moves(trace, event))
            ):
                if event.site.loops or not lacking.repeated:
                    yield Untrained(lacking, optimizers[id(event.optimizer)], arrives, event)
                return


def _moves(trace: Trace, step: Stepped) -> bool:
    """True if a step ever changes anything; one that changes nothing at all is reported by another rule."""
    return not step.known or any(each.updated for each in trace.of(Stepped) if each.site.node is step.site.node)


def _report(trace: Trace, source: Source, found: Untrained) -> Report:
    words = found.lacking.worded(source, found.given)
    argument = argument_left_out(trace, found.given.site.node)
    fixes = source.proposed(words.fixes)
    by_trainer = isinstance(found.step.site.node, ast.FunctionDef)
    last = f"the step after it {words.last}" if by_trainer else words.last
    return Report(
        found.lacking.site,
        words.headline + (f", if `{argument}` is left out" if argument else ""),
        (*words.steps, Step(found.arrives.site, words.arrives), Step(found.step.site, last)),
        help=words.help,
        fixes=fixes,
        about=found.lacking.about,
    )


def _forgotten(trace: Trace, source: Source, found: Forgotten) -> Report:
    """The report for a group that was put together and not given: what it has need not be seen."""
    fixes = source.proposed(appending(trace, source, found))
    return Report(
        found.site,
        f"what is in `{found.name}` is never trained: `{source.short(found.site)}` lacks it",
        (Step(found.group, "a group that nothing reads"), Step(found.site, "all that the optimizer is given")),
        help=f"give the optimizer `{found.name}` as well",
        fixes=fixes,
    )


RULE = Rule(
    "untrained-parameter",
    "loop",
    Level.WARNING,
    "gradients arrive at parameters that no optimizer holds, though one holds others of the same model",
    find,
    _denied,
    lasting=True,
)
