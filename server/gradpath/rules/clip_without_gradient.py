"""Gradients that are clipped before they are there, or when they have been used."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile

from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.gradient_flow import Effect, Entry, flow_of, place_in
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import same_activation
from gradpath.findings.syntax import call_of, class_of, function_of
from gradpath.fixes import edits
from gradpath.fixes.moving import moving
from gradpath.interpreter.events import BackwardRan, Cleared, Clipped, Event, Lent, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.loops.scaled_gradients import scaled_clips, scaler_of
from gradpath.source.index import inside


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Clips of which each one has no effect on any step."""
    if not trace.is_whole or not trace.of(BackwardRan):
        return
    scaled = {each.at.node: each for each in reversed([*scaled_clips(trace, source)])}
    yield from scaled.values()
    clips = trace.of(Clipped)
    flow = _flow_with_clips(trace) if clips else []
    for node in dict.fromkeys(clip.site.node for clip in clips):
        same = [clip for clip in clips if clip.site.node is node]
        empty = next((clip for clip in same if clip.used_up is not None), None)
        if empty is not None:
            yield _empty(trace, source, empty)
            continue
        # After the last iteration nothing clears what the ones before it have shown to be cleared unused.
        missed = [_missed(trace, flow, clip, last=clip is same[-1] and clip is not same[0]) for clip in same]
        if missed[0] is not None and all(each is not None for each in missed):
            yield _report_missed(source, same[0], *missed[0])
            continue
        found = [_useless(trace, flow, clip) for clip in same]
        if node not in scaled and found[0] is not None and all(each is not None for each in found):
            yield _report(trace, source, same[0], early=all(found))


def _empty(trace: Trace, source: Source, clip: Clipped) -> Report:
    """The report of a clip that is given a generator of which nothing is left."""
    call, used = call_of(trace, clip.site.node), clip.used_up
    given = call.args[0] if call is not None and call.args else None
    name = source.short(clip.site, given, 30) if given is not None else "the generator"
    steps = [Step(clip.site, "finds nothing left in it")]
    if used is not None and used.node is not clip.site.node:
        steps.insert(0, Step(used, "takes all that the generator yields"))
    presumed = "" if clip.known else ", if it is a generator"
    return Report(
        clip.site,
        f"`{source.short(clip.site, limit=40)}` clips nothing: `{name}` is used up{presumed}",
        tuple(steps),
        help="a generator yields its items once: clip `model.parameters()`, or keep a list of them",
        fixes=source.proposed(_kept_as_list(trace, source, clip, given)),
    )


def _kept_as_list(trace: Trace, source: Source, clip: Clipped, given: ast.expr | None) -> Iterator[Fix]:
    """`params = list(model.parameters())`, where the function, or for an attribute the class, binds it once."""
    owner = class_of(trace, clip.site.node) if isinstance(given, ast.Attribute) else None
    document = source.document(clip.site)
    bound = [
        each.value
        for each in inside(owner or function_of(trace, clip.site.node) or trace.entry, ast.Assign)
        if any(ast.dump(target) == _stored(given) for target in each.targets)
    ]
    if len(bound) == 1:
        made = edits.flat(document, bound[0])
        text = f"[{made[1:-1]}]" if isinstance(bound[0], ast.GeneratorExp) else f"list({made})"
        repair = Repair(Way.LIST_OF, text=text)
        yield Fix.by(repair, Safety.SAFE, (edits.replace(document, bound[0], text),))


def _stored(given: ast.expr | None) -> str:
    """The dump of the target of an assignment to a variable or an attribute."""
    match given:
        case ast.Name(id=name):
            return ast.dump(ast.Name(name, ast.Store()))
        case ast.Attribute(value=value, attr=attr):
            return ast.dump(ast.Attribute(value, attr, ast.Store()))
    return ""


def _flow_with_clips(trace: Trace) -> list[Entry | Clipped]:
    entries: dict[int, list[Entry]] = {}
    for entry in flow_of(trace):
        entries.setdefault(id(entry.event), []).append(entry)
    return [
        each
        for event in trace.events
        for each in ((event,) if isinstance(event, Clipped) else entries.get(id(event), ()))
    ]


