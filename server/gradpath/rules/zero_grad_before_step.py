"""Gradients that are cleared between the backward and the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.gradient_flow import Effect, Entry, flow_of, has_run_loops
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import same_activation
from gradpath.findings.syntax import LOOPS, Definition, ancestry, block_of, call_of, function_of, statement_of, tests_of
from gradpath.fixes import edits
from gradpath.fixes.moving import moved_after, moved_before, removed
from gradpath.interpreter.trace import BackwardRan, Bound, Cleared, Lent, Site, Stepped, Trace, iterations_between
from gradpath.repairs import Repair, Way
from gradpath.rules.loops.never_stepped import (
    NeverStepped,
    looks_at_gradients,
    never_stepped,
    stepping,
    stepping_as_well,
    stepping_instead,
)
from gradpath.source.index import holds, inside, variables
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lost:
    """A backward whose gradients were cleared before the step."""

    backward: BackwardRan
    cleared: Cleared
    step: Stepped


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Steps that find no gradient because it was cleared after the last backward."""
    if not has_run_loops(trace):
        return
    steps = trace.of(Stepped)
    flow = flow_of(trace)
    for node in dict.fromkeys(step.site.node for step in steps):
        lost = [_lost(trace, flow, step) for step in steps if step.site.node is node]
        found = next((each for each in lost if each is not None), None)
        if found is not None and all(each is not None for each in lost):
            yield _report(trace, source, found)
        else:
            partly = _partly_lost(trace, flow, next(step for step in steps if step.site.node is node))
            if partly is not None:
                yield _report_partly(trace, source, partly)
    for each in never_stepped(trace, source):
        yield _report_never(trace, source, each)


def _partly_lost(trace: Trace, flow: Sequence[Entry], step: Stepped) -> Lost | None:
    """Gradients of a micro-batch that are cleared when the next one begins, though the step waits for several.

    A literal that divides the loss has to be the one that the condition of the step counts by.
    """
    stepped = frozenset(id(tensor) for tensor in step.updated)
    if step.known and not stepped:
        return None  # No gradient arrives at all.
    arrived: BackwardRan | None = None
    for entry in flow:
        event = entry.event
        own = isinstance(event, Cleared) and event.owner is step.optimizer
        if not (entry.concerns_any(stepped) or own or not stepped):  # What is stepped need not be seen.
            continue
        match entry.effect, event:
            case Effect.ARRIVES, BackwardRan():
                arrived = event
            case ((Effect.CLEARED | Effect.UNKNOWN), Cleared()) if arrived is not None:
                if _shares_out(trace, arrived, event, step):
                    return Lost(arrived, event, step)
                arrived = None
            case Effect.USED, Stepped() if _may_wait(trace, event):
                pass  # On this path; another one goes on without it.
            case Effect.UNKNOWN, Lent() if _is_due_with(trace, event, step):
                pass
            case _:
                arrived = None
    return None


def _may_wait(trace: Trace, step: Stepped) -> bool:
    """True if the path has decided that a step is due."""
    decided = {decision.node for decision in trace.decisions}
    return any(holds(test, part) for test in tests_of(trace, step.site) for part in decided)


def _is_due_with(trace: Trace, event: Lent, step: Stepped) -> bool:
    """True if something happens when the step is due, under the same conditions."""
    tests = tests_of(trace, step.site)
    return bool(tests) and all(test in tests_of(trace, event.site) for test in tests)


def _shares_out(trace: Trace, backward: BackwardRan, cleared: Cleared, step: Stepped) -> bool:
    """True if a loop clears in each iteration, and the step waits for several.

    That is so if it comes when there were as many as the loss is divided by; and if it comes in every so many
    iterations, and nothing else uses what is cleared in the others.
    """
    if iterations_between(backward.site.loops, cleared.site.loops) is None:
        return False
    loop = _clearing_loop(trace, cleared.site)
    if loop is None or not any(loop in ancestry(trace, frame.node) for frame in backward.site.frames()):
        return False
    shares = {_last_name(each) for each in _divisors(trace, backward)}
    tests = list(_conditions(trace, loop, step))
    if any(_last_name(part) in shares for test in tests for part in _numbers(test)):
        return True
    if not any(map(_counts, tests)) or looks_at_gradients(trace):
        return False
    steps = trace.of(Stepped)
    due = {each.site.loops for each in steps if each.optimizer is step.optimizer}
    return all(each.site.loops in due for each in steps)  # Another optimizer may step with it, but at no other time.


