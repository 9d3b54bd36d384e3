"""A step that never finds a gradient, or only those that it has used already."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import PRESUMED, Node, Tensor
from gradpath.diagnostic import Edit, Fix, Level, Range, Safety
from gradpath.findings.gradient_flow import Effect, Entry, flow_of, has_run_loops, lent
from gradpath.findings.graphs import executed_nodes, leaves, leaves_with_gradient, reached_leaves
from gradpath.findings.learning import has_strangers
from gradpath.findings.lost_gradients import lost_gradients
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.rewrapping import rewrappings
from gradpath.findings.stories import same_activation, target_of
from gradpath.findings.syntax import function_of
from gradpath.findings.unreached import unreached
from gradpath.fixes import requirement
from gradpath.fixes.cut_fixes import added
from gradpath.interpreter.events import (
    BackwardRan,
    Bound,
    Built,
    Cleared,
    Flagged,
    GradientSet,
    Mutated,
    Replaced,
    Site,
    Stepped,
)
from gradpath.interpreter.ownership import Attached, Drained
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.loops.repeated_steps import repeated_steps
from gradpath.rules.loops.unused_backwards import unused_backwards
from gradpath.source.index import holds


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Steps in a loop of which none ever finds a gradient: all parameters are seen, or the backward comes later."""
    if not has_run_loops(trace) or trace.of(GradientSet):
        return
    # A backward may have reached any parameter, where not all is seen of its graph.
    presumed = [node for event in trace.of(BackwardRan) for node in event.executed if _is_presumed(node)]
    steps = trace.of(Stepped)
    flow = flow_of(trace)
    reported = {id(tensor) for each in unreached(trace, source) for tensor in each.parameters}
    drained = {id(each.optimizer) for each in trace.of(Drained)}
    for node in dict.fromkeys(step.site.node for step in steps):
        same = [step for step in steps if step.site.node is node]
        repeated = any(step.site.loops for step in same) or not isinstance(trace.entry, ast.Module)
        late = _comes_late(flow, same) if repeated else None
        if late is not None:
            yield _report(trace, source, same[-1], late)
            continue
        if any(id(step.optimizer) in drained or any(map(_may_be_leaf, step.parameters)) for step in same):
            continue
        if all(id(tensor) in reported for step in same for tensor in step.held):
            continue
        seen = all(_is_of_before(trace, node) for node in presumed) if _are_made_here(trace, same) else not presumed
        never = (seen or all(_takes_none(trace, step) for step in same)) and all(_never(flow, step) for step in same)
        never = never or _holds_frozen_models(trace, same)
        missed = (never and _is_missed(trace, same)) or _trains_copies(trace, flow, same) or _is_only_named(trace, same)
        if missed and not any(rewrappings(trace)) and not lost_gradients(trace):
            yield _report(trace, source, same[0], None)  # A path that comes to it once speaks against it.
    yield from repeated_steps(trace, source)
    yield from unused_backwards(trace, source)


def _may_be_leaf(tensor: Tensor) -> bool:
    """True if a result may be the leaf that it is computed from: on the CPU, `x.to(device)` is `x`."""
    return tensor.aliasing_unsure and tensor.node is not None


def _comes_late(flow: Sequence[Entry], steps: Sequence[Stepped]) -> BackwardRan | None:
    """The backward of each iteration, if it comes after the step, for which all gradients were just cleared.

    The parameters need not be known: those that the optimizer clears are those that it steps. A function that is called
    for each batch needs no loop for that.
    """
    waiting: Stepped | None = None
    late: BackwardRan | None = None
    cleared = fresh = False
    first = True
    emptied: set[int] = set()
    for entry in flow:
        match entry.event:
            case Stepped() as step if any(step is each for each in steps):
                if waiting is not None or not (cleared or first):
                    return None
                waiting, fresh = step, fresh or cleared
                emptied.clear()
            case Cleared() as event if _finds_none(steps, event, emptied):
                if waiting is not None:
                    return None
                cleared, first = True, False
            case BackwardRan() as run:
                if waiting is not None and run.site.loops == waiting.site.loops:
                    waiting, late = None, run
                cleared = first = False
                emptied.clear()
            case Cleared() | Stepped():
                pass
            case _:
                cleared = first = False
                emptied.clear()
    return late if waiting is None and fresh else None


def _finds_none(steps: Sequence[Stepped], cleared: Cleared, emptied: set[int]) -> bool:
    """True if an event leaves a step no gradient, alone or after others that have `emptied` some: one a network."""
    emptied.update(map(id, cleared.tensors))
    return any(
        step.finds_none_after(cleared) or (step.known and emptied.issuperset(map(id, step.held))) for step in steps
    )


