"""Ways to give a second backward a graph of its own, or to do without it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from gradpath.autograd.tensor import BackwardCall
from gradpath.diagnostic import Fix, Safety
from gradpath.findings import second_calls
from gradpath.findings.graphs import nodes_of
from gradpath.findings.second_calls import Case
from gradpath.findings.stories import same_activation, short_operation, since, stepped_since
from gradpath.findings.syntax import block_of, call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.detachment import detached_where_read, detachments
from gradpath.fixes.moving import removed
from gradpath.fixes.recomputation import Need, computed_where_read, recomputations
from gradpath.interpreter.trace import Built, Cleared, Site, Stepped
from gradpath.repairs import Repair, Transformation, Way
from gradpath.source.index import holds
from gradpath.support.fast_dataclasses import replace


def fixes_for(case: Case) -> Iterator[Fix]:
    """The fixes of a case, best first; which of them leave all parameters learning is left to the trial."""
    yield from differentiable(case, measured=True)
    yield from _without_repeat(case)
    if not case.same_root:
        yield from detached_where_read(case.way_of_earlier)
        yield from detachments(case.crossing)
    again = list(recomputations(_need(case)))
    if case.same_place:
        yield from (fix for fix in again if fix.does(Transformation.MOVE))
    yield from _summed(case)
    yield from _kept(case)
    yield from differentiable(case, measured=False)
    if not case.same_place:
        yield from (replace(fix, eligible=case.is_updated or not case.same_root) for fix in again)
        yield from _started_anew(case)
    yield from computed_where_read(case.trace, case.source, case.shared)


def _without_repeat(case: Case) -> Iterator[Fix]:
    """An exact repeat goes."""
    if not case.same_root or case.same_place or case.is_updated:
        return
    statement = statement_of(case.trace, case.again.node)
    if isinstance(statement, ast.Expr):
        edit = removed(case.trace, case.source.document(case.again), statement)
        yield from Fix.of(Repair(Way.DELETE_SECOND), Safety.SAFE, edit)


def _kept(case: Case) -> Iterator[Fix]:
    """`retain_graph=True` on the first call, or on the one that hands its keyword arguments on to it."""
    before = _keeping_call(case)
    call = call_of(case.trace, before.node)
    edit = None if call is None else edits.add_keyword(case.source.document(before), call, "retain_graph", "True")
    doubles = case.same_root and case.earlier.accumulates
    repair = Repair(Way.RETAIN_TWICE if doubles else Way.RETAIN, lines=(before.line,))
    sure = all(step.known for step in stepped_since(case.trace, case.earlier))  # Else it may have changed what is kept.
    yield from Fix.of(repair, Safety.SAFE if sure else Safety.UNSAFE, edit, eligible=sure and not doubles)


def _keeping_call(case: Case) -> Site:
    """The first call, or the one that hands its keyword arguments on to it: `def backward(loss, **kwargs)`."""
    pair = second_calls.apart(case)
    call = call_of(case.trace, case.before.node)
    function = function_of(case.trace, case.before.node)
    passes = call is not None and any(each.arg is None for each in call.keywords)
    return pair[0] if pair is not None and passes and function is not None and function.args.kwarg else case.before


def _need(case: Case) -> Need:
    """What the first call has freed."""
    starts = nodes_of(case.call.roots) if case.call is not None else []
    steps = [each.site for each in stepped_since(case.trace, case.earlier)]
    spoilt = (case.before, *steps[-1:])
    return Need(case.trace, case.source, tuple(starts), case.is_spent, case.again, spoilt, case.is_updated)


def _started_anew(case: Case) -> Iterator[Fix]:
    """`loss = 0` again before the statement that goes on adding to a loss that was back-propagated already."""
    old = case.earlier.roots[0]
    block = block_of(case.trace, statement_of(case.trace, case.before.node))
    for event in case.trace.of(Built):
        adding = statement_of(case.trace, event.site.node)
        if not isinstance(adding, ast.AugAssign) or old not in event.operands or adding.lineno < case.before.line:
            continue
        name = edits.flat(case.source.document(case.again), adding.target)
        begun = [each for each in case.trace.visits if _is_start(each, name)]
        outer = next((each for each in block if holds(each, adding)), None)
        if begun and outer is not None:
            text = edits.flat(case.source.document(case.again), begun[-1])
            edit = edits.insert_before(case.source.document(case.again), outer, text)
            yield from Fix.of(Repair(Way.RESTART, (name,), (outer.lineno,), text), Safety.SAFE, edit)
        return


def _is_start(statement: ast.AST, name: str) -> TypeGuard[ast.Assign]:
    """True if a statement gives a variable a constant number."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Constant(value=int() | float())):
            return bound == name
    return False


