"""A backward that runs into the graph of an earlier iteration."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, FaultKind
from gradpath.diagnostic import Advice, Fix, Level, Reason
from gradpath.interpreter.trace import Stepped, Trace
from gradpath.repairs import Transformation, Way
from gradpath.rules.carrying import Case, case_of
from gradpath.rules.carrying_fixes import fixes_for, is_border, retaining
from gradpath.rules.graphs import leaves, nodes_of
from gradpath.rules.projected_fixes import is_projected
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.stories import failures, following, lowered, occasion, operation, turn_of, with_time


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Second calls in a later iteration of a loop that both calls share."""
    for failure, error in failures(trace, FaultKind.TWICE):
        case = case_of(trace, source, failure, error)
        if case is not None:
            yield _report(case)


def _report(case: Case) -> Report:
    fixes = tuple(fixes_for(case))
    preferred = next((fix for fix in fixes if fix.preferred or is_projected(fix)), None)
    return Report(
        RULE.id,
        case.again,
        _headline(case),
        tuple(_steps(case)),
        raised_at=case.again,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
        help=_advice(case, preferred, fixes),
        alternatives=tuple(_alternatives(case, preferred, fixes)),
        fixes=fixes,
    )


def _what(case: Case) -> str:
    return f"`{case.name}`" if case.name and len(case.name) <= 40 else operation(case.source, case.first)


def _headline(case: Case) -> str:
    call = case.source.short(case.again)
    if case.from_outside and case.all_from_outside:
        return f"each `{call}` needs the graph of {_what(case)}, but the first of them already freed it"
    if case.from_outside:
        return f"{_what(case)} is computed once, before the loop, and the first `{call}` frees its graph"
    if not case.carried:
        return f"`{call}` needs the graph of an earlier {turn_of(case.loop)}, which is already freed"
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
        return f"{_what(case)} is kept from {_when_made(case)}, and the first `{call}` frees its graph"
    return f"{_what(case)} carries the graph of the previous {turn_of(case.loop)} into this one"


def _use(case: Case) -> str:
    return case.source.short(case.carried[0].use)


def _when_made(case: Case) -> str:
    made = case.made
    return (
        occasion(case.trace, made, case.again).removeprefix("in ")
        if made is not None
        else f"an earlier {turn_of(case.loop)}"
    )


def _steps(case: Case) -> Iterator[Step]:
    made = case.made
    if made is not None:
        if case.from_outside:
            yield Step(made, f"the graph of {_what(case)} is built, once")
        else:
            yield Step(made, with_time(occasion(case.trace, made, case.again), f"builds {_what(case)}"))
    yield Step(case.before, with_time(occasion(case.trace, case.before, case.again), "frees its graph"))
    if case.carried:
        use = case.carried[0].use
        when = "" if case.all_from_outside else following(case.trace, use, case.before)
        if use.node is not case.again.node and not case.all_from_outside:
            yield Step(use, with_time(when, "uses it again"))
    yield Step(case.again, with_time(following(case.trace, case.again, case.before), "needs the freed graph"))


def _advice(case: Case, preferred: Fix | None, fixes: tuple[Fix, ...]) -> str | Advice:
    """The way out, with the fix that it describes."""
    text, told = _help(case, preferred), preferred
    keeps = preferred is not None and preferred.does(Transformation.RETAIN_GRAPH)
    cuts = preferred is not None and preferred.does(Transformation.DETACH) and is_border(case)
    if case.from_outside and not keeps and not (cuts and not case.all_from_outside):
        wanted = _ONCE if case.all_from_outside else _AGAIN
        told = next((fix for fix in fixes if fix.repairs[0].transformation in wanted), None)
        if told is None and fixes:
            return Advice.of(fixes[0]) if _trains_more(case) else Advice(text, reason=Reason.DESIGN)
    return Advice(text, told) if told is not None else text


_ONCE = (Transformation.SUM_LOSSES,)
_AGAIN = (Transformation.MOVE, Transformation.RECOMPUTE)


def _help(case: Case, preferred: Fix | None) -> str:
    """The way out, with the fix that is preferred."""
    if case.from_outside:
        return _help_outside(case, preferred)
    return _help_of_fix(case, preferred) or _help_of_carried(case)


