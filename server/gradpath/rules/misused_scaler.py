"""A gradient scaler that steps or divides again before its `update`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, following, with_time
from gradpath.findings.syntax import LOOPS, ancestry, call_of, function_of, statement_of, tests_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import Failed, Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import inside, methods_called, names_in
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Calls of `step` and `unscale_` that come too early."""
    for failure, error in failures(trace, *_HEADLINES):
        if not (error.presumed and _may_be_off(trace, failure.site)):
            yield _report(trace, source, failure, error, error.at)


_HEADLINES = {
    FaultKind.STEPPED_TWICE: "`{scaler}` steps again, but was not updated since",
    FaultKind.UNSCALED_TWICE: "`{scaler}` divides the gradients again, but was not updated since",
    FaultKind.UNSCALED_LATE: "`{scaler}` divides the gradients after its step, but was not updated since",
}


def _may_be_off(trace: Trace, site: Site) -> bool:
    """True if the path left out an `update` on a condition that does not change in the loop: the scaler may be off."""
    around = ancestry(trace, site.node)
    loop = next((each for each in reversed(around) if isinstance(each, LOOPS)), None)
    scaler, function = _receiver(trace, site), function_of(trace, site.node) or trace.entry
    if loop is None or scaler is None:
        return False
    changing = {each.id for each in inside(loop, ast.Name) if isinstance(each.ctx, ast.Store)}
    for receiver, method, call in methods_called(function):
        if method != "update" or ast.unparse(receiver) != ast.unparse(scaler):
            continue
        tests = tests_of(trace, replace(site, node=call, caller=None))
        if statement_of(trace, call) not in trace.visits and tests:
            return changing.isdisjoint(*map(names_in, tests))
    return False


def _report(trace: Trace, source: Source, failure: Failed, error: AutogradError, before: Site) -> Report:
    scaler = _scaler(trace, source, failure.site)
    when = following(trace, failure.site, before)
    stepped = error.kind is not FaultKind.UNSCALED_TWICE
    fixes = tuple(_updated(trace, source, before, scaler)) if stepped else ()
    divides = error.kind is not FaultKind.STEPPED_TWICE
    again = with_time(when, "divides" if divides else "steps again")
    return Report(
        failure.site,
        _HEADLINES[error.kind].format(scaler=scaler),
        (Step(before, "steps" if stepped else "divides the gradients by the scale"), Step(failure.site, again)),
        raised_at=failure.site,
        pytorch=f"RuntimeError: {MESSAGES[error.kind]}",
        help=f"call `{scaler}.update()` after each step, and `unscale_` once before it",
        fixes=fixes,
    )


def _receiver(trace: Trace, site: Site) -> ast.expr | None:
    call = call_of(trace, site.node)
    return call.func.value if call is not None and isinstance(call.func, ast.Attribute) else None


def _scaler(trace: Trace, source: Source, site: Site) -> str:
    receiver = _receiver(trace, site)
    return "the scaler" if receiver is None else source.short(site, receiver, 30)


def _updated(trace: Trace, source: Source, step: Site, scaler: str) -> Iterator[Fix]:
    text = f"{scaler}.update()"
    edit = edits.insert_after(source.document(step), statement_of(trace, step.node), text)
    yield from Fix.of(Repair(Way.STEP_AFTER, lines=(step.line,), text=text), Safety.SAFE, edit)


RULE = Rule(
    "misused-scaler",
    "loop",
    Level.ERROR,
    "a gradient scaler steps or divides again before its `update()`",
    find,
    raises=(
        r"step\(\) has already been called since the last update\(\)",
        r"unscale_\(\) has already been called on this optimizer",
        r"unscale_\(\) is being called after step\(\)",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.STEPPED_TWICE]}",
)
