"""Gradients that are cleared between the backward and the step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.interpreter.trace import BackwardRan, Cleared, Lent, Stepped, Trace
from gradpath.records import dataclass
from gradpath.rules.gradient_flow import Effect, Entry, flow_of, is_whole
from gradpath.rules.moving import ahead, behind
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.stories import same_activation
from gradpath.rules.syntax import statement_of


@dataclass(frozen=True, slots=True)
class Lost:
    """A backward whose gradients were cleared before the step."""

    backward: BackwardRan
    cleared: Cleared
    step: Stepped


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Steps that find no gradient because it was cleared after the last backward."""
    if not is_whole(trace):
        return
    steps = trace.of(Stepped)
    flow = flow_of(trace)
    for node in dict.fromkeys(step.site.node for step in steps):
        lost = [_lost(trace, flow, step) for step in steps if step.site.node is node]
        found = next((each for each in lost if each is not None), None)
        if found is not None and all(each is not None for each in lost):
            yield _report(trace, source, found)


def _lost(trace: Trace, flow: Sequence[Entry], step: Stepped) -> Lost | None:
    """What was cleared before `step`, where that leaves it without any gradient."""
    if not step.parameters:
        return _lost_unseen(trace, step)
    if not step.known:
        return None
    found: Lost | None = None
    for tensor in step.parameters:
        state = _state(flow, tensor, step)
        if state is False:
            return None
        if isinstance(state, Lost):
            found = state
    return found


def _state(flow: Sequence[Entry], tensor: Tensor, step: Stepped) -> Lost | bool:
    """How the gradient of one parameter is when the step comes: lost, never there (True), or there (False)."""
    arrived: BackwardRan | None = None
    lost: Lost | None = None
    for entry in flow:
        if entry.event is step:
            break
        if not entry.concerns(tensor):
            continue
        match entry.effect, entry.event:
            case Effect.ARRIVES, BackwardRan() as event:
                arrived, lost = event, None
            case Effect.CLEARED, Cleared() as event:
                lost = Lost(arrived, event, step) if arrived is not None else lost
                arrived = None
            case Effect.UNKNOWN, _:
                return False
            case _:
                lost = None
    if arrived is not None:
        return False
    return lost if lost is not None else True


def _lost_unseen(trace: Trace, step: Stepped) -> Lost | None:
    """The same for an optimizer that nobody sees into: `optimizer.zero_grad()` directly before `optimizer.step()`."""
    arrived: BackwardRan | None = None
    cleared: Cleared | None = None
    for event in trace.among(BackwardRan, Cleared, Lent, Stepped):
        if event is step:
            break
        match event:
            case BackwardRan():
                arrived, cleared = event, None
            case Cleared():
                cleared = event if event.owner is step.optimizer and arrived is not None else None
            case _:
                arrived = cleared = None
    return Lost(arrived, cleared, step) if arrived is not None and cleared is not None else None


def _report(trace: Trace, source: Source, lost: Lost) -> Report:
    clear, step = source.short(lost.cleared.site, limit=32), source.short(lost.step.site, limit=32)
    backward = source.short(lost.backward.site, limit=32)
    return Report(
        RULE.id,
        lost.cleared.site,
        f"`{clear}` throws away the gradients of `{backward}` before `{step}` uses them",
        (
            Step(lost.backward.site, "computes the gradients"),
            Step(lost.cleared.site, "clears them"),
            Step(lost.step.site, "finds none, and changes nothing"),
        ),
        help="clear the gradients before the backward, or behind the step",
        fixes=tuple(_fixes(trace, source, lost)),
    )


def _fixes(trace: Trace, source: Source, lost: Lost) -> Iterator[Fix]:
    clear, backward = (statement_of(trace, event.site.node) for event in (lost.cleared, lost.backward))
    if clear is None or backward is None:
        return
    document = source.document(lost.cleared.site)
    together = same_activation(lost.cleared.site, lost.backward.site)
    moved = ahead(trace, document, clear, backward) if together else None
    if moved is not None:
        yield Fix(f"Move line {clear.lineno} before the backward", Safety.UNSAFE, moved, rewrite=True)
        return
    step = statement_of(trace, lost.step.site.node)
    moved = None if step is None else behind(trace, document, clear, step)
    if moved is not None:
        yield Fix(f"Move line {clear.lineno} behind the step", Safety.UNSAFE, moved, rewrite=True)


RULE = Rule(
    "zero-grad-before-step",
    "loop",
    Level.WARNING,
    "gradients are cleared after `backward()` and before `step()`, so that the step does nothing",
    None,
    find,
)