def _help_outside(case: Case, preferred: Fix | None) -> str:
    """The way out where the graph was built before the loop."""
    best, around = lowered(preferred.title) if preferred is not None else "", _around(case)
    if preferred is not None and preferred.does(Transformation.RETAIN_GRAPH):
        return best
    if case.all_from_outside:
        return f"call backward once, on the sum of the losses, instead of {around}"
    if preferred is not None and preferred.does(Transformation.DETACH) and is_border(case):
        return f"the step that follows trains nothing upstream of it: {best}"
    bound = case.carried[0].bound if case.carried else None
    where = f"inside {around}"
    if bound is not None and bound.site.caller is not case.again.caller:
        where = f"where line {case.carried[0].use.line} uses it"
    return f"compute {_what(case)} {where}: each {turn_of(case.loop)} then has a graph of its own"


def _help_of_fix(case: Case, preferred: Fix | None) -> str | None:
    """The way out that the preferred fix is."""
    turn, best = turn_of(case.loop), lowered(preferred.title) if preferred is not None else ""
    if case.container is not None:
        if preferred is not None and preferred.repairs[0].way is not Way.EMPTY_AT_START:
            return best
        return f"empty `{case.source.short(*case.container)}` at the start of each {turn} of {_around(case)}"
    if preferred is None:
        return None
    if preferred.does(Transformation.FORGET):
        return f"{best}, and it is computed again"
    if is_projected(preferred):
        return f"`{case.name}` is what the optimizer trains, so let it stay a leaf: {best}"
    if _adds(preferred):
        return f"the step comes after the loop and waits for all of them: {best}"
    later = preferred.repairs[0].way is Way.DETACH_AFTER
    if preferred.does(Transformation.DETACH) and (later or not case.carried[0].cached):
        return f"start each {turn} from the value alone: {best}"
    return None


def _help_of_carried(case: Case) -> str:
    """The way out where no fix says it: what is carried over should be a value alone."""
    turn = turn_of(case.loop)
    if not case.carried or not case.name:
        return f"start each {turn} from values alone: detach what is carried over"
    carried = case.carried[0]
    if carried.cached:
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


def _alternatives(case: Case, preferred: Fix | None, fixes: tuple[Fix, ...]) -> Iterator[Advice]:
    others = [fix for fix in fixes if fix is not preferred]
    cuts = [fix for fix in others if fix.does(Transformation.DETACH)]
    if preferred is not None and _adds(preferred) and not case.from_outside and case.carried and case.name:
        yield from (
            Advice(f"to back-propagate over one {turn_of(case.loop)} only: {lowered(fix.title)}", fix)
            for fix in cuts[:1]
        )
        return
    retained = next(retaining(case), None)
    if case.from_outside:
        kept_out = cuts if _trains_more(case) else []
        yield from (Advice(f"if it is not to be trained by this: {lowered(fix.title)}", fix) for fix in kept_out)
        yield from (Advice.of(fix) for fix in others if fix.does(Transformation.RETAIN_GRAPH))
        if _is_out_of_date(case) and retained is not None:
            text = "not a way out: retain_graph=True, which fails once the optimizer has stepped"
            yield Advice(text, refuted=retained)
    elif retained is not None and not any(fix.does(Transformation.RETAIN_GRAPH) for fix in fixes):
        fails = ", and fails once the optimizer has stepped" if _is_out_of_date(case) else ""
        text = f"not a way out: retain_graph=True makes every {turn_of(case.loop)} slower than the one before{fails}"
        yield Advice(text, refuted=retained)


def _trains_more(case: Case) -> bool:
    """True if the root of the call depends on parameters that the old graph does not depend on."""
    old = {id(leaf) for leaf in leaves([case.first])}
    return any(id(leaf) not in old for leaf in leaves(nodes_of(case.roots)))


def _is_out_of_date(case: Case) -> bool:
    """True if a step has changed parameters that the old graph was computed with."""
    behind = {id(leaf) for leaf in leaves([case.first])}
    later = (each for each in case.trace.of(Stepped) if case.number in dict(each.site.loops))
    return any(id(each) in behind for step in later for each in step.updated)


RULE = Rule(
    "carried-graph",
    "graph",
    Level.ERROR,
    "`backward()` needs the graph of an earlier iteration, which is already freed",
    f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
    find,
    raises=(
        r"backward through the graph a second time",
        r"directly access saved (?:tensors|variables) after they have already been freed",
    ),
)
