"""States that a loop keeps as the best so far, and that are used after it, when the last step has changed them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.findings.syntax import LOOPS, ancestry, function_of
from gradpath.interpreter.ownership import Given, Taken
from gradpath.interpreter.trace import Site, Stepped, Trace
from gradpath.source.index import contents, names_of
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class BestState:
    """A state that was `taken` where something was the best so far, a later `step`, and the place that `reads` it."""

    taken: Taken
    step: Stepped
    reads: Site


def best_states(trace: Trace) -> Iterator[BestState]:
    """The states that a variable keeps if something is the best so far, as in `if loss < best: best = loss`.

    Each later step changes them. What is written out in the branch itself is right.
    """
    for taken in trace.of(Taken):
        kept = _kept(trace, taken)
        if kept is None:
            continue
        step = next((each for each in trace.of(Stepped) if _changes(trace, each, taken)), None)
        reads = _read_after(trace, *kept)
        if step is not None and reads is not None:
            yield BestState(taken, step, replace(taken.site, node=reads))


def _kept(trace: Trace, taken: Taken) -> tuple[ast.AST, str] | None:
    """The outermost loop in which a state is kept, if something is better than before, and the variable for it."""
    around = ancestry(trace, taken.site.node)
    function = function_of(trace, taken.site.node)
    inside = around[around.index(function) + 1 :] if function in around else around
    loop = next((each for each in inside if isinstance(each, LOOPS)), None)
    test = next((each for each in reversed(inside) if isinstance(each, ast.If)), None)
    if loop is None or test is None or isinstance(test.body[-1], ast.Break | ast.Return | ast.Raise):
        return None
    bound = dict(_bindings(test))
    state = next((name for name, value in bound.items() if _holds_state(value, taken.site.node)), None)
    compared = names_of(test.test) & (bound.keys() - {state})
    return (loop, state) if state is not None and compared else None


def _bindings(test: ast.If) -> Iterator[tuple[str, ast.expr]]:
    """What the branch of a condition assigns to variables, one by one."""
    for each in test.body:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = zip(targets, values, strict=False)
                yield from ((target.id, value) for target, value in pairs if isinstance(target, ast.Name))
            case _:
                pass


def _holds_state(value: ast.expr, state: ast.AST) -> bool:
    """True if a value is a state itself, a shallow copy of its dict, or a dict or a tuple that holds it."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
            return _holds_state(inner, state)
        case ast.Call(func=ast.Name(id="dict"), args=[inner], keywords=[]):
            return _holds_state(inner, state)
        case ast.Dict(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_holds_state(each, state) for each in parts)
        case _:
            return value is state


def _changes(trace: Trace, step: Stepped, taken: Taken) -> bool:
    """True if a step runs in the loop that keeps a state, and may change what that is of."""
    loops = {number for number, _ in taken.site.loops}
    if not any(number in loops for number, _ in step.site.loops):
        return False
    parameters = getattr(taken.owner, "parameters", None)
    if parameters is not None and taken.state is None:
        own = {id(value.tensor) for _, value in parameters()}
        return any(id(each) in own for each in step.updated)
    given = [each for each in trace.of(Given) if each.optimizer is step.optimizer]
    return not given or any(not each.known or any(one is taken.owner for one in each.models) for each in given)


def _read_after(trace: Trace, loop: ast.AST, name: str) -> ast.AST | None:
    """The first use of a variable after a loop, if nothing else is assigned to it there."""
    body = function_of(trace, loop) or trace.entry
    after = [each for each in contents(body).names if each.id == name and each.lineno > getattr(loop, "end_lineno", 0)]
    first = min(after, key=lambda each: (each.lineno, each.col_offset), default=None)
    return first if first is not None and isinstance(first.ctx, ast.Load) else None
