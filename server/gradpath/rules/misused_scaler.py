"""A gradient scaler that steps or divides again before its `update`, or that is left out of the step."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, following, with_time
from gradpath.findings.syntax import LOOPS, ancestry, block_of, call_of, function_of, statement_of, tests_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Failed, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.loops.scaled_gradients import ScaledStep, scaled_steps, scaler_of, uses_gradients
from gradpath.source.index import inside, methods_called, names_in
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Calls of `step` and `unscale_` that come too early."""
    for failure, error in failures(trace, *_HEADLINES):
        if not (error.presumed and _may_be_off(trace, failure.site)):
            yield _report(trace, source, failure, error, error.at)
    for found in scaled_steps(trace):
        by_itself = scaler_of(trace, found.step) is None and uses_gradients(found.ran, found.step)
        if by_itself and not _is_only_where_off(trace, found):
            yield _left_out(trace, source, found)


_HEADLINES = {
    FaultKind.STEPPED_TWICE: "`{scaler}` steps again, but was not updated since",
    FaultKind.UNSCALED_TWICE: "`{scaler}` divides the gradients again, but was not updated since",
    FaultKind.UNSCALED_LATE: "`{scaler}` divides the gradients after its step, but was not updated since",
}


def _may_be_off(trace: Trace, site: Site) -> bool:
    """True if the path left out an `update` on a condition that does not change in the loop: the scaler may be off."""
    scaler, function = _receiver(trace, site), function_of(trace, site.node) or trace.entry
    changing = _changing(trace, site)
    if scaler is None or changing is None:
        return False
    for receiver, method, call in methods_called(function):
        if method != "update" or ast.unparse(receiver) != ast.unparse(scaler):
            continue
        tests = tests_of(trace, replace(site, node=call, caller=None))
        if statement_of(trace, call) not in trace.visits and tests:
            return _is_setting(tests, changing)
    return False


def _is_only_where_off(trace: Trace, found: ScaledStep) -> bool:
    """True if the step is on a condition that does not change in the loop and is none of the scaling: it may be off."""
    before = set(map(ast.unparse, tests_of(trace, found.scaled.site)))
    own = [each for each in tests_of(trace, found.step.site) if ast.unparse(each) not in before]
    return bool(own) and _is_setting(own, _changing(trace, found.step.site) or ())


def _changing(trace: Trace, site: Site) -> set[str] | None:
    """The variables that change in the loop around a place, None where there is no loop."""
    loop = next((each for each in reversed(ancestry(trace, site.node)) if isinstance(each, LOOPS)), None)
    return None if loop is None else {each.id for each in inside(loop, ast.Name) if isinstance(each.ctx, ast.Store)}


def _is_setting(tests: Sequence[ast.expr], changing: Collection[str]) -> bool:
    return all(set(changing).isdisjoint(names_in(each)) for each in tests)


def _report(trace: Trace, source: Source, failure: Failed, error: AutogradError, before: Site) -> Report:
    scaler = _scaler(trace, source, failure.site)
    when = following(trace, failure.site, before)
    stepped = error.kind is not FaultKind.UNSCALED_TWICE
    divides = error.kind is not FaultKind.STEPPED_TWICE
    again = with_time(when, "divides" if divides else "steps again")
    return Report(
        failure.site,
        _HEADLINES[error.kind].format(scaler=scaler),
        (Step(before, "steps" if stepped else "divides the gradients by the scale"), Step(failure.site, again)),
        raised_at=failure.site,
        pytorch=f"RuntimeError: {MESSAGES[error.kind]}",
        help=f"call `{scaler}.update()` after each step, and `unscale_` once before it",
        fixes=tuple(_updated(trace, source, before, scaler)),
    )


def _left_out(trace: Trace, source: Source, found: ScaledStep) -> Report:
    """The report of `optimizer.step()` after the backward of a scaled loss."""
    step, scaler = found.step.site, _scaler(trace, source, found.scaled.site)
    return Report(
        step,
        f"`{source.short(step, limit=40)}` uses gradients that `{scaler}` has scaled: nothing has divided them",
        (
            Step(found.scaled.site, "multiplies the loss by the scale"),
            Step(found.ran.site, "brings gradients that are multiplied by it as well"),
            Step(step, "moves the parameters by these, thousands of times too far"),
        ),
        help=f"step by the scaler, which divides them first: `{scaler}.step(...)`, then `{scaler}.update()`",
        fixes=source.proposed(_stepped_by(trace, source, step, scaler)),
        silent=True,
    )


def _stepped_by(trace: Trace, source: Source, step: Site, scaler: str) -> Iterator[Fix]:
    call, optimizer = call_of(trace, step.node), _receiver(trace, step)
    if call is None or optimizer is None or call.args or call.keywords:
        return
    document = source.document(step)
    text = f"{scaler}.step({edits.flat(document, optimizer)})"
    repair = Repair(Way.STEP_INSTEAD, lines=(step.line,), text=text)
    yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, call, text),))


def _receiver(trace: Trace, site: Site) -> ast.expr | None:
    call = call_of(trace, site.node)
    return call.func.value if call is not None and isinstance(call.func, ast.Attribute) else None


def _scaler(trace: Trace, source: Source, site: Site) -> str:
    receiver = _receiver(trace, site)
    return "the scaler" if receiver is None else source.short(site, receiver, 30)


def _updated(trace: Trace, source: Source, step: Site, scaler: str) -> Iterator[Fix]:
    text, document, stepping = f"{scaler}.update()", source.document(step), statement_of(trace, step.node)
    for each in block_of(trace, stepping):
        match each:
            case ast.If(body=[update], orelse=[]) if each.lineno > step.line and ast.unparse(update) == text:
                repair = Repair(Way.UNCONDITIONAL, lines=(update.lineno,), text=text)
                yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, each, text),))
                return
    edit = edits.insert_after(document, stepping, text)
    yield from Fix.of(Repair(Way.STEP_AFTER, lines=(step.line,), text=text), Safety.SAFE, edit)


RULE = Rule(
    "misused-scaler",
    "loop",
    Level.ERROR,
    "a gradient scaler steps or divides again before its `update()`, or is left out of the step",
    find,
    raises=(
        r"step\(\) has already been called since the last update\(\)",
        r"unscale_\(\) has already been called on this optimizer",
        r"unscale_\(\) is being called after step\(\)",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.STEPPED_TWICE]}",
)
