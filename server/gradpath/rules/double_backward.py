"""A backward through a graph that an earlier backward has freed."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.diagnostic import Advice, Fix, Level, Safety
from gradpath.interpreter.trace import Failed, Site, Trace
from gradpath.repairs import Transformation, Way
from gradpath.rules.carrying import loop_between
from gradpath.rules.graphs import meeting, nodes_of, surely_leads
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.second_call_fixes import fixes_for
from gradpath.rules.second_calls import Case, state_of, taken_alone
from gradpath.rules.stories import (
    failures,
    lifted,
    lowered,
    name_of,
    occasion,
    operation,
    stepped_since,
    with_time,
)
from gradpath.rules.syntax import function_of


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Second calls in the same iteration; those of a later one are `carried-graph`."""
    for failure, error in failures(trace, FaultKind.TWICE):
        case = _case(trace, source, failure, error)
        if case is not None and loop_between(trace, case.before, failure.site) is None:
            yield _report(case)


def _case(trace: Trace, source: Source, failure: Failed, error: AutogradError) -> Case | None:
    earlier, node = error.earlier, error.node
    if earlier is None or node is None or not isinstance(earlier.site, Site):
        return None
    roots = error.call.roots if error.call is not None else ()
    if roots and not surely_leads(nodes_of(roots), node):
        return None
    shared = meeting(nodes_of(earlier.roots), nodes_of(roots), node)
    return Case(trace, source, failure, error.call, earlier, earlier.site, shared)


def _report(case: Case) -> Report:
    fixes = tuple(fixes_for(case))
    return Report(
        RULE.id,
        case.raising,
        _headline(case),
        tuple(_steps(case)),
        raised_at=case.again,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
        help=_advice(case, fixes),
        alternatives=tuple(_alternatives(case, fixes)),
        fixes=fixes,
    )


def _what(case: Case) -> str:
    """The shared value in backticks, as the function of the later call names it."""
    state = state_of(case)
    if state is not None and len(state[0]) <= 40:
        return f"`{state[0]}`"
    outputs = case.shared.outputs
    name = name_of(case.trace, case.source, outputs[0], case.again) if outputs else ""
    return f"`{name}`" if name and len(name) <= 40 else operation(case.source, case.shared)


def _headline(case: Case) -> str:
    return next((text for text in (_said(case, limit) for limit in (30, 22)) if len(text) <= 120), _said(case, 16))


def _said(case: Case, limit: int) -> str:
    """The headline with calls cut to `limit` characters."""
    again = case.source.short(case.raising, limit=limit)
    if case.same_place:
        return f"`{again}` runs a second time through the graph of {_what(case)}, which is built only once"
    if case.same_root:
        root = name_of(case.trace, case.source, case.earlier.roots[0], case.again)
        line = case.before.line
        return f"the graph of `{_cut(root)}` is back-propagated twice, and the call on line {line} has freed it"
    before = case.source.short(case.before, limit=limit)
    return f"`{again}` needs the graph of {_what(case)}, but `{before}` already freed it"


def _cut(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _steps(case: Case) -> Iterator[Step]:
    if isinstance(case.shared.site, Site):
        shared = lifted(case.shared.site, case.again)
        yield Step(shared, f"the graph of {_what(case)} is built" if not case.same_root else "the graph is built")
    taken = taken_alone(case)
    if taken is not None:
        yield Step(taken[0], f"depends on it: {_what(case)} is not detached")
    yield Step(case.before, with_time(occasion(case.trace, case.before, case.again), "frees it"))
    state = None if case.same_place else state_of(case)
    if state is not None:
        yield Step(lifted(state[1], case.again), f"continues from {_what(case)}, graph included")
    yield Step(case.raising, with_time(occasion(case.trace, case.again, case.before), "needs it again"))


def _advice(case: Case, fixes: tuple[Fix, ...]) -> str | Advice:
    """The way out, with the fix that it describes."""
    if not fixes:
        return _help(case, fixes)
    again = (Transformation.MOVE, Transformation.RECOMPUTE)
    repeated = case.same_place or (case.same_root and case.is_updated)
    if repeated and not _is_cut(fixes) and (case.same_place or taken_alone(case) is None):
        told = next((fix for fix in fixes if fix.repairs[0].transformation in again), None)
        return Advice.of(fixes[0]) if told is None else Advice(_help(case, fixes), told)
    return Advice(_help(case, fixes), fixes[0])


def _help(case: Case, fixes: tuple[Fix, ...]) -> str:
    if case.same_place and _is_cut(fixes):
        return lowered(fixes[0].title)
    if case.same_place:
        function = function_of(case.trace, case.again.node)
        when = occasion(case.trace, case.again, case.before)
        if when.startswith("called"):
            return f"compute {_what(case)} again before {when.removeprefix('called from ')}"
        where = f"inside `{function.name}`" if function is not None else "before each call"
        return f"compute {_what(case)} {where}, so that each call has a graph of its own"
    taken = taken_alone(case)
    if taken is not None:
        call = case.source.short(case.before)
        value = case.source.text(taken[0], taken[1])
        line = taken[0].line
        return f"write `{value}.detach()` on line {line}: `{call}` trains nothing upstream of `{value}`"
    if case.same_root:
        if stepped_since(case.trace, case.earlier):
            return "compute the loss again after the step: its old graph was built with the old parameters"
        if case.is_updated:
            return "compute the loss again before the second call: its old graph was built with the old parameters"
        return "one call is enough: the gradients of the first are in `.grad` already"
    state = state_of(case)
    if state is not None:
        way = lowered(fixes[0].title) if _is_cut(fixes) else f"detach `{state[0]}` between the two calls"
        return f"start from the value alone: {way}"
    return _said_of(case, fixes[0]) if fixes else f"compute {_what(case)} again before the second call"


def _said_of(case: Case, best: Fix) -> str:
    """The way out by a fix, with what speaks for it."""
    way = lowered(best.title)
    if best.repairs[0].way is Way.DETACH_ON:
        if best.safety is Safety.UNSAFE:
            return f"if one of the losses is not to train what the other is for: {way}"
        return f"`{case.source.short(case.raising)}` trains nothing upstream of that: {way}"
    if best.does(Transformation.CREATE_GRAPH):
        return f"{way}, so that the gradient can itself be back-propagated: the graph stays, too"
    return way


def _is_cut(fixes: tuple[Fix, ...]) -> bool:
    """True if the first fix takes a value out of its graph, between one run of a body and the next."""
    return bool(fixes) and fixes[0].does(Transformation.DETACH)


def _alternatives(case: Case, fixes: tuple[Fix, ...]) -> Iterator[Advice]:
    left_out = _is_cut(fixes) or not (case.same_place or state_of(case))
    for fix in fixes[1:] if left_out else fixes:
        yield Advice.of(fix)
    if case.same_root and not case.same_place and not case.is_updated:
        yield Advice.optional("for twice the gradient, scale the loss")


RULE = Rule(
    "double-backward",
    "graph",
    Level.ERROR,
    "`backward()` or `autograd.grad` reaches a part of the graph that an earlier call freed",
    f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
    find,
    raises=(
        r"backward through the graph a second time",
        r"directly access saved (?:tensors|variables) after they have already been freed",
    ),
)
