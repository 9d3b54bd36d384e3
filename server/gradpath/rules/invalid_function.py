"""A custom autograd Function that PyTorch cannot run: its `backward` does not fit its `forward`, or it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, nth
from gradpath.fixes import edits
from gradpath.interpreter.events import Failed, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The words for a refusal: the headline, what is at its place, what is where it raises, and the way out."""

    headline: str
    here: str
    raises: str
    help: str


_BACKWARD = "refuses what it returned"

_REFUSALS = {
    FaultKind.GRADIENT_COUNT: _Refusal(
        "`backward` returns {count}, but `forward` is given {expected}",
        "returns {count}",
        _BACKWARD,
        "return one gradient for each argument of `forward`, and None for one that has none",
    ),
    FaultKind.GRADIENT_OF_PLAIN: _Refusal(
        "`backward` returns a gradient for the {place} argument of `forward`, which is no tensor",
        "the {place} has to be None",
        _BACKWARD,
        "return None in its place",
    ),
    FaultKind.GRADIENT_SHAPE: _Refusal(
        "`backward` returns a gradient of another shape than the {place} argument of `forward`",
        "has another shape than the argument",
        _BACKWARD,
        "a gradient has the shape of what it is the gradient of",
    ),
    FaultKind.GRADIENT_KIND: _Refusal(
        "`backward` returns something else than a tensor, None, or a tuple of these",
        "neither a tensor nor None",
        _BACKWARD,
        "return a tensor, or a tuple with one for each argument of `forward`",
    ),
    FaultKind.NOT_APPLIED: _Refusal(
        "a custom Function is called, which only its `apply` may do", "calls it", "", "call `apply` of the class"
    ),
    FaultKind.SAVED_PLAIN: _Refusal(
        "`save_for_backward` is given something else than a tensor as its {place} argument",
        "saves tensors alone",
        "",
        "keep what is no tensor as an attribute: `ctx.scale = scale`",
    ),
}


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """What PyTorch refuses of a custom Function."""
    for failure, error in failures(trace, *_REFUSALS):
        yield _report(source, failure, error)


def _report(source: Source, failure: Failed, error: AutogradError) -> Report:
    refusal = _REFUSALS[error.kind]
    at = error.at if isinstance(error.at, Site) else failure.site
    words = {
        "count": _counted(error.count, "gradient"),
        "expected": _counted(error.index, "argument"),
        "place": nth(error.index + 1),
    }
    steps = [Step(at, refusal.here.format(**words))]
    if failure.site.node is not at.node:
        steps.append(Step(failure.site, refusal.raises))
    return Report(
        at,
        refusal.headline.format(**words),
        tuple(steps),
        raised_at=failure.site,
        pytorch=f"{failure.exception}: {MESSAGES[error.kind]}",
        help=refusal.help,
        fixes=source.proposed(_fixes(source, failure, at, error)),
    )


def _counted(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def _fixes(source: Source, failure: Failed, at: Site, error: AutogradError) -> Iterator[Fix]:
    document = source.document(at)
    match error.kind, at.node:
        case FaultKind.NOT_APPLIED, ast.Call(func=ast.Call(func=ast.Name() | ast.Attribute() as owner) as made):
            text = f"{edits.flat(document, owner)}.apply"
            edit = edits.replace(document, made, text)
            yield Fix.by(Repair(Way.CALL_INSTEAD, text=text), Safety.SAFE, (edit,))
        case FaultKind.GRADIENT_OF_PLAIN, ast.Tuple(elts=parts) if error.index < len(parts):
            edit = edits.replace(document, parts[error.index], "None")
            repair = Repair(Way.RETURN_NONE, (edits.flat(document, parts[error.index]),))
            yield Fix.by(repair, Safety.SAFE, (edit,))
        case FaultKind.GRADIENT_COUNT, ast.expr() as returned if error.count < error.index:
            last = returned.elts[-1] if isinstance(returned, ast.Tuple) and returned.elts else returned
            missing = ", None" * (error.index - error.count)
            text = f"{edits.flat(document, last)}{missing}"
            known = failure.site is not at and not error.inputs
            safety = Safety.SAFE if known else Safety.UNSAFE  # None for a tensor keeps it from learning.
            yield Fix.by(Repair(Way.RETURN_MORE, text=text), safety, (edits.replace(document, last, text),))


RULE = Rule(
    "invalid-function",
    "graph",
    Level.ERROR,
    "the `backward` of a custom Function does not fit its `forward`, or the Function is called without `apply`",
    find,
    raises=(
        r"returned an incorrect number of gradients",
        r"returned a gradient different (?:than|from) None at position",
        r"returned an invalid gradient at index",
        r"expected Variable or None \(got",
        r"Legacy autograd function with non-static forward",
        r"save_for_backward can only save (?:variables|input or output tensors)",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.GRADIENT_COUNT]}",
)
