"""Gradients that are cleared between the backward and the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.gradient_flow import Effect, Entry
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import same_activation
from gradpath.findings.syntax import block_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import moving, repair_of
from gradpath.interpreter.events import BackwardRan, Cleared, Lent, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Way
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lost:
    """A backward whose gradients were cleared before the step, perhaps by something else than its optimizer."""

    backward: BackwardRan
    cleared: Cleared
    step: Stepped

    @property
    def site(self) -> Site:
        """Where they are cleared."""
        return self.cleared.site

    def report(self, trace: Trace, source: Source) -> Report:
        clear, step = source.short(self.cleared.site, limit=32), source.short(self.step.site, limit=32)
        backward = source.short(self.backward.site, limit=32)
        apart = bool(self.step.unseen) and self.cleared.owner is not self.step.optimizer
        use = ", if that uses them" if apart else " uses them"
        return Report(
            self.cleared.site,
            f"`{clear}` throws away the gradients of `{backward}` before `{step}`{use}",
            (
                Step(self.backward.site, "computes the gradients"),
                Step(self.cleared.site, "clears them"),
                Step(
                    self.step.site,
                    "finds nothing but zeros" if self.step.updated else "finds none, and changes nothing",
                ),
            ),
            help="clear the gradients before the backward, or after the step",
            fixes=source.proposed(_fixes(trace, source, self)),
        )


def lost_before(trace: Trace, flow: Sequence[Entry], step: Stepped) -> Lost | None:
    """The clearing before `step`, if that leaves it without any gradient."""
    if not step.parameters:
        return _lost_unseen(trace, step) or _lost_of(flow, step.unseen, step)
    lost = _lost_of(flow, step.parameters, step)
    return lost if lost is None or step.known or _is_all_lost(trace, lost) else None


def _is_all_lost(trace: Trace, lost: Lost) -> bool:
    """True if a step has no gradient of parameters that are not seen either: all were cleared since any backward."""
    events = trace.events
    since = events[events.index(lost.cleared) : events.index(lost.step)]
    runs = (each for each in since if isinstance(each, BackwardRan) and each.call.accumulates)
    return lost.step.finds_none_after(lost.cleared) and next(runs, None) is None


def _lost_of(flow: Sequence[Entry], parameters: Sequence[Tensor], step: Stepped) -> Lost | None:
    """The same for these parameters of an optimizer."""
    found: Lost | None = None
    for tensor in parameters:
        state = _state(flow, tensor, step)
        if state is False:
            return None
        if isinstance(state, Lost):
            found = state
    return found


def _state(flow: Sequence[Entry], tensor: Tensor, step: Stepped) -> Lost | bool:
    """The gradient of one parameter at the step: lost (the clearing), never filled (True), or present (False)."""
    arrived: BackwardRan | None = None
    used = False
    lost: Lost | None = None
    for entry in flow:
        if entry.event is step:
            break
        if not entry.concerns(tensor):
            continue
        match entry.effect, entry.event:
            case Effect.ARRIVES, BackwardRan() as event:
                arrived, used, lost = event, False, None
            case Effect.USED, _:
                used, lost = True, None
            case Effect.CLEARED, Cleared() as event:
                lost = Lost(arrived, event, step) if arrived is not None and not used else lost
                arrived = None
            case Effect.UNKNOWN, Cleared():
                pass  # It brings no gradient back.
            case Effect.UNKNOWN, _:
                return False
            case _:
                lost = None
    if arrived is not None:
        return False
    return lost if lost is not None else True


def _lost_unseen(trace: Trace, step: Stepped) -> Lost | None:
    """The same for an opaque optimizer: it is cleared directly before `optimizer.step()`."""
    arrived: BackwardRan | None = None
    cleared: Cleared | None = None
    for event in trace.among(BackwardRan, Cleared, Lent, Stepped):
        if event is step:
            break
        match event:
            case BackwardRan():
                if event.call.accumulates:  # What `autograd.grad` gives is in no `grad` yet.
                    arrived, cleared = event, None
            case Cleared():
                cleared = event if arrived is not None and step.finds_none_after(event) else None
            case _:
                arrived = cleared = None
    return Lost(arrived, cleared, step) if arrived is not None and cleared is not None else None


def _fixes(trace: Trace, source: Source, lost: Lost) -> Iterator[Fix]:
    cleared, backward = lost.cleared.site, lost.backward.site
    if same_activation(cleared, backward):
        yield from moving(trace, source, cleared, backward, Way.MOVE_BEFORE_BACKWARD, before=True)
    yield from after_step(trace, source, lost.cleared.site, lost.step.site)


def after_step(trace: Trace, source: Source, cleared: Site, stepped: Site) -> Iterator[Fix]:
    """Move `zero_grad()` after the step of the same function, also if that is nested deeper."""
    clear, step = (statement_of(trace, site.node) for site in (cleared, stepped))
    if not isinstance(clear, ast.Expr) or not isinstance(step, ast.Expr):
        return
    document, moved = source.document(cleared), None
    if function_of(trace, clear) is function_of(trace, step) and len(block_of(trace, clear)) > 1:
        moved = edits.relocated(document, [clear], partial(edits.insert_after, document, step))
    yield from Fix.of(repair_of(Way.MOVE_AFTER_STEP, [clear]), Safety.UNSAFE, moved, rewrite=True)
