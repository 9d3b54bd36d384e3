"""A backward through a graph that an earlier one has freed: it gets one of its own, or the program does without it.

What is tried comes in the order of its cost; which of it leaves all parameters learning is left to the trial.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Fix, Safety
from gradpath.findings import carrying, second_calls
from gradpath.findings.graphs import is_freed, is_from_outside, nodes_of
from gradpath.findings.stories import same_activation, since, stepped_since
from gradpath.findings.syntax import block_of, call_of, statement_of
from gradpath.findings.trained import trained_next, trains_nothing, trains_nothing_upstream
from gradpath.fixes import edits
from gradpath.fixes.detachment import detached_where_kept, detached_where_read, detachments
from gradpath.fixes.forgetting import computed_each_time, emptied, forgotten
from gradpath.fixes.moving import removed
from gradpath.fixes.optimizer_fixes import parameter_of_result
from gradpath.fixes.origins import given_to
from gradpath.fixes.out_of_place import projected
from gradpath.fixes.recomputation import Need, computed_where_read, recomputations
from gradpath.interpreter.events import Built, Cleared, Site, Stepped
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import holds
from gradpath.support.fast_dataclasses import replace

_Case = carrying.Case | second_calls.Case


def in_one_run(case: second_calls.Case) -> Iterator[Fix]:
    """The fixes of two calls in one iteration, best first."""
    yield from differentiable(case)
    yield from _without_repeat(case)
    if not case.same_root:
        yield from detached_where_read(case.way_of_earlier)
        yield from detachments(case.crossing)
    starts = nodes_of(case.call.roots) if case.call is not None else []
    yield from _computed_again(case, starts, case.is_spent, updated=case.is_updated)
    yield from _summed(case)
    doubles = case.same_root and case.earlier.accumulates
    yield from retaining(case, _keeping_call(case), Way.RETAIN_TWICE if doubles else Way.RETAIN, eligible=not doubles)
    yield from _started_again(case)
    yield from computed_where_read(case.trace, case.source, case.shared)


def in_a_loop(case: carrying.Case) -> Iterator[Fix]:
    """The fixes of two calls in different iterations, best first."""
    cached, steps = bool(case.carried) and case.carried[0].cached, _has(case, Stepped)
    if case.from_outside:
        named = [each.bound for each in case.carried if each.bound is not None]
        remade = [fix for each in named for fix in parameter_of_result(case.trace, case.source, each)]
        entrance: list[Fix] = []
        if not (remade or case.all_from_outside):
            entrance = [*detached_where_read(case.crossing)] or [*detached_where_kept(case.crossing, early=True)]
        first = is_border(case) or trains_nothing(case.trace, case.first, case.earlier)
        updated = bool(stepped_since(case.trace, case.earlier))
        again = [*_computed_again(case, [case.first], is_freed, updated=updated)]
        again += computed_where_read(case.trace, case.source, case.first)
        sums = list(_added_up(case))
        kept = [*sums, *(retained_in_loop(case) if case.all_from_outside or not steps else ())]
        yield from (*remade, *(entrance if first else ()))
        one_by_one = case.all_from_outside or not (steps or sums)
        yield from (*kept, *again) if one_by_one else (*again, *kept)
        yield from () if first else entrance
        return
    yield from emptied(case)
    if case.container is None and case.carried:
        yield from computed_each_time(case)
        yield from forgotten(case) if cached else projected(case)
    if not cached and trained_next(case.trace, case.again, case.kept):
        yield from _added_up(case)
    yield from (replace(each, truncates=True) for each in detachments(case.crossing))
    if isinstance(case.loop, ast.For) and not _has(case, Stepped, Cleared):
        yield from retained_in_loop(case)


def is_border(case: carrying.Case) -> bool:
    """True if the step that follows the call changes nothing upstream of the old graph."""
    return trains_nothing_upstream(case.trace, case.crossing.entered, case.again, case.kept)


def _has(case: carrying.Case, *kinds: type[Stepped] | type[Cleared]) -> bool:
    """True if the loop has an event of one of these kinds."""
    found = (event for kind in kinds for event in case.trace.of(kind))
    return any(number == case.number for event in found for number, _ in event.site.loops)


def _document(case: _Case) -> Document:
    return case.source.document(case.again)


# A graph of its own


def _computed_again(
    case: _Case, starts: Sequence[Node], is_old: Callable[[Node], bool], *, updated: bool
) -> Iterator[Fix]:
    """What the first call has freed is built again, or later."""
    steps = [each.site for each in stepped_since(case.trace, case.earlier)][-1:]
    spoilt, uses = (case.before, *steps), tuple[Site, ...]()
    if isinstance(case, carrying.Case):
        spoilt, uses = tuple(steps), (case.turn, *(each.place for each in case.carried[:1]))
    yield from recomputations(Need(case.trace, case.source, tuple(starts), is_old, case.again, spoilt, updated, uses))


def _started_again(case: second_calls.Case) -> Iterator[Fix]:
    """`loss = 0` again before the statement that goes on adding to a loss that was back-propagated already."""
    old, block = case.earlier.roots[0], block_of(case.trace, statement_of(case.trace, case.before.node))
    for event in case.trace.of(Built):
        adding = statement_of(case.trace, event.site.node)
        if not isinstance(adding, ast.AugAssign) or old not in event.operands or adding.lineno < case.before.line:
            continue
        name = ast.unparse(adding.target)
        begun = [each for each in given_to(case.trace, name) if isinstance(each, ast.Constant)]
        outer = next((each for each in block if holds(each, adding)), None)
        if begun and outer is not None:
            text = f"{name} = {edits.flat(_document(case), begun[-1])}"
            edit = edits.insert_before(_document(case), outer, text)
            yield from Fix.of(Repair(Way.RESTART, (name,), (outer.lineno,), text), Safety.SAFE, edit)
        return


# One call for all


def _without_repeat(case: second_calls.Case) -> Iterator[Fix]:
    """An exact repeat goes."""
    statement = statement_of(case.trace, case.again.node)
    if case.same_root and not (case.same_place or case.is_updated) and isinstance(statement, ast.Expr):
        edit = removed(case.trace, _document(case), statement)
        yield from Fix.of(Repair(Way.DELETE_SECOND), Safety.SAFE, edit)


def _summed(case: second_calls.Case) -> Iterator[Fix]:
    """`a.backward()` and `b.backward()` in one block become `(a + b).backward()` at the place of the second."""
    pair = second_calls.apart(case)
    if pair is None or not same_activation(*pair):
        return
    (one, left), (two, right) = ((statement_of(case.trace, each.node), _summand(case, each)) for each in pair)
    beside = any(each is two for each in block_of(case.trace, one))
    between = any(isinstance(event, Stepped | Cleared) for event in since(case.trace, case.earlier))
    if left is None or right is None or left[1:] != right[1:] or not beside or between:
        return
    summand, other = edits.flat(_document(case), left[0]), edits.flat(_document(case), right[0])
    if summand != other:
        text = f"{left[1]}{summand} + {f'({other})' if isinstance(right[0], ast.BinOp) else other}{left[2]}"
        gone, new = edits.delete_but_comment(_document(case), one), edits.replace(_document(case), two, text)
        yield from Fix.of(Repair(Way.SUM_TWO, text=text), Safety.SAFE, gone, new)


def _summand(case: second_calls.Case, site: Site) -> tuple[ast.expr, str, str] | None:
    """The loss of a `loss.backward()` or `accelerator.backward(loss)`, and what stands before and after it there."""
    match call_of(case.trace, site.node):
        case ast.Call(func=ast.Attribute(attr="backward", value=loss), args=[], keywords=[]):
            return loss, "(", ").backward()"
        case ast.Call(func=ast.Attribute(attr="backward" | "manual_backward") as asked, args=[loss], keywords=[]):
            if isinstance(loss, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp)):
                return loss, f"{edits.flat(case.source.document(site), asked)}(", ")"
    return None


def _added_up(case: carrying.Case) -> Iterator[Fix]:
    """`loss.backward()` in the loop becomes `total_loss = total_loss + loss`, and one backward follows the loop."""
    statement, loop, document = statement_of(case.trace, case.again.node), case.loop, _document(case)
    match loop, statement:
        case (
            ast.For() | ast.AsyncFor() | ast.While(),
            ast.Expr(value=ast.Call(func=ast.Attribute(value=loss), args=[], keywords=[])),
        ) if not _has(case, Stepped, Cleared):  # Else its backwards cannot be put off.
            pass
        case _:
            return
    name = next(each for each in ("total_loss", "summed_loss", "loss_of_all") if each not in document.text)
    start = edits.insert_before(document, loop, f"{name} = 0")
    text = f"{name} = {name} + {edits.flat(document, loss)}"
    end = edits.insert_after(document, loop, f"{name}.backward()")
    repair = Repair(Way.SUM_AFTER_LOOP, lines=(loop.lineno,))
    yield from Fix.of(repair, Safety.SAFE, start, edits.replace(document, statement, text), end, rewrite=True)


# The graph is kept


def retaining(case: _Case, at: Site, way: Way, *, eligible: bool = True) -> Iterator[Fix]:
    """`retain_graph=True` on a call."""
    call = call_of(case.trace, at.node)
    edit = None if call is None else edits.add_keyword(case.source.document(at), call, "retain_graph", "True")
    yield from Fix.of(Repair(way, lines=(at.line,)), Safety.SAFE, edit, eligible=eligible)


def _keeping_call(case: second_calls.Case) -> Site:
    """The first call, or the one that hands its keyword arguments on to it: `def backward(loss, **kwargs)`."""
    pair, call = second_calls.apart(case), call_of(case.trace, case.before.node)
    passes = call is not None and any(each.arg is None for each in call.keywords)
    return pair[0] if pair is not None and passes else case.before


def retained_in_loop(case: carrying.Case) -> Iterator[Fix]:
    """The same in a loop, preferred where the graph was built before it, so that it does not grow."""
    is_one = case.from_outside or is_from_outside(case.node, case.again, case.number)
    yield from retaining(case, case.again, Way.RETAIN_IN_LOOP, eligible=is_one)


def differentiable(case: second_calls.Case) -> Iterator[Fix]:
    """`create_graph=True` on a call that only asks for gradients, which are constants without it.

    Whether the loss measures the gradient, as a penalty does, or takes it for a weight, a person knows.
    """
    call = call_of(case.trace, case.before.node)
    if call is not None and not case.earlier.accumulates:
        edit = edits.add_keyword(case.source.document(case.before), call, "create_graph", "True")
        yield from Fix.of(Repair(Way.CREATE, lines=(case.before.line,)), Safety.UNSAFE, edit)