def _useless(trace: Trace, flow: Sequence[Entry | Clipped], clip: Clipped) -> bool | None:
    """True where the gradients are not there yet, False where they are used already; None where the clip matters."""
    seen = clip.known and all(event.known for event in trace.of(Stepped))
    optimizers = {id(event.optimizer) for event in trace.of(Stepped)}
    if not seen and len(optimizers) != 1:
        return True if _precedes_own_backward(trace, clip) else None
    index = place_in(flow, clip)
    nearest: Effect | None = None
    used = False
    for what in _effects(reversed(flow[:index]), clip, seen=seen):
        if what is Effect.UNKNOWN:
            if nearest is None:
                return None
            break
        used = used or what is Effect.USED
        if what in (Effect.ARRIVES, Effect.CLEARED):
            nearest = nearest or what
        if what is Effect.ARRIVES or (nearest is not None and used):
            break
    after_it = list(_effects(flow[index + 1 :], clip, seen=seen))
    if nearest is not Effect.ARRIVES:
        if Effect.USED in after_it:
            return True
        return False if nearest is Effect.CLEARED and used and not after_it else None
    if not used:
        return None
    return False if not after_it or after_it[0] is Effect.CLEARED else None


def _precedes_own_backward(trace: Trace, clip: Clipped) -> bool:
    """True if the clip of an unseen model stands between the clearing of optimizers and the backward of their steps.

    No other optimizer still has to step by gradients that were there before.
    """
    near = trace.among(BackwardRan, Cleared, Clipped, Lent, Stepped)
    index = place_in(near, clip)
    cleared = set(chain.from_iterable(map(_movers, _until(reversed(near[:index]), Cleared))))
    after = [each for each in near[index:] if not isinstance(each, Clipped)]
    stepped = set(chain.from_iterable(map(_movers, _until(after[1:], Stepped))))
    if not (after and isinstance(after[0], BackwardRan)) or not stepped or not stepped <= cleared:
        return False
    others = {id(each.optimizer) for each in trace.of(Stepped)} - stepped
    return not any(_waits(near[:index], near[index:], other) for other in others)


def _until(events: Iterable[Event], kind: type[Event]) -> Iterator[Event]:
    """The events of a kind before any other but clips."""
    return takewhile(lambda each: isinstance(each, kind), (each for each in events if not isinstance(each, Clipped)))


def _waits(before: Sequence[Event], after: Sequence[Event], optimizer: int) -> bool:
    """True if an optimizer, given by identity, next steps by gradients of an earlier backward."""
    moved = (each for each in after if optimizer in map(id, _movers(each)))
    if not isinstance(next(moved, None), Stepped):
        return False
    last = (each for each in reversed(before) if isinstance(each, BackwardRan) or optimizer in map(id, _movers(each)))
    return isinstance(next(last, None), BackwardRan)


def _movers(event: Event) -> tuple[object, ...]:
    """The optimizer that has used or cleared its gradients in an event."""
    match event:
        case Stepped(optimizer=optimizer) | Cleared(owner=optimizer):
            return (optimizer,)
    return ()


def _missed(
    trace: Trace, flow: Sequence[Entry | Clipped], clip: Clipped, *, last: bool
) -> tuple[BackwardRan, Stepped] | None:
    """The backward before a clip and the step after it, if they use other parameters and none of those is clipped.

    The clipped parameters have no gradient that waits for a step of their own.
    """
    own = _clipped(clip)
    near = trace.among(BackwardRan, Clipped, Stepped)
    index = place_in(near, clip)
    ran = next((each for each in reversed(near[:index]) if not isinstance(each, Clipped)), None)
    step = next((each for each in near[index:] if not isinstance(each, Clipped)), None)
    if not isinstance(ran, BackwardRan) or not isinstance(step, Stepped) or not (own and _is_seen(clip)):
        return None
    if not step.known and not (step.unseen and any(each.optimizer is step.optimizer for each in trace.of(Given))):
        return None
    moved = {id(leaf) for leaf in reached_leaves(ran)} & {id(tensor) for tensor in step.updated}
    between = near[near.index(ran) : near.index(step)]
    clipped = set[int]().union(*(_clipped(each) for each in between if isinstance(each, Clipped)))
    whole = all(_is_seen(each) for each in between if isinstance(each, Clipped))
    together = same_activation(ran.site, clip.site) and same_activation(clip.site, step.site)
    if not (moved and together and whole and moved.isdisjoint(clipped)) or own & set(map(id, step.held)):
        return None
    index = place_in(flow, clip)
    before = next(iter(_effects(reversed(flow[:index]), clip, seen=True)), Effect.CLEARED)
    after = next(iter(_effects(flow[index + 1 :], clip, seen=True)), Effect.CLEARED if last else None)
    idle = before in (Effect.CLEARED, Effect.USED) or (before is Effect.ARRIVES and after is Effect.CLEARED)
    return (ran, step) if idle else None