def _counts(test: ast.expr) -> bool:
    """True if a condition holds in every so many iterations."""
    return any(isinstance(each.op, ast.Mod) for each in inside(test, ast.BinOp))


def _clearing_loop(trace: Trace, site: Site) -> ast.AST | None:
    """The loop of which each iteration comes to a site, be it in a function that the loop calls."""
    for frame in site.frames():
        around = ancestry(trace, frame.node)[:-1]
        inner = [each for each in around if isinstance(each, (*LOOPS, ast.If, ast.Try, Definition))]
        if not inner or not isinstance(inner[-1], Definition):
            return inner[-1] if inner and isinstance(inner[-1], LOOPS) else None
    return None


def _last_name(number: ast.AST) -> object:
    """What tells numbers apart: a value, or a name without the object that has it."""
    match number:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Constant(value=value):
            return value
        case _:
            return number


def _numbers(test: ast.expr) -> Iterator[ast.AST]:
    """Candidates for the number that a condition counts by: names anywhere, and what follows `%`."""
    yield from variables(test)
    yield from (each.right for each in inside(test, ast.BinOp) if isinstance(each.op, ast.Mod))


def _divisors(trace: Trace, backward: BackwardRan) -> Iterator[ast.expr]:
    """The last divisor of the root of a backward, before a gradient scaler took it."""
    for root in backward.call.roots:
        divided = [node.site.node for node in _unscaled(root) if isinstance(node.site, Site)]
        divided += [_assigned(trace, each) for each in trace.of(Bound) if each.tensor is root]
        for each in divided:
            match each:
                case ast.BinOp(op=ast.Div(), right=ast.Name() | ast.Attribute() | ast.Constant() as divisor):
                    yield divisor
                case ast.AugAssign(op=ast.Div(), value=ast.Name() | ast.Attribute() | ast.Constant() as divisor):
                    yield divisor
                case ast.BinOp(op=ast.Mult(), right=ast.BinOp(op=ast.Div(), right=divisor)):
                    yield divisor
                case _:
                    pass


def _assigned(trace: Trace, bound: Bound) -> ast.AST:
    """The expression that a statement assigns; the graph of an unseen value does not say how it was computed."""
    statement = statement_of(trace, bound.site.node)
    return statement.value if isinstance(statement, ast.Assign) else bound.site.node


def _unscaled(root: Tensor) -> tuple[Node, ...]:
    """The node of a loss, or what `scaler.scale(loss)` was computed from."""
    if root.node is None:
        return ()
    match root.node.site.node if isinstance(root.node.site, Site) else None:
        case ast.Call(func=ast.Attribute(attr="scale")):
            return root.node.edges
        case _:
            return (root.node,)


def _conditions(trace: Trace, loop: ast.AST, step: Stepped) -> Iterator[ast.expr]:
    """The conditions that say when the step is due: in the loop itself, or its length where the step is after it."""
    for frame in step.site.frames():
        loops = [each for each in ancestry(trace, frame.node) if isinstance(each, LOOPS)]
        if loops and loops[-1] is loop:
            if not _steps_twice(trace, frame, loop):
                yield from tests_of(trace, step.site)
            return
        if loop in loops:
            return
        if isinstance(loop, ast.For) and function_of(trace, frame.node) is function_of(trace, loop):
            yield loop.iter
            return


def _steps_twice(trace: Trace, step: Site, loop: ast.AST) -> bool:
    """True if a loop has the same call in another place as well: one of them may come where the other does not."""
    call = call_of(trace, step.node)
    return call is not None and sum(ast.dump(each) == ast.dump(call) for each in inside(loop, ast.Call)) > 1


def _lost(trace: Trace, flow: Sequence[Entry], step: Stepped) -> Lost | None:
    """The clearing before `step`, if that leaves it without any gradient."""
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


def _report(trace: Trace, source: Source, lost: Lost) -> Report:
    clear, step = source.short(lost.cleared.site, limit=32), source.short(lost.step.site, limit=32)
    backward = source.short(lost.backward.site, limit=32)
    return Report(
        lost.cleared.site,
        f"`{clear}` throws away the gradients of `{backward}` before `{step}` uses them",
        (
            Step(lost.backward.site, "computes the gradients"),
            Step(lost.cleared.site, "clears them"),
            Step(lost.step.site, "finds nothing but zeros" if lost.step.updated else "finds none, and changes nothing"),
        ),
        help="clear the gradients before the backward, or after the step",
        fixes=source.proposed(_fixes(trace, source, lost)),
    )


