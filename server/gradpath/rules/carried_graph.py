"""A backward that runs into the graph of an earlier iteration."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from gradpath.autograd.errors import MESSAGES, FaultKind
from gradpath.diagnostic import Advice, Fix, Level
from gradpath.findings.carrying import Case, case_of
from gradpath.findings.graphs import leaves
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, following, occasion, operation, turn_of, with_time
from gradpath.fixes.spent_graphs import in_a_loop, is_border, retained_in_loop
from gradpath.interpreter.events import Stepped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Transformation, Way


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Second calls in a later iteration of a loop that both calls share."""
    for failure, error in failures(trace, FaultKind.TWICE):
        case = case_of(trace, source, failure, error)
        if case is not None:
            yield _report(case)


def _report(case: Case) -> Report:
    fixes = case.source.proposed(in_a_loop(case))
    return Report(
        case.again,
        _headline(case),
        tuple(_steps(case)),
        raised_at=case.again,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
        help=_help(case),
        alternatives=case.source.proposed(_refuted(case, fixes)),
        fixes=fixes,
        why=partial(_why, case),
    )


def _what(case: Case) -> str:
    return f"`{case.name}`" if case.name and len(case.name) <= 40 else operation(case.source, case.first)


def _headline(case: Case) -> str:
    call = case.source.short(case.again)
    if case.from_outside and case.all_from_outside:
        return f"each `{call}` needs the graph of {_what(case)}, but the first of them already freed it"
    if case.from_outside:
        once, first = (
            ("before all calls", "backward") if turn_of(case.loop) == "call" else ("before the loop", f"`{call}`")
        )
        return f"{_what(case)} is computed once, {once}, and the first {first} frees its graph"
    container = case.container
    if container is not None:
        kept = case.source.short(*container)
        return f"`{kept}` still holds results of an earlier {turn_of(case.loop)}, whose graph is freed"
    if not case.name:
        return f"`{_use(case)}` still holds a result of an earlier {turn_of(case.loop)}, whose graph is freed"
    carried = case.carried[0]
    if carried.old:
        return f"`{_use(case)}` still holds {_what(case)} of the previous {turn_of(case.loop)}, whose graph is freed"
    if carried.cached:
        kept = occasion(case.trace, case.made, case.again).removeprefix("in ")
        return f"{_what(case)} is kept from {kept}, and the first `{call}` frees its graph"
    return f"{_what(case)} carries the graph of the previous {turn_of(case.loop)} into this one"


def _use(case: Case) -> str:
    return case.source.short(case.carried[0].use)


def _steps(case: Case) -> Iterator[Step]:
    made = case.made
    if case.from_outside:
        yield Step(made, f"the graph of {_what(case)} is built, once")
    else:
        yield Step(made, with_time(occasion(case.trace, made, case.again), f"builds {_what(case)}"))
    yield Step(case.before, with_time(occasion(case.trace, case.before, case.again), "frees its graph"))
    use = case.carried[0].use
    if use.node is not case.again.node and not case.all_from_outside:
        yield Step(use, with_time(following(case.trace, use, case.before), "uses it again"))
    yield Step(case.again, with_time(following(case.trace, case.again, case.before), "needs the freed graph"))


def _why(case: Case, fix: Fix) -> str:
    way, turn = fix.said, turn_of(case.loop)
    after = fix.repairs[0].way is Way.DETACH_AFTER
    match fix.repairs[0].transformation:
        case Transformation.MOVE | Transformation.RECOMPUTE:
            return f"{way}: each {turn} then has a graph of its own"
        case Transformation.DETACH if fix.repairs[0].way is Way.STORE_VALUE:
            return way
        case Transformation.DETACH if case.from_outside and is_border(case):
            return f"the step that follows trains nothing upstream of it: {way}"
        case Transformation.DETACH if case.from_outside or (case.carried[0].cached and not after):
            return f"if it is not to be trained by this: {way}"
        case Transformation.DETACH if case.container is None:
            return f"start each {turn} from the value alone: {way}"
        case Transformation.FORGET if case.container is None:
            return f"{way}, and it is computed again"
        case Transformation.GRAD_MODE:
            return f"`{case.name}` is what the optimizer trains, so let it stay a leaf: {way}"
    return f"the step comes after the loop and waits for all of them: {way}" if _adds(fix) else way


def _help(case: Case) -> str:
    """The way out in general."""
    turn, around = turn_of(case.loop), _around(case)
    if case.from_outside and case.all_from_outside:
        return f"call backward once, on the sum of the losses, instead of {around}"
    if case.from_outside:
        return f"compute {_what(case)} inside {around}: each {turn} then has a graph of its own"
    if not case.name:
        return f"start each {turn} from values alone: detach what is carried over"
    if case.carried[0].cached:
        return f"compute {_what(case)} again in each {turn}; or keep it detached, if it is not to be trained"
    return f"start each {turn} from the value alone: detach {_what(case)}"


def _around(case: Case) -> str:
    """The repeated code in words: the loop, or the function that is called."""
    if isinstance(case.loop, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return f"`{case.loop.name}`"
    return f"the loop on line {case.loop.lineno}"


def _adds(fix: Fix) -> bool:
    """True if a fix puts one backward after the loop."""
    return fix.repairs[0].way is Way.SUM_AFTER_LOOP


def _refuted(case: Case, fixes: tuple[Fix, ...]) -> Iterator[Advice]:
    """Why not to keep the graph, where that is no fix."""
    retained = next(retained_in_loop(case), None)
    if retained is None or any(fix.does(Transformation.RETAIN_GRAPH) for fix in fixes):
        return
    text = "not a way out: retain_graph=True"
    if not case.from_outside:
        fails = ", and fails once the optimizer has stepped" if _is_out_of_date(case) else ""
        yield Advice(f"{text} makes every {turn_of(case.loop)} slower than the one before{fails}", refuted=retained)
    elif _is_out_of_date(case):
        yield Advice(f"{text}, which fails once the optimizer has stepped", refuted=retained)


def _is_out_of_date(case: Case) -> bool:
    """True if a step has changed parameters that the old graph was computed with."""
    upstream = {id(leaf) for leaf in leaves([case.first])}
    later = (each for each in case.trace.of(Stepped) if case.number in dict(each.site.loops))
    return any(id(each) in upstream for step in later for each in step.updated)


RULE = Rule(
    "carried-graph",
    "graph",
    Level.ERROR,
    "`backward()` needs the graph of an earlier iteration, which is already freed",
    find,
    raises=(
        r"backward through the graph a second time",
        r"directly access saved (?:tensors|variables) after they have already been freed",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
)