def _clipped(clip: Clipped) -> set[int]:
    return {id(tensor) for tensor in (*clip.tensors, *clip.unseen)}


def _is_seen(clip: Clipped) -> bool:
    """True if all that is clipped is known, or stands for what an unseen model has."""
    return clip.known or bool(clip.unseen)


def _effects(flow: Iterable[Entry | Clipped], clip: Clipped, *, seen: bool) -> Iterator[Effect]:
    """The events for the clipped gradients; for any gradients if not all of them or of the steps are known."""
    clipped = _clipped(clip)
    for entry in flow:
        if isinstance(entry, Clipped):
            continue
        if not seen:
            opaque = isinstance(entry.event, (BackwardRan, Cleared))
            if opaque and entry.effect is Effect.UNKNOWN:
                yield Effect.ARRIVES if isinstance(entry.event, BackwardRan) else Effect.CLEARED
            else:
                yield entry.effect
        elif entry.concerns_any(clipped):
            yield entry.effect


def _report(trace: Trace, source: Source, clip: Clipped, *, early: bool) -> Report:
    text = source.short(clip.site, limit=40)
    near = [event for event in trace.events if isinstance(event, (BackwardRan, Stepped))]
    backward = next((event for event in near if isinstance(event, BackwardRan)), None)
    step = next((event for event in near if isinstance(event, Stepped)), None)
    steps = [Step(backward.site, "brings the gradients")] if backward is not None else []
    steps += [Step(step.site, "steps by gradients that are not clipped")] if step is not None else []
    if early:
        headline = f"`{text}` clips nothing: the gradients come after it"
        steps.insert(0, Step(clip.site, "no gradient is there yet"))
    else:
        headline = f"`{text}` comes too late: the step has used the gradients unclipped"
        steps.append(Step(clip.site, "clips what is cleared next"))
    return Report(
        clip.site,
        headline,
        tuple(steps),
        help="clip between `backward()` and `step()`"
        + (", after `scaler.unscale_(optimizer)`" if any(scaler_of(trace, each) for each in trace.of(Stepped)) else ""),
        fixes=source.proposed(_fixes(trace, source, clip, backward if early else step, early)),
    )


def _report_missed(source: Source, clip: Clipped, ran: BackwardRan, step: Stepped) -> Report:
    """The report of a clip of other parameters than the ones that are stepped."""
    return Report(
        clip.site,
        f"`{source.short(clip.site, limit=40)}` clips other parameters than `{source.short(step.site, limit=32)}` has",
        (
            Step(ran.site, "brings the gradients"),
            Step(clip.site, "clips gradients that no step uses"),
            Step(step.site, "steps by gradients that are not clipped"),
        ),
        help="clip the parameters that this step changes",
    )


def _fixes(
    trace: Trace, source: Source, clip: Clipped, anchor: BackwardRan | Stepped | None, early: bool
) -> Iterator[Fix]:
    if anchor is not None:
        way = Way.MOVE_AFTER_BACKWARD if early else Way.MOVE_BEFORE_STEP
        yield from moving(trace, source, clip.site, anchor.site, way, before=not early)


RULE = Rule(
    "clip-without-gradient",
    "loop",
    Level.WARNING,
    "gradients are clipped before `backward()` or after `step()`, where that does nothing",
    find,
    idle=True,
)
