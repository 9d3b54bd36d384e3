"""Parameters that stay frozen though they are meant to learn: new ones, spared ones, and those that are trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from gradpath.autograd.aliases import whole_of
from gradpath.autograd.tensor import UNSEEN, Storage, Tensor, together
from gradpath.findings.gradient_flow import is_harmless
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.learning import Learner, depends_on, learners
from gradpath.findings.parameters import named, tensors_of, ways_of
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted
from gradpath.findings.syntax import ancestry
from gradpath.interpreter.events import BackwardRan, Built, Flagged, Lent, Mutated, Named, Site, Stepped
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.ownership.lacking import written
from gradpath.source.flags import may_thaw
from gradpath.source.index import contents, holds, inside, methods_called
from gradpath.source.nodes import last_name, place_in_text, statements
from gradpath.support.fast_dataclasses import replace


def left_frozen(trace: Trace, source: Source) -> Iterator[Report]:
    """What functions freeze, and leave so, in loops that train it by another function, or by themselves."""
    flags = trace.of(Flagged)
    known = learners(trace)
    found: dict[Site, list[Tensor]] = {}
    told: dict[Site, tuple[BackwardRan, BackwardRan]] = {}
    for event in flags:
        tensor = whole_of(event.tensor)
        learner = known.get(id(tensor)) or _whole(known, tensor)
        if event.value or learner is None:
            continue
        around = _loops(trace, event.site) - _made_in(trace, tensor)
        trains = next((ran for ran in learner.given if around & _loops(trace, ran.site)), None)
        again = trains is not None and trace.place_of(event) < trace.place_of(learner.given[-1])
        if trains is None or again or _is_thawed_here(trace, tensor):
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
        yield _report(trace, source, at, tensors, *told[at], "in the next iteration")


def _report(
    trace: Trace,
    source: Source,
    at: Site,
    tensors: Sequence[Tensor],
    trains: BackwardRan,
    beside: BackwardRan,
    when: str,
) -> Report:
    what, _ = named(trace, source, tensors, "what is frozen")
    return Report(
        at,
        f"{what} learns no more after this: nothing thaws what is frozen here",
        (
            Step(trains.site, f"trains {what}"),
            Step(at, f"freezes {what}"),
            Step(beside.site, "trains something else on what it gives"),
            Step(trains.site, f"gives {what} no gradient {when}"),
        ),
        help="thaw it when that is done, or compute what it gives under `torch.no_grad()`, and freeze nothing",
    )


def frozen_for_others(trace: Trace, source: Source) -> Iterator[Report]:
    """What a training step trains, and then freezes while something else learns from what it gives.

    The step runs again: it is an iteration, or a function without loops, which trains nothing by one call.
    """
    flags, known = trace.of(Flagged), learners(trace)
    found: dict[ast.AST, tuple[Site, list[Tensor], BackwardRan, BackwardRan]] = {}
    for event in flags:
        tensor = whole_of(event.tensor)
        learner = known.get(id(tensor))
        if event.value or learner is None or not learner.used or _is_thawed(trace, source, tensor, flags):
            continue
        time = trace.place_of(event)
        trains = next((ran for ran in reversed(learner.given) if trace.place_of(ran) < time), None)
        beside = None if trains is None else _learns_from(trace, time, learner, trains)
        if trains is not None and beside is not None and _runs_again(trace, event, learner, trains):
            at = lifted(event.site, beside.site)
            found.setdefault(at.node, (at, [], trains, beside))[1].append(tensor)
    for at, tensors, trains, beside in found.values():
        when = "in the next iteration" if _loops(trace, at) else "in the next call"
        yield _report(trace, source, at, list(dict.fromkeys(tensors)), trains, beside, when)


def _made_in(trace: Trace, tensor: Tensor) -> set[int]:
    """The loops in which a parameter is made that is seen: the next iteration has another one."""
    return set() if tensor.operation == UNSEEN else _loops(trace, tensor.origin)


@once
def _thawed(trace: Trace) -> frozenset[Storage]:
    """The memory of the parameters that a path thaws."""
    return frozenset(whole_of(each.tensor).storage for each in trace.of(Flagged) if each.value)


def _is_thawed_here(trace: Trace, tensor: Tensor) -> bool:
    """True if a path thaws a parameter, or a part of the unseen model that it stands for."""
    return not _thawed(trace).isdisjoint(tensor.storage.whole())


def _is_thawed(trace: Trace, source: Source, tensor: Tensor, flags: Sequence[Flagged]) -> bool:
    """True if a path thaws it, or the file of the code that froze it may do so by a statement that is not run."""
    if _is_thawed_here(trace, tensor):
        return True
    file = source.tree(flags[0].site.path)
    thawing = [each for each in (*contents(file).calls, *inside(file, ast.Assign)) if may_thaw(each)]
    helpers = {each.name for each in inside(file, ast.FunctionDef) if any(holds(each, node) for node in thawing)}
    ran = {place_in_text(each) for each in trace.visits} if thawing else set[tuple[int, int]]()
    for each in statements(file.body) if thawing else ():
        if not hasattr(each, "body") and place_in_text(each) not in ran:
            calls = (last_name(call.func) for call in contents(each).calls)
            if any(holds(each, node) for node in thawing) or not helpers.isdisjoint(calls):
                return True
    return False


def _learns_from(trace: Trace, since: int, learner: Learner, trains: BackwardRan) -> BackwardRan | None:
    """A backward of another place that teaches others by what a frozen network gives."""
    for event in trace.events[since:]:
        if isinstance(event, BackwardRan) and event.site.node is not trains.site.node and reached_leaves(event):
            return event if depends_on(event, learner.tensor) else None
    return None


def _runs_again(trace: Trace, frozen: Flagged, learner: Learner, trains: BackwardRan) -> bool:
    """True if the backward that trained it runs again, teaches nothing new, and would teach what is frozen now."""
    around, here = _loops(trace, trains.site), _loops(trace, frozen.site)
    here &= {number for each in trace.of(BackwardRan) for number in _loops(trace, each.site)}
    if not around and not here:
        frozen_by_then = {id(whole_of(each.tensor)) for each in trace.of(Flagged) if not each.value}
        others = (leaf for leaf in reached_leaves(trains) if id(whole_of(leaf)) not in frozen_by_then)
        is_called = isinstance(trace.entry, ast.FunctionDef | ast.AsyncFunctionDef)
        return is_called and next(others, None) is not None  # Else the next call raises.
    if around.isdisjoint(here):
        return False
    taught = _weights_of(trains)
    later = trace.events[trace.place_of(frozen) :]
    same = [each for each in later if isinstance(each, BackwardRan) and each.site.node is trains.site.node]
    again = [each for each in same if depends_on(each, learner.tensor)]
    return bool(again) and all(id(learner.tensor) not in (now := _weights_of(each)) and now <= taught for each in again)


def _weights_of(ran: BackwardRan) -> set[int]:
    return {id(whole_of(leaf)) for leaf in reached_leaves(ran) if leaf.is_weight}


def _whole(known: Mapping[int, Learner], part: Tensor) -> Learner | None:
    """The model that is not seen, and that is trained as a whole, of which a part was frozen."""
    models = (each for each in known.values() if each.tensor.operation == UNSEEN) if part.operation == UNSEEN else ()
    return next((each for each in models if any(one is part.storage for one in each.tensor.storage.whole())), None)


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


def frozen_parts(trace: Trace, source: Source) -> Iterator[Report]:
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
        since = trace.events[trace.place_of(events[-1]) :]
        step = next((each for each in since if isinstance(each, Stepped) and each.updated), None)
        lent = any(isinstance(each, Lent) and not is_harmless(each) for each in since)
        thawed = any(isinstance(each, Flagged) and each.value and each.looked_up for each in since)
        if step is not None and not lent and not thawed:
            what, more = named(trace, source, [each.tensor for each in events], "what was put in")
            yield Report(
                events[0].site,
                f"{what}{more} never learn{'' if more else 's'}: frozen with the model, after it was put in",
                (
                    Step(events[0].tensor.origin, "makes a part of the model"),
                    Step(events[0].site, "freezes the whole model, with what was put in"),
                    Step(step.site, "changes other parameters"),
                ),
                help="freeze the model first, or set the flag of what was put in to True again",
            )


def _is_trained_in_part(trace: Trace, frozen: Flagged) -> bool:
    """True if a step changes a part of a frozen model, or a layer that works on what it gives.

    One that only follows another model, or is compared with one, is frozen for good.

    What was loaded, or handed to unseen code, before it was frozen may have parts that have learnt.
    """
    whole = frozen.tensor
    if whole.operation != UNSEEN:
        return False
    before = trace.events[: trace.place_of(frozen)]
    lent = any(isinstance(each, Lent) and not is_harmless(each) for each in before)
    if lent or any(isinstance(each, Mutated) and each.tensor is whole for each in before):
        return False
    own = set(map(id, whole.storage.whole()))
    return any(id(each.storage) in own for each in _used(trace)) or id(whole) in _worked_on(trace)


def _used(trace: Trace) -> list[Tensor]:
    """What learns on a path."""
    return [learner.tensor for learner in learners(trace).values() if learner.used]


@once
def _worked_on(trace: Trace) -> frozenset[int]:
    """What goes into operations with weights that learn, and all that it was computed from."""
    learnt = set(map(id, _used(trace)))
    working = (
        event.node for event in trace.of(Built) if any(id(each.accumulates) in learnt for each in event.node.edges)
    )
    return frozenset(id(each) for each in together(output for node in working for output in node.outputs))


def spared(trace: Trace, source: Source) -> Iterator[Report]:
    """What loops over named parameters leave out, where nothing that is left out can learn then or later."""
    steps, flags = trace.of(Stepped), trace.of(Flagged)
    last = {id(event.tensor): event for event in flags}
    places: dict[ast.AST, list[Flagged]] = {}
    for event in flags:
        places.setdefault(event.site.node, []).append(event)
    for node, events in places.items():
        condition = _condition(trace, node)
        if condition is None or any(event.value for event in events):
            continue
        own = {id(event.tensor) for event in events}
        before = {id(event.tensor): event for event in flags[: flags.index(events[0])]}
        whole = _around(trace, own)
        rest = [each for each in whole if id(each) not in own]
        frozen = [before.get(id(each)) for each in rest]
        first = next(iter(frozen), None)
        if first is None or any(each is None or each.value for each in frozen):
            continue
        others = set(map(id, whole))
        step = next((each for each in steps if not others.isdisjoint(map(id, each.updated))), None)
        if step is not None and not any(last[id(each)].value for each in rest):
            what, more = named(trace, source, rest)
            at = replace(events[0].site, node=condition)
            yield Report(
                at,
                f"{what}{more} never learn{'' if more else 's'}: {'they were' if more else 'it was'} frozen before",
                (
                    Step(first.site, "no longer requires gradients"),
                    Step(at, "leaves it as it is: frozen"),
                    Step(step.site, "changes other parameters"),
                ),
                help="set the flag of what the condition leaves out to True",
            )


def _condition(trace: Trace, node: ast.AST) -> ast.expr | None:
    """The condition under which a loop over the named parameters of a model sets a flag."""
    condition: ast.expr | None = None
    for each in reversed(ancestry(trace, node)):
        match each:
            case ast.If(test=test, orelse=[]) if condition is None:
                condition = test
            case ast.For(iter=drawn):
                named = any(method == "named_parameters" for _, method, _ in methods_called(drawn))
                return condition if named else None
    return None


def _around(trace: Trace, own: set[int]) -> list[Tensor]:
    """The parameters of the smallest module that has all of these."""
    modules = [event for event in trace.of(Named) if own <= ways_of(trace, event).keys()]
    return tensors_of(min(modules, key=lambda event: len(ways_of(trace, event)))) if modules else []


def flagged_parts(trace: Trace, source: Source) -> Iterator[Report]:
    """The flags of parts, set to True while the parameter is frozen, which stays so to the end of the path."""
    frozen: dict[int, Site] = {}
    for event in trace.of(Flagged):
        if event.tensor.is_parameter:
            frozen[id(event.tensor)] = event.site
        match event.site.node, event.tensor.maker:
            case ast.Attribute(value=ast.Subscript()), (whole, *_) if event.value and not whole.flag:
                if id(whole) in frozen:
                    yield Report(
                        event.site,
                        f"`{source.short(event.site)}` thaws nothing: what an index gives is a tensor of its own",
                        (
                            Step(frozen[id(whole)], "freezes all of the parameter"),
                            Step(event.site, "sets the flag of a tensor that nothing keeps"),
                        ),
                        help="let the whole parameter learn, and clear the gradient of the rest: "
                        "`weight.register_hook(lambda grad: grad * mask)`",
                    )
