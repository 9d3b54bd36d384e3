"""Gradients of a scaled loss that are clipped, or used by a step, before they are divided by the scale again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.gradient_flow import is_gradient, is_harmless
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import same_activation
from gradpath.findings.syntax import call_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import BackwardRan, Clipped, GradientSet, Lent, Mutated, Scaled, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.support.fast_dataclasses import dataclass


def scaled_clips(trace: Trace, source: Source) -> Iterator[Report]:
    """The clips of a path whose bound is compared with scaled gradients, though it does not ask for the scale."""
    for each in scaled_steps(trace):
        if each.clip is None or scaler_of(trace, each.step) is None:
            continue
        clip = each.clip.site
        yield Report(
            clip,
            f"`{source.short(clip)}` clips scaled gradients: nothing has divided them yet",
            (
                Step(each.ran.site, "brings gradients that are multiplied by the scale"),
                Step(clip, "compares them with a bound for true gradients"),
                Step(each.step.site, "divides them by the scale: nearly nothing is left of them"),
            ),
            help="call `unscale_(optimizer)` of the scaler before the gradients are clipped",
            fixes=source.proposed(_unscaled(trace, source, clip, each.step)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ScaledStep:
    """A step after the backward of a scaled loss whose gradients nothing has divided, and the first clip between."""

    ran: BackwardRan
    scaled: Scaled
    clip: Clipped | None
    step: Stepped


def scaled_steps(trace: Trace) -> Iterator[ScaledStep]:
    """The steps of a path, those of scalers among them, that come to gradients which are still scaled."""
    scaled: dict[int, Scaled] = {}
    ran: BackwardRan | None = None
    clip: Clipped | None = None
    for event in trace.among(Scaled, BackwardRan, Clipped, Stepped, Lent, GradientSet, Mutated):
        match event:
            case Scaled(tensor=Tensor() as loss):
                scaled[id(loss)] = event
            case Scaled() | GradientSet():
                ran = clip = None
            case Mutated(tensor=written) if is_gradient(written) and event.write.operation != "clip":
                ran = clip = None  # It may divide by the scale.
            case BackwardRan() if event.call.accumulates:
                ran, clip = (event if all(id(root) in scaled for root in event.call.roots) else None), None
            case Lent() if not is_harmless(event):
                ran = clip = None
            case Clipped() if ran is not None and not _asks_for_scale(trace, event):
                clip = clip or event
            case Stepped() if ran is not None:
                yield ScaledStep(ran, scaled[id(ran.call.roots[0])], clip, event)
                if scaler_of(trace, event) is not None or uses_gradients(ran, event):
                    ran = clip = None


def uses_gradients(ran: BackwardRan, step: Stepped) -> bool:
    """True if a step moves parameters by the gradients that a backward gave them."""
    return not {id(leaf) for leaf in reached_leaves(ran)}.isdisjoint(map(id, step.updated))


def _asks_for_scale(trace: Trace, clip: Clipped) -> bool:
    """True if the bound may be a product with the scale: `max_norm * scaler.get_scale()`."""
    call = call_of(trace, clip.site.node)
    return call is None or not all(isinstance(each, ast.Constant | ast.Name | ast.Attribute) for each in _bounds(call))


def _bounds(call: ast.Call) -> list[ast.expr]:
    return [*call.args[1:], *(each.value for each in call.keywords if each.arg != "parameters")]


def scaler_of(trace: Trace, step: Stepped) -> tuple[ast.expr, ast.expr] | None:
    """The scaler and the optimizer of `scaler.step(optimizer)`."""
    match call_of(trace, step.site.node):
        case ast.Call(func=ast.Attribute(value=scaler, attr="step"), args=[optimizer, *_]):
            return scaler, optimizer
    return None


def _unscaled(trace: Trace, source: Source, clip: Site, step: Stepped) -> Iterator[Fix]:
    parts, statement = scaler_of(trace, step), statement_of(trace, clip.node)
    if parts is None or not same_activation(clip, step.site):
        return
    document = source.document(clip)
    scaler, optimizer = (edits.flat(document, each) for each in parts)
    text = f"{scaler}.unscale_({optimizer})"
    yield from Fix.of(Repair(Way.UNSCALE, text=text), Safety.UNSAFE, edits.insert_before(document, statement, text))