def _summed(case: Case) -> Iterator[Fix]:
    """`a.backward()` and `b.backward()` in one block become `(a + b).backward()` at the place of the second."""
    pair = second_calls.apart(case)
    if case.same_root or pair is None or case.is_updated or not same_activation(*pair):
        return
    if any(isinstance(event, (Stepped, Cleared)) for event in since(case.trace, case.earlier)):
        return  # The gradients of the first are used, or thrown away, before those of the second come.
    first, second = (_summand(case, each) for each in pair)
    one, two = (statement_of(case.trace, each.node) for each in pair)
    beside = any(each is two for each in block_of(case.trace, one))
    if first is None or second is None or first[1:] != second[1:] or not beside:
        return
    document = case.source.document(case.again)
    left, right = edits.flat(document, first[0]), edits.flat(document, second[0])
    if left != right:
        text = f"{first[1]}{left} + {f'({right})' if isinstance(second[0], ast.BinOp) else right}{first[2]}"
        gone, new = edits.delete_but_comment(document, one), edits.replace(document, two, text)
        yield from Fix.of(Repair(Way.SUM_TWO, text=text), Safety.SAFE, gone, new)


def _summand(case: Case, site: Site) -> tuple[ast.expr, str, str] | None:
    """The loss of a `loss.backward()` or `accelerator.backward(loss)`, and what stands before and after it there."""
    match call_of(case.trace, site.node):
        case ast.Call(func=ast.Attribute(attr="backward", value=loss), args=[], keywords=[]):
            return loss, "(", ").backward()"
        case ast.Call(func=ast.Attribute(attr="backward" | "manual_backward") as asked, args=[loss], keywords=[]):
            if isinstance(loss, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp)):
                return loss, f"{edits.flat(case.source.document(site), asked)}(", ")"
    return None


_FLAT = frozenset({"sign", "sgn", "round", "floor", "ceil", "argmax", "argmin"})
"""What has no slope: a gradient that goes through these is a direction, and nobody differentiates it."""

_JOINS = frozenset({"add", "add_", "sub", "sub_", "rsub", "cat", "concat", "stack", "hstack", "vstack"})
"""Operations in which a gradient stays a term of its own beside what has a graph; with others it is a weight or an
input, and may well be constant on purpose.
"""


def differentiable(case: Case, *, measured: bool) -> Iterator[Fix]:
    """`create_graph=True` on a call that only asks for gradients, which are constants without it.

    Safe where the second one goes back from a loss that measures them, such as the penalty of a critic, the derivative
    in a differential equation, the forces of a potential.
    """
    call = call_of(case.trace, case.before.node)
    if call is None or case.earlier.accumulates or measured is not (case.call is not None and _measures(case.call)):
        return
    edit = edits.add_keyword(case.source.document(case.before), call, "create_graph", "True")
    yield from Fix.of(Repair(Way.CREATE, lines=(case.before.line,)), Safety.SAFE if measured else Safety.UNSAFE, edit)


def _measures(call: BackwardCall) -> bool:
    """True if a root is computed from the gradient, which stays a term of its own on the way."""
    todo, seen = list(call.roots), set[int]()
    while todo:
        tensor = todo.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if tensor.operation == "gradient":
            return True
        short = short_operation(tensor.operation)
        live = [each for each in tensor.maker if each.requires_grad]
        if short in _JOINS or short.endswith("loss"):
            todo.extend(tensor.maker)
        elif short not in _FLAT and not any(each.is_parameter for each in tensor.maker):
            todo.extend(live if live else tensor.maker)
    return False
