"""Backwards of which no step uses a gradient, right before the step of an optimizer to which they give none."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.findings.gradient_flow import Effect, Entry, flow_of, lent, looks_at_gradients, moment_of
from gradpath.findings.graphs import reached_leaves, uses_of
from gradpath.findings.parameters import named
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.unreached import unreached
from gradpath.interpreter.events import BackwardRan, Cleared, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.rules.loops.never_stepped import never_stepped
from gradpath.source.index import contents
from gradpath.source.nodes import last_name


def unused_backwards(trace: Trace, source: Source) -> Iterator[Report]:
    """The steps that get nothing of the backward right before them, where nothing else uses what that gives.

    The gradients are for parameters of other optimizers, which clear them. What the step has is used apart from them:
    a model that is not seen may be a part of another one.
    """
    if looks_at_gradients(trace) or lent(trace):
        return
    before: dict[ast.AST, list[tuple[BackwardRan | None, Stepped]]] = {}
    last: BackwardRan | None = None
    for event in trace.among(BackwardRan, Stepped):
        if isinstance(event, Stepped):
            before.setdefault(event.site.node, []).append((last, event))
        last = event if isinstance(event, BackwardRan) and event.call.accumulates else None
    for pairs in before.values():
        runs = [run for run, step in pairs if run is not None and _gets_none(trace, run, step)]
        step = pairs[0][1]
        if len(runs) < len(pairs) or not _are_cleared(trace, runs) or not _is_used_apart(trace, source, step):
            continue
        if not _is_told(trace, source, step):
            yield _report(trace, source, runs[0], step.site)


def _is_told(trace: Trace, source: Source, step: Stepped) -> bool:
    """True if it is known which optimizer should step, or what cuts off the parameters that this one has."""
    cut = {id(tensor) for each in unreached(trace, source) for tensor in each.parameters}
    own = _own(trace, step).keys()
    return own <= cut or any(each.site.node is step.site.node for each in never_stepped(trace, source))


def _gets_none(trace: Trace, run: BackwardRan, step: Stepped) -> bool:
    """True if a step has, by all that is known, no gradient that it has not used, and others have those of a backward.

    The others are parameters that another optimizer trains; or this one trains its own elsewhere.
    """
    own, given = _own(trace, step), reached_leaves(run)
    if not own or not given or any(node.is_open for node in run.executed):
        return False
    if any(not leaf.is_weight or id(leaf) in own for leaf in given):
        return False
    flow = flow_of(trace)
    earlier = (entry for entry in reversed(flow[: moment_of(flow, run)]) if entry.concerns_any(own))
    newest = next(earlier, None)
    if newest is not None and newest.effect is not Effect.USED and not isinstance(newest.event, Cleared):
        return False
    steps = [each for each in trace.of(Stepped) if each.updated]
    others = {id(each) for one in steps if one.optimizer is not step.optimizer for each in one.held}
    if others.issuperset(map(id, given)):
        return True
    if not any(isinstance(trace.loops.get(loop), ast.For | ast.While) for loop, _ in run.site.loops):
        return False  # Another method may step the optimizer of the others before the next call.
    return any(each.optimizer is step.optimizer and each.site.node is not step.site.node for each in steps)


def _are_cleared(trace: Trace, runs: Sequence[BackwardRan]) -> bool:
    """True if nothing uses what backwards give before it is cleared, which is seen of one of them."""
    flow = flow_of(trace)
    found = [_fates(flow[moment_of(flow, run) + 1 :], set(map(id, reached_leaves(run)))) for run in runs]
    return all(each <= {Effect.CLEARED} for each in found) and {Effect.CLEARED} in found


def _fates(later: Sequence[Entry], given: Set[int]) -> set[Effect]:
    """What happens first to each of some gradients that have arrived."""
    found: set[Effect] = set()
    rest = set(given)
    for entry in later:
        if entry.effect is not Effect.ARRIVES and entry.concerns_any(rest):
            found.add(Effect.CLEARED if isinstance(entry.event, Cleared) else entry.effect)
            rest -= entry.among(rest)
    return found


def _is_used_apart(trace: Trace, source: Source, step: Stepped) -> bool:
    """True if what a step has computes something by itself: on the path, or in a call that the file has."""
    called = {last_name(each.func) for each in contents(source.tree(step.site.path)).calls}
    own = _own(trace, step)
    return any(
        uses_of(trace).get(number) or (each.operation == UNSEEN and each.label in called)
        for number, each in own.items()
    )


def _own(trace: Trace, step: Stepped) -> dict[int, Tensor]:
    """What an optimizer has, by identity, as its last step shows: of a model nothing is known before it is used."""
    last = next(each for each in reversed(trace.of(Stepped)) if each.optimizer is step.optimizer)
    return {id(tensor): tensor for tensor in last.held}


def _report(trace: Trace, source: Source, run: BackwardRan, at: Site) -> Report:
    step, backward = source.short(at, limit=32), source.short(run.site, limit=32)
    what, _ = named(trace, source, reached_leaves(run), "other parameters")
    return Report(
        at,
        f"`{step}` gets nothing of `{backward}`, and nothing uses its gradients",
        (
            Step(run.site, f"gives {what} gradients, which are cleared unused"),
            Step(at, "has no parameter that gets one"),
        ),
        help="step the optimizer that the loss is for, or let the loss depend on what this one has",
    )