def _is_missed(trace: Trace, steps: Sequence[Stepped]) -> bool:
    """True if a backward runs in a loop around, or there is something to go back through.

    Who only tries a schedule needs neither.
    """
    stepped = {id(tensor) for step in steps for tensor in step.parameters}
    loops = {loop for step in steps for loop, _ in step.site.loops}
    return any(loop in loops for event in trace.of(BackwardRan) for loop, _ in event.site.loops) or any(
        id(tensor) in stepped for event in trace.of(Built) for tensor in event.operands
    )


def _is_only_named(trace: Trace, steps: Sequence[Stepped]) -> bool:
    """True if a function names `loss.backward` without a call, and nothing that is run goes back through anything."""
    return not trace.of(BackwardRan) and any(_uncalled(trace, step) for step in steps)


def _trains_copies(trace: Trace, flow: Sequence[Entry], steps: Sequence[Stepped]) -> bool:
    """True if the gradients arrive at copies of all unseen models that are stepped, and nothing hands them on.

    Another optimizer has the copies, or the program moves them itself: `untrained-parameter` tells of the others.
    """
    if not all(step.models and not step.updated for step in steps):
        return False
    if not steps[0].site.loops and isinstance(trace.entry, ast.Module):
        return False
    own = {id(tensor) for step in steps for tensor in step.unseen}
    if any(entry.effect is not Effect.CLEARED for entry in flow if entry.concerns_any(own)):
        return False
    moved = {id(tensor) for step in trace.of(Stepped) for tensor in step.updated} | _written(trace)
    trained = {_original(leaf) for number, leaf in leaves_with_gradient(trace).items() if number in moved}
    return bool(own) and all(tensor in trained for step in steps for tensor in step.unseen)


def _written(trace: Trace) -> set[int]:
    """The leaves, and the models that they are of, that the program writes through `data`."""
    written = (event.tensor for event in trace.among(Mutated, Replaced) if isinstance(event, Mutated | Replaced))
    leaves_ = (each if each.cut is None or each.cut.source is None else each.cut.source for each in written)
    return {id(one) for each in leaves_ for one in (each, each.member_of) if one is not None}


def _original(leaf: Tensor) -> Tensor:
    """The leaf of which this one is a copy, maybe of a copy; itself if it is none."""
    while leaf.copied is not None:
        leaf = leaf.copied
    return leaf


def _takes_none(trace: Trace, step: Stepped) -> bool:
    """True if none of its parameters requires a gradient by then, so that no backward can give it one."""
    flags = _flags_at(trace, step)
    changed = {id(event.tensor) for event in trace.of(Flagged)}
    return bool(step.held) and all(
        not flags[id(each)].value if id(each) in flags else not each.requires_grad and id(each) not in changed
        for each in step.held
    )


def _holds_frozen_models(trace: Trace, steps: Sequence[Stepped]) -> bool:
    """True if what is stepped is all of models that are not seen, and the program has frozen all of them.

    What such a model got later, and its optimizer lacks, `untrained-parameter` tells.
    """
    if not all(step.models and step.site.loops and not step.updated and _takes_none(trace, step) for step in steps):
        return False
    return not trace.of(Attached) and not lent(trace)


def _flags_at(trace: Trace, step: Stepped) -> dict[int, Flagged]:
    """What set `requires_grad` of tensors last before a step: it may be undone after it, as in each turn of a GAN."""
    found: dict[int, Flagged] = {}
    for event in trace.events:
        if event is step:
            break
        if isinstance(event, Flagged):
            found[id(event.tensor)] = event
    return found


def _is_presumed(node: Node) -> bool:
    """True if a node represents unseen code."""
    return node.is_open or node.name == PRESUMED


def _is_of_before(trace: Trace, node: Node) -> bool:
    """True if a node is that of an argument, which was there before the function was called."""
    made = [tensor.origin for tensor in node.outputs]
    return not node.edges and bool(made) and all(each.node is trace.entry for each in made)


def _are_made_here(trace: Trace, steps: Sequence[Stepped]) -> bool:
    """True if all parameters were made while the function ran: nothing that it was given depends on them."""
    made = [tensor.origin for step in steps for tensor in step.parameters]
    return bool(made) and all(holds(trace.entry, each.frames()[-1].node) for each in made)


def _never(flow: Sequence[Entry], step: Stepped) -> bool:
    if not step.site.loops or not step.known or not step.parameters or step.updated:
        return False
    parameters = {id(tensor) for tensor in step.parameters}
    return all(entry.effect is Effect.CLEARED for entry in flow if entry.concerns_any(parameters))


