"""States and models that a loop keeps as the best so far, and that are used after it, changed by the last step."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial

from gradpath.findings.syntax import LOOPS, ancestry, function_of
from gradpath.interpreter.events import Bound, Site, Stepped
from gradpath.interpreter.ownership import Given, Named, Taken
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents, names_of, pairs_of
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class BestState:
    """What was kept at `site`, as something was the best so far, a later `step`, and the place that `reads` it.

    It is a state, or the model itself by another name, if that is its `model`.
    """

    site: Site
    step: Stepped
    reads: Site
    model: str = ""


def best_states(trace: Trace) -> Iterator[BestState]:
    """The states that a variable keeps if something is the best so far, as in `if loss < best: best = loss`.

    Each later step changes them. What is written out in the branch itself is right.
    """
    for taken in trace.of(Taken):
        kept = _kept(trace, taken.site, partial(_holds_state, state=taken.site.node))
        if kept is not None:
            yield from _changed(trace, taken.owner, taken.site, *kept)
    for owner, site in _renamed(trace):
        match site.node:
            case ast.Assign(value=ast.Name(id=model)):
                kept = _kept(trace, site, partial(_is_name, name=model))
                if kept is not None and _is_trained_in(kept[0], model):
                    yield from _changed(trace, owner, site, *kept, model)


def _renamed(trace: Trace) -> Iterator[tuple[object, Site]]:
    """What may be models, with the places where they are bound to variables."""
    yield from ((each.module, each.site) for each in trace.of(Named))
    yield from ((each.value, each.site) for each in trace.of(Bound) if each.tensor is None and not each.is_plain)


def _is_name(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Name) and value.id == name


def _is_trained_in(loop: ast.AST, model: str) -> bool:
    """True if a loop calls something, and gives its variable no other value: else each round may have its own."""
    inside = contents(loop)
    stored = any(each.id == model and isinstance(each.ctx, ast.Store) for each in inside.names)
    return not stored and any(_is_name(call.func, model) for call in inside.calls)


def _changed(trace: Trace, owner: object, site: Site, loop: ast.AST, name: str, model: str = "") -> Iterator[BestState]:
    """What is kept, if a step changes it, and if it is used after the loop."""
    step = next((each for each in trace.of(Stepped) if _changes(trace, each, owner, site)), None)
    reads = _read_after(trace, loop, name)
    if step is not None and reads is not None:
        yield BestState(site, step, replace(site, node=reads), model)


def _kept(trace: Trace, site: Site, holds: Callable[[ast.expr], bool]) -> tuple[ast.AST, str] | None:
    """The outermost loop in which something is kept if another is better than before, and the variable for it."""
    around = ancestry(trace, site.node)
    function = function_of(trace, site.node)
    inside = around[around.index(function) + 1 :] if function in around else around
    loop = next((each for each in inside if isinstance(each, LOOPS)), None)
    test = next((each for each in reversed(inside) if isinstance(each, ast.If)), None)
    if loop is None or test is None or isinstance(test.body[-1], ast.Break | ast.Return | ast.Raise):
        return None
    bound = dict(_bindings(test))
    state = next((name for name, value in bound.items() if holds(value)), None)
    compared = names_of(test.test) & (bound.keys() - {state})
    return (loop, state) if state is not None and compared else None


def _bindings(test: ast.If) -> Iterator[tuple[str, ast.expr]]:
    """What the branch of a condition assigns to variables, one by one."""
    for target, value in (pair for each in test.body for pair in pairs_of(each)):
        if isinstance(target, ast.Name):
            yield target.id, value


def _holds_state(value: ast.expr, state: ast.AST) -> bool:
    """True if a value is a state itself, a shallow copy of its dict, or a dict or a tuple that holds it."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
            return _holds_state(inner, state)
        case ast.Call(func=ast.Name(id="dict"), args=[inner], keywords=[]):
            return _holds_state(inner, state)
        case ast.Dict(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_holds_state(each, state) for each in parts)
    return value is state


def _changes(trace: Trace, step: Stepped, owner: object, site: Site) -> bool:
    """True if a step runs in the loop that keeps something of a model, its `owner`, and may change that."""
    loops = {number for number, _ in site.loops}
    if not any(number in loops for number, _ in step.site.loops):
        return False
    given = [each for each in trace.of(Given) if each.optimizer is step.optimizer]
    named = next((each for each in trace.of(Named) if each.module is owner), None)
    if named is not None:
        own = {id(tensor) for _, tensor in named.parameters()}
        own |= {id(part) for part in named.module.unknown_parts()}
        return any(id(each) in own for each in (*step.updated, *(one for each in given for one in each.models)))
    return not given or any(not each.known or any(one is owner for one in each.models) for each in given)


def _read_after(trace: Trace, loop: ast.AST, name: str) -> ast.AST | None:
    """The first use of a variable after a loop, if nothing else is assigned to it there."""
    body = function_of(trace, loop) or trace.entry
    after = [each for each in contents(body).names if each.id == name and each.lineno > getattr(loop, "end_lineno", 0)]
    first = min(after, key=lambda each: (each.lineno, each.col_offset), default=None)
    return first if first is not None and isinstance(first.ctx, ast.Load) else None