def _report_partly(trace: Trace, source: Source, lost: Lost) -> Report:
    clear, step = source.short(lost.cleared.site, limit=32), source.short(lost.step.site, limit=32)
    return Report(
        lost.cleared.site,
        f"`{clear}` throws away the gradients of all micro-batches but the last before `{step}`",
        (
            Step(lost.backward.site, "computes a share of the gradients"),
            Step(lost.cleared.site, "clears it when the next micro-batch begins"),
            Step(lost.step.site, "finds the last share alone"),
        ),
        help="clear the gradients after the step, where several batches make one",
        fixes=source.proposed(_after_step(trace, source, lost)),
    )


def _report_never(trace: Trace, source: Source, found: NeverStepped) -> Report:
    clear, backward = (source.short(event.site, limit=32) for event in (found.cleared, found.backward))
    if found.instead is not None:
        step = found.instead.site
        return Report(
            step,
            f"`{source.short(step, limit=32)}` comes after `{backward}`, and `{found.name}` never steps",
            (
                Step(found.backward.site, f"computes the gradients for `{found.name}`"),
                Step(step, "steps another optimizer, which steps elsewhere as well"),
                Step(found.cleared.site, "clears them in the next iteration, and nothing has used them"),
            ),
            help=f"call `{found.name}.step()` here",
            fixes=source.proposed(stepping_instead(source, found, step)),
        )
    if found.branch is not None:
        branch = source.short(found.branch, limit=32)
        return Report(
            found.branch,
            f"`{branch}` runs in place of `{found.name}.step()`: nothing uses the gradients",
            (
                Step(found.backward.site, f"computes the gradients for `{found.name}`"),
                Step(found.branch, "the other branch steps"),
                Step(found.cleared.site, "clears them in the next iteration, and nothing has used them"),
            ),
            help=f"call `{found.name}.step()` in both branches",
            fixes=source.proposed(stepping_as_well(trace, source, found, found.branch)),
        )
    return Report(
        found.cleared.site,
        f"`{clear}` throws away the gradients of `{backward}`: `{found.name}` never steps",
        (
            Step(found.backward.site, "computes the gradients"),
            Step(found.cleared.site, "clears them in the next iteration, and nothing has used them"),
        ),
        help=f"call `{found.name}.step()` after the backward",
        fixes=source.proposed(stepping(trace, source, found)),
    )


def _fixes(trace: Trace, source: Source, lost: Lost) -> Iterator[Fix]:
    clear, backward = (statement_of(trace, event.site.node) for event in (lost.cleared, lost.backward))
    if clear is None or backward is None:
        return
    document = source.document(lost.cleared.site)
    together = same_activation(lost.cleared.site, lost.backward.site)
    moved = moved_before(trace, document, clear, backward) if together else None
    if moved is not None:
        yield Fix.by(Repair(Way.MOVE_BEFORE_BACKWARD, lines=(clear.lineno,)), Safety.UNSAFE, moved, rewrite=True)
        step = statement_of(trace, lost.step.site.node)
        if any(each is step for each in block_of(trace, clear) or ()):
            return  # Else the step waits for more than one backward.
    yield from _after_step(trace, source, lost)


def _after_step(trace: Trace, source: Source, lost: Lost) -> Iterator[Fix]:
    """Move `zero_grad()` after the step of the same function, also if that is nested deeper."""
    clear, step = (statement_of(trace, event.site.node) for event in (lost.cleared, lost.step))
    if not isinstance(clear, ast.Expr) or not isinstance(step, ast.Expr):
        return
    document = source.document(lost.cleared.site)
    moved = moved_after(trace, document, [clear], step)
    if moved is None and function_of(trace, clear) is function_of(trace, step):
        gone, lines = removed(trace, document, clear), edits.lines_to_move(document, clear)
        new = edits.insert_after(document, step, *(lines or ()))
        moved = (gone, new) if gone is not None and lines is not None and new is not None else None
    if moved is not None:
        yield Fix.by(Repair(Way.MOVE_AFTER_STEP, lines=(clear.lineno,)), Safety.UNSAFE, moved, rewrite=True)


RULE = Rule(
    "zero-grad-before-step",
    "loop",
    Level.WARNING,
    "gradients are cleared after `backward()` and before `step()`, so that the step does nothing",
    None,
    find,
    idle=True,
)
