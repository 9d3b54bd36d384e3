"""Gradients of micro-batches that a loop clears before the step for which they are to add up."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.gradient_flow import Effect, Entry, looks_at_gradients
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import bindings, same_activation
from gradpath.findings.syntax import LOOPS, Definition, ancestry, block_of, call_of, function_of, statement_of, tests_of
from gradpath.fixes import edits
from gradpath.fixes.moving import repair_of
from gradpath.interpreter.events import BackwardRan, Bound, Cleared, Lent, Site, Stepped, iterations_between
from gradpath.interpreter.trace import Trace, once
from gradpath.repairs import Way
from gradpath.rules.loops.lost_gradients import after_step
from gradpath.rules.loops.repeated_terms import is_repeated
from gradpath.source.index import holds, inside, variables
from gradpath.source.nodes import last_name, noted
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class LostShare:
    """A backward whose share of the gradients is cleared when the next micro-batch begins, before the step."""

    backward: BackwardRan
    cleared: Cleared
    step: Stepped

    @property
    def site(self) -> Site:
        """Where it is cleared."""
        return self.cleared.site

    def report(self, trace: Trace, source: Source) -> Report:
        clear, step = source.short(self.cleared.site, limit=32), source.short(self.step.site, limit=32)
        return Report(
            self.cleared.site,
            f"`{clear}` throws away the gradients of all micro-batches but the last before `{step}`",
            (
                Step(self.backward.site, "computes a share of the gradients"),
                Step(self.cleared.site, self._when()),
                Step(self.step.site, "finds the last share alone"),
            ),
            help="clear the gradients after the step, where several batches make one",
            fixes=source.proposed(self._fixes(trace, source)),
        )

    def _when(self) -> str:
        apart = iterations_between(self.backward.site.loops, self.cleared.site.loops) is not None
        return "clears it when the next micro-batch begins" if apart else "clears it, whether the step was due or not"

    def _fixes(self, trace: Trace, source: Source) -> Iterator[Fix]:
        """Clear less often; step more often where the loss is no share of a larger one."""
        later = list(self._stepping_each_time(trace, source))
        yield from () if any(_divisors(trace, self.backward)) else later
        yield from self._clearing_before_loop(trace, source)
        yield from later
        yield from after_step(trace, source, self.cleared.site, self.step.site)

    def _clearing_before_loop(self, trace: Trace, source: Source) -> Iterator[Fix]:
        """`zero_grad()` before the loop of the micro-batches, which the step comes after."""
        clear, document = statement_of(trace, self.cleared.site.node), source.document(self.cleared.site)
        loop = next((each for each in reversed(ancestry(trace, clear)) if isinstance(each, LOOPS)), None)
        if loop is None or holds(loop, self.step.site.node) or len(block_of(trace, clear)) == 1:
            return
        moved = edits.relocated(document, [clear], partial(edits.insert_before, document, loop))
        yield from Fix.of(repair_of(Way.MOVE_BEFORE, [clear], near=loop.lineno), Safety.UNSAFE, moved, rewrite=True)

    def _stepping_each_time(self, trace: Trace, source: Source) -> Iterator[Fix]:
        step, backward = (statement_of(trace, each.site.node) for each in (self.step, self.backward))
        apart = iterations_between(self.backward.site.loops, self.cleared.site.loops) is not None
        here = apart and function_of(trace, self.step.site.node) is function_of(trace, self.backward.site.node)
        if here and isinstance(step, ast.Expr) and not tests_of(trace, self.step.site):
            document = source.document(self.step.site)
            moved = edits.relocated(document, [step], partial(edits.insert_after, document, backward))
            yield from Fix.of(repair_of(Way.MOVE_AFTER_BACKWARD, [step]), Safety.UNSAFE, moved, rewrite=True)


def lost_share(trace: Trace, flow: Sequence[Entry], step: Stepped) -> LostShare | None:
    """Gradients of a micro-batch that are cleared when the next one begins, though the step waits for several.

    A literal that divides the loss has to be the one that the condition of the step counts by.
    """
    stepped = frozenset(id(tensor) for tensor in step.updated)
    if (step.known and not stepped) or not (trace.loops or trace.decisions):
        return None  # No gradient arrives at all, or all that is run is run once.
    arrived: BackwardRan | None = None
    waited = False
    due: Cleared | None = None
    for entry in flow:
        event = entry.event
        own = isinstance(event, Cleared) and event.owner is step.optimizer
        if not (entry.concerns_any(stepped) or own or not stepped):  # What is stepped need not be seen.
            continue
        match entry.effect, event:
            case Effect.ARRIVES, BackwardRan():
                arrived, waited, due = event, False, None
            case ((Effect.CLEARED | Effect.UNKNOWN), Cleared()) if waited and _is_due_with(trace, event, step):
                due = event  # Where no step is due, it is left out with the step.
            case ((Effect.CLEARED | Effect.UNKNOWN), Cleared()) if arrived is not None and _is_as_often(event, due):
                apart = iterations_between(arrived.site.loops, event.site.loops) is not None
                if (apart or waited) and _shares_out(trace, arrived, event, step):
                    return None if is_repeated(trace, arrived) else LostShare(arrived, event, step)
                arrived = None
            case Effect.USED, Stepped() if _may_wait(trace, event):
                waited = waited or event.optimizer is step.optimizer  # On this path; another one goes on without it.
            case Effect.UNKNOWN, Lent() if _is_due_with(trace, event, step):
                pass
            case _:
                arrived = None
    return None


@once
def _may_wait(trace: Trace, step: Stepped) -> bool:
    """True if the path has decided that a step is due."""
    decided = {decision.node for decision in trace.decisions}
    written = set(map(_spelled, decided))  # What was decided once is not decided again.
    tests = _waits_for(trace, step)
    return any(_spelled(test) in written or any(holds(test, part) for part in decided) for test in tests)


def _waits_for(trace: Trace, step: Stepped) -> list[ast.expr]:
    """The conditions of a step, with a flag that its call is handed and that decides it: `scaler(..., update=due)`."""
    decided = {decision.node for decision in trace.decisions}
    handed = (each.value for each in getattr(step.site.node, "keywords", ()))
    return [*(each for each in handed if each in decided), *tests_of(trace, step.site)]


@noted
def _spelled(node: ast.AST) -> str:
    return ast.dump(node)


def _is_due_with(trace: Trace, event: Lent | Cleared, step: Stepped) -> bool:
    """True if something happens when the step is due, under the same conditions, be it in a loop over callbacks."""
    tests = _waits_for(trace, step)
    met = [tests_of(trace, event.site)]
    for frame in event.site.frames():
        loops = (each for each in ancestry(trace, frame.node)[:-1] if isinstance(each, LOOPS))
        met += [tests_of(trace, replace(frame, node=each)) for each in loops]
    return bool(tests) and all(any(test in each for each in met) for test in tests)


def _is_as_often(cleared: Cleared, due: Cleared | None) -> bool:
    """True if the loop that clears when the step is due, if it does, clears here in each iteration."""
    if due is None:
        return True
    loops = [[number for number, _ in each.site.loops] for each in (cleared, due)]
    return same_activation(cleared.site, due.site) and loops[0] == loops[1]


def _shares_out(trace: Trace, backward: BackwardRan, cleared: Cleared, step: Stepped) -> bool:
    """True if a loop clears in each iteration, and the step waits for several.

    That is so if it comes when there were as many as the loss is divided by; and if it comes in every so many
    iterations, or when the loop is over, and nothing else uses what is cleared in the others.
    """
    loop = _clearing_loop(trace, cleared.site)
    if loop is None or not any(loop in ancestry(trace, frame.node) for frame in backward.site.frames()):
        return False
    shares = {_last_name(each) for each in _divisors(trace, backward)}
    shared = [*tests_of(trace, cleared.site), *tests_of(trace, backward.site)]
    tests = [test for test in _conditions(trace, loop, step) if all(test is not each for each in shared)]
    if any(_last_name(part) in shares for test in tests for part in variables(_meant(trace, test))):
        return True
    blocks = [each for each in inside(loop, ast.If) if any(each.test is test for test in tests)]
    if looks_at_gradients(trace, blocks):
        return False
    if _is_last_before(trace, backward, step) and _is_over(trace, backward, loop, step):
        return True
    counting = [test for test in tests if _counts(_meant(trace, test)) or _counts_up(trace, loop, step, test)]
    if not counting:
        return False
    steps = trace.of(Stepped)
    due = {each.site.loops for each in steps if each.optimizer is step.optimizer}
    for other in (each for each in steps if each.optimizer is not step.optimizer):
        together = all(any(test is each for each in _conditions(trace, loop, other)) for test in counting)
        if not together or other.site.loops not in due:
            return False  # Another optimizer may step with it, but at no other time.
    return True


def _is_over(trace: Trace, backward: BackwardRan, loop: ast.AST, step: Stepped) -> bool:
    """True if a step comes once, when a loop is over, be it that of a function called before, and none comes in it."""
    around = ancestry(trace, step.site.node)
    if loop in around or tests_of(trace, step.site):
        return False
    function = function_of(trace, step.site.node)
    if function is not function_of(trace, loop):
        frames = (ancestry(trace, each.node) for each in backward.site.frames() if each.path == step.site.path)
        calls = [each for each in frames if each and (function is None or function in each)]
        if not calls or _innermost(calls[0]) is not _innermost(around):
            return False
    return not any(loop in ancestry(trace, frame.node) for each in trace.of(Stepped) for frame in each.site.frames())


def _innermost(around: Sequence[ast.AST]) -> ast.AST | None:
    return next((each for each in reversed(around) if isinstance(each, (*LOOPS, Definition))), None)


def _is_last_before(trace: Trace, backward: BackwardRan, step: Stepped) -> bool:
    """True if no other backward comes before a step than those of one place."""
    before = trace.events[: trace.events.index(step)]
    last = next((each for each in reversed(before) if isinstance(each, BackwardRan)), None)
    return last is not None and last.site.node is backward.site.node


def _counts(test: ast.expr) -> bool:
    """True if a condition holds in every so many iterations."""
    return any(isinstance(each.op, ast.Mod) for each in inside(test, ast.BinOp))


def _counts_up(trace: Trace, loop: ast.AST, step: Stepped, test: ast.expr) -> bool:
    """True if a condition waits for a sum of a loop that starts at zero again when the step is due."""
    added = {ast.unparse(each.target) for each in inside(loop, ast.AugAssign) if isinstance(each.op, ast.Add)}
    resets = [each for each in inside(loop, ast.Assign) if _is_zero(each)] if added else []
    due = (each for each in resets if test in tests_of(trace, replace(step.site, node=each)))
    begun = {ast.unparse(target) for each in due for target in each.targets}
    return any(ast.unparse(each) in added & begun for each in variables(_meant(trace, test)))


def _is_zero(reset: ast.Assign) -> bool:
    return isinstance(reset.value, ast.Constant) and reset.value.value == 0


def _clearing_loop(trace: Trace, site: Site) -> ast.AST | None:
    """The loop of which each iteration comes to a site, be it in a function that the loop calls."""
    for frame in site.frames():
        around = ancestry(trace, frame.node)[:-1]
        inner = [each for each in around if isinstance(each, (*LOOPS, ast.If, ast.Try, Definition))]
        if not inner or not isinstance(inner[-1], Definition):
            return inner[-1] if inner and isinstance(inner[-1], LOOPS) else None
    return None


def _last_name(number: ast.AST) -> object:
    """What tells numbers apart: a name, without the object that has it."""
    return last_name(number) or number


def _divisors(trace: Trace, backward: BackwardRan) -> Iterator[ast.expr]:
    """The last divisor of the root of a backward, before a gradient scaler took it."""
    call = call_of(trace, backward.site.node)
    written = call.func.value if call is not None and isinstance(call.func, ast.Attribute) else backward.site.node
    for root in backward.call.roots:
        divided = [written, *(node.site.node for node in _unscaled(root))]  # What is not seen is divided there.
        divided += [_assigned(trace, each) for each in bindings(trace, root) if each.tensor is root]
        for each in divided:
            match each:
                case ast.BinOp(op=ast.Div(), right=ast.Name() | ast.Attribute() | ast.Constant() as divisor):
                    yield divisor
                case ast.AugAssign(op=ast.Div(), value=ast.Name() | ast.Attribute() | ast.Constant() as divisor):
                    yield divisor
                case ast.BinOp(op=ast.Mult(), right=ast.BinOp(op=ast.Div(), right=divisor)):
                    yield divisor


def _assigned(trace: Trace, bound: Bound) -> ast.AST:
    """The expression that a statement assigns; the graph of an unseen value does not say how it was computed."""
    statement = statement_of(trace, bound.site.node)
    return statement.value if isinstance(statement, ast.Assign) else bound.site.node


def _unscaled(root: Tensor) -> tuple[Node, ...]:
    """The node of a loss, or what `scaler.scale(loss)` was computed from."""
    if root.node is None:
        return ()
    match root.node.site.node:
        case ast.Call(func=ast.Attribute(attr="scale")):
            return root.node.edges
    return (root.node,)


def _conditions(trace: Trace, loop: ast.AST, step: Stepped) -> Iterator[ast.expr]:
    """The conditions that say when the step is due: in the loop itself, or its length where the step is after it."""
    for frame in step.site.frames():
        loops = [each for each in ancestry(trace, frame.node) if isinstance(each, LOOPS)]
        if loops and loops[-1] is loop:
            if not _steps_twice(trace, frame, loop):
                yield from _waits_for(trace, step)
            return
        if loop in loops:
            return
        if isinstance(loop, ast.For) and function_of(trace, frame.node) is function_of(trace, loop):
            yield loop.iter
            return


def _meant(trace: Trace, test: ast.expr) -> ast.expr:
    """The condition that a variable stands for, if its function binds it once: `last = (i + 1) % steps == 0`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _meant(trace, test.operand)
    code = function_of(trace, test) or trace.entry
    if not isinstance(test, ast.Name):
        return test
    bound = [each.value for each in inside(code, ast.Assign) for target in each.targets if _is_name(target, test.id)]
    return bound[0] if len(bound) == 1 else test


def _is_name(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _steps_twice(trace: Trace, step: Site, loop: ast.AST) -> bool:
    """True if a loop has the same call in another place as well: one of them may come where the other does not."""
    call = call_of(trace, step.node)
    return call is not None and sum(_spelled(each) == _spelled(call) for each in inside(loop, ast.Call)) > 1
