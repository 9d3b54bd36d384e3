"""Steps by gradients that the same optimizer has used already, with no backward since."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.gradient_flow import flow_of
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import following, with_time
from gradpath.findings.syntax import block_of, call_of, function_of, statement_of
from gradpath.fixes.moving import removed
from gradpath.interpreter.events import Mutated, OptionSet, Replaced, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents


def repeated_steps(trace: Trace, source: Source) -> Iterator[Report]:
    """The second of two steps in one iteration between which nothing happens to gradients, weights and settings.

    Who puts the weights back, or changes the learning rate, tries the same gradients again on purpose.
    """
    if isinstance(trace.entry, ast.Module) and not any(step.site.loops for step in trace.of(Stepped)):
        return
    telling = {id(entry.event) for entry in flow_of(trace)}
    steps = {step.site.node for step in trace.of(Stepped)}
    last: dict[int, Stepped] = {}
    for event in trace.events:
        match event:
            case Stepped():
                before = last.get(id(event.optimizer))
                last[id(event.optimizer)] = event
                if before is not None and _is_the_same(before, event) and not _is_changed(trace, before, event):
                    yield _report(trace, source, before, event)
            case Mutated() | Replaced() if event.site.node not in steps:
                last.clear()
            case OptionSet():
                last.clear()
            case _ if id(event) in telling:
                last.clear()


def _is_the_same(before: Stepped, step: Stepped) -> bool:
    """True if another statement of the same iteration steps, by all that is known by the same gradients."""
    same = {id(each) for each in before.updated} == {id(each) for each in step.updated}
    other = before.site.node is not step.site.node
    return other and before.site.loops == step.site.loops and same and bool(step.updated or step.unseen or step.models)


def _is_changed(trace: Trace, before: Stepped, step: Stepped) -> bool:
    """True if code between two steps works on the optimizer's groups, or hands the optimizer on: to lower its rate."""
    call, function = call_of(trace, step.site.node), function_of(trace, step.site.node)
    owner = ast.unparse(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else ""
    lines = range(before.site.line + 1, step.site.line)
    between = (each for each in trace.visits if isinstance(each, ast.stmt) and each.lineno in lines)
    return any(
        any(each.attr == "param_groups" for each in contents(statement).attributes)
        or any(ast.unparse(given) == owner for call in contents(statement).calls for given in call.args)
        for statement in between
        if function_of(trace, statement) is function
    )


def _report(trace: Trace, source: Source, before: Stepped, step: Stepped) -> Report:
    return Report(
        step.site,
        f"`{source.short(step.site, limit=40)}` uses the same gradients again: no backward since the last step",
        (
            Step(before.site, "uses the gradients"),
            Step(step.site, with_time(following(trace, step.site, before.site), "uses them once more")),
        ),
        help="step once for each backward",
        fixes=source.proposed(_fixes(trace, source, before, step)),
    )


def _fixes(trace: Trace, source: Source, before: Stepped, step: Stepped) -> Iterator[Fix]:
    """Delete one of the two: the one that runs whenever the other does."""
    first, second = statement_of(trace, before.site.node), statement_of(trace, step.site.node)
    together = any(each is first for each in block_of(trace, second))
    statement, site = (second, step.site) if together else (first, before.site)
    repair = Repair(Way.DELETE_LINE, text=source.short(site), lines=(statement.lineno,))
    yield from Fix.of(repair, Safety.UNSAFE, removed(trace, source.document(site), statement))
