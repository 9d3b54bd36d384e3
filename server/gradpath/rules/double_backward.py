"""A backward through a graph that an earlier backward has freed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.diagnostic import Fix, Level
from gradpath.findings.carrying import loop_between
from gradpath.findings.graphs import certainly_leads, meeting, nodes_of
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.second_calls import Case, state_of, taken_alone
from gradpath.findings.stories import failures, lifted, name_of, occasion, operation, with_time
from gradpath.findings.syntax import function_of
from gradpath.findings.trained import trains_nothing_upstream
from gradpath.fixes.spent_graphs import in_one_run
from gradpath.interpreter.events import Failed
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Transformation


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Second calls in the same iteration; those of a later one are `carried-graph`."""
    for failure, error in failures(trace, FaultKind.TWICE):
        case = _case(trace, source, failure, error)
        if case is not None and loop_between(trace, case.before, failure.site) is None:
            yield _report(case)


def _case(trace: Trace, source: Source, failure: Failed, error: AutogradError) -> Case | None:
    earlier, node = error.earlier, error.node
    if earlier is None or node is None:
        return None
    roots = error.call.roots if error.call is not None else ()
    if roots and not certainly_leads(nodes_of(roots), node):
        return None
    shared = meeting(nodes_of(earlier.roots), nodes_of(roots), node)
    return Case(trace, source, failure, error.call, earlier, earlier.site, shared)


def _report(case: Case) -> Report:
    return Report(
        case.raising,
        _headline(case),
        tuple(_steps(case)),
        raised_at=case.again,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
        help=_help(case),
        fixes=case.source.proposed(in_one_run(case)),
        why=partial(_why, case),
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
        root = name_of(case.trace, case.source, case.earlier.roots[0], case.again) or again.removesuffix(".backward()")
        line = case.before.line
        return f"the graph of `{_cut(root)}` is back-propagated twice, and the call on line {line} has freed it"
    before = case.source.short(case.before, limit=limit)
    return f"`{again}` needs the graph of {_what(case)}, but `{before}` already freed it"


def _cut(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _steps(case: Case) -> Iterator[Step]:
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


def _why(case: Case, fix: Fix) -> str:
    way, taken = fix.said, taken_alone(case)
    match fix.repairs[0].transformation:
        case Transformation.DETACH if taken is not None and taken[1].lineno in fix.repairs[0].lines:
            call, value = case.source.short(case.before), case.source.text(taken[0], taken[1])
            return f"`{call}` trains nothing upstream of `{value}`: {way}"
        case Transformation.DETACH if case.same_place or state_of(case) is not None:
            return f"start from the value alone: {way}"
        case Transformation.DETACH if trains_nothing_upstream(
            case.trace, case.crossing.entered, case.again, case.failure.kept
        ):
            return f"`{case.source.short(case.raising)}` trains nothing upstream of that: {way}"
        case Transformation.DETACH:
            return f"if one of the losses is not to train what the other is for: {way}"
        case Transformation.CREATE_GRAPH:
            return f"{way}, so that the gradient can itself be back-propagated: the graph stays, too"
        case Transformation.MOVE | Transformation.RECOMPUTE if case.same_place:
            return f"{way}, so that each call has a graph of its own"
        case Transformation.DELETE:
            return f"{way}: the gradients of the first are in `.grad` already"
    return way


def _help(case: Case) -> str:
    """The way out in general."""
    if case.same_place:
        function = function_of(case.trace, case.again.node)
        where = f"inside `{function.name}`" if function is not None else "before each call"
        return f"compute {_what(case)} {where}, so that each call has a graph of its own"
    return f"compute {'the loss' if case.same_root else _what(case)} again before the second call"


RULE = Rule(
    "double-backward",
    "graph",
    Level.ERROR,
    "`backward()` or `autograd.grad` reaches a part of the graph that an earlier call freed",
    find,
    raises=(
        r"backward through the graph a second time",
        r"directly access saved (?:tensors|variables) after they have already been freed",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
)