def _report(trace: Trace, source: Source, step: Stepped, late: BackwardRan | None) -> Report:
    text = source.short(step.site, limit=40)
    foreign = late is not None and _is_for_another(trace, late, step)
    other = late or _backward_near(trace, step)
    steps = [Step(step.site, "finds no gradient")]
    if other is None:
        headline = f"`{text}` changes nothing: there is no backward"
    elif foreign:
        steps.append(Step(other.site, "is for another optimizer"))
        headline = f"`{text}` changes nothing: no backward runs after its gradients are cleared"
    elif late:
        steps.append(Step(late.site, "comes when the step is over"))
        headline = f"`{text}` changes nothing: the backward comes after it"
    else:
        steps.insert(0, Step(other.site, "gives these parameters no gradient"))
        headline = f"`{text}` changes nothing: no backward gives its parameters a gradient"
        if _takes_none(trace, step):
            headline = f"`{text}` changes nothing: what it has requires no gradient"
    if other is None or foreign:
        way = "call `backward()` on the loss before the step"
    elif late:
        way = "step after the `backward()`, before the gradients are cleared"
    elif _takes_none(trace, step):
        way = "let what is to be trained require a gradient, before anything is computed from it"
    elif has_strangers(trace):
        way = "make the optimizer from the parameters of the model that is trained, when that is complete"
    else:
        way = "let a loss that depends on these parameters take part in the backward"
    frozen = _frozen_at(trace, step) if other is not None and not late and _takes_none(trace, step) else None
    if frozen is not None:
        steps.insert(0, Step(frozen, "freezes all that it steps"))
        headline = f"`{source.short(frozen, limit=40)}` freezes all that `{text}` could change"
    return Report(
        frozen or step.site,
        headline,
        tuple(steps),
        help=way,
        fixes=source.proposed(_fixes(trace, source, step, None if other is None or foreign else other.site)),
    )


def _is_for_another(trace: Trace, run: BackwardRan, step: Stepped) -> bool:
    """True if another optimizer steps by a backward in the same iteration."""
    reached, since = set(map(id, reached_leaves(run))), trace.place_of(run)
    others = (each for each in trace.of(Stepped) if each.optimizer is not step.optimizer)
    later = (each for each in others if each.site.loops == run.site.loops and trace.place_of(each) > since)
    return any(not reached.isdisjoint(map(id, each.held)) for each in later)


def _frozen_at(trace: Trace, step: Stepped) -> Site | None:
    """The place that froze all parameters of a step, if there is one such place."""
    last = _flags_at(trace, step)
    found = [last.get(id(tensor)) for tensor in step.held]
    sites = {event.site.node: event.site for event in found if event is not None and not event.value}
    return next(iter(sites.values())) if found and None not in found and len(sites) == 1 else None


def _backward_near(trace: Trace, step: Stepped) -> BackwardRan | None:
    """The backward that should have given gradients; `autograd.grad`, which leaves none, where there is no other."""
    runs = sorted(trace.of(BackwardRan), key=lambda run: not run.call.accumulates)
    near = (run for run in runs if same_activation(run.site, step.site))
    return next(near, next(iter(runs), None))


def _fixes(trace: Trace, source: Source, step: Stepped, other: Site | None) -> Iterator[Fix]:
    yield from _called(trace, source, step)
    if _takes_none(trace, step):
        yield from requirement.thawed(trace, source, step.site, sure=False)
    yield from requirement.reached(trace, source, step)
    if other is not None and same_activation(step.site, other):
        yield from _added(trace, source, step, other)


def _called(trace: Trace, source: Source, step: Stepped) -> Iterator[Fix]:
    document = source.document(step.site)
    for named in _uncalled(trace, step):
        end = document.range_of(named).end
        repair = Repair(Way.CALL_IT, text=f"{source.short(step.site, named)}()")
        yield Fix.by(repair, Safety.UNSAFE, (Edit(document.path, Range(end, end), "()"),))


def _uncalled(trace: Trace, step: Stepped) -> list[ast.Attribute]:
    """The statements of its function that name a method and do not call it: `loss.backward` without parentheses."""
    function = function_of(trace, step.site.node)
    return [
        named
        for statement in trace.visits
        for named in ([statement.value] if isinstance(statement, ast.Expr) else ())
        if isinstance(named, ast.Attribute) and named.attr == "backward" and function_of(trace, statement) is function
    ]


def _added(trace: Trace, source: Source, step: Stepped, other: Site) -> Iterator[Fix]:
    """Add a loss that depends on these parameters, and is not back-propagated, to the one that is."""
    own = {id(each) for each in step.parameters}
    executed = executed_nodes(trace)
    names: dict[str, None] = {}
    for event in trace.events:
        if isinstance(event, BackwardRan) and event.site.node is other.node and event.site.caller is other.caller:
            break
        tensor = event.tensor if isinstance(event, Bound) else None
        if (
            not isinstance(event, Bound)
            or tensor is None
            or tensor.node is None
            or event.site.caller is not other.caller
            or tensor.node in executed
        ):
            continue
        alone = not any(tensor in each.maker for later in trace.of(Built) for each in later.node.outputs)
        if alone and tensor.one_element and own & {id(leaf) for leaf in leaves([tensor.node])}:
            names[target_of(source, event)] = None
    if len(names) == 1:
        yield from added(trace, source, other, next(iter(names)))


RULE = Rule(
    "step-without-backward",
    "loop",
    Level.WARNING,
    "`step()` runs where no gradient can have arrived: it changes nothing",
    find,
    idle=True,
)
