"""Ways to keep the graph of one iteration out of the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.graphs import is_freed, is_from_outside
from gradpath.findings.stories import stepped_since, trains_nothing
from gradpath.findings.syntax import call_of, statement_of
from gradpath.findings.trained import trained_next, trains_nothing_upstream
from gradpath.fixes import edits
from gradpath.fixes.detachment import detached_where_read, detachments
from gradpath.fixes.forgetting import computed_each_time, emptied, forgotten, holds_terms
from gradpath.fixes.optimizer_fixes import parameter_of_result
from gradpath.fixes.out_of_place import projected
from gradpath.fixes.recomputation import Need, computed_where_read, recomputations
from gradpath.interpreter.trace import Cleared, Stepped
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import replace


def fixes_for(case: Case) -> Iterator[Fix]:
    """The fixes of a case, best first."""
    if case.from_outside:
        yield from _of_one_graph(case)
        return
    terms = case.container is not None and holds_terms(case)
    if terms:
        yield from emptied(case)
    cached = bool(case.carried) and case.carried[0].cached
    if case.container is None and case.carried:
        yield from computed_each_time(case)
        yield from forgotten(case) if cached else projected(case)
    if not cached and trained_next(case.trace, case.again, case.kept):
        yield from _added_up(case)
    yield from (replace(each, truncates=True) for each in detachments(case.crossing))
    if case.container is not None and not terms:
        yield from emptied(case)
    if not _is_touched(case) and isinstance(case.loop, ast.For):
        yield from retaining(case)


def _of_one_graph(case: Case) -> Iterator[Fix]:
    """Where each iteration needs the one graph that was built before the loop."""
    if case.all_from_outside:
        yield from (*_added_up(case), *retaining(case), *recomputations(_need(case)))
        return
    named = [each.bound for each in case.carried if each.bound is not None]
    remade = [fix for each in named for fix in parameter_of_result(case.trace, case.source, each)]
    yield from remade
    entrance = [] if remade else list(detached_where_read(case.crossing))
    first = is_border(case) or trains_nothing(case.trace, case.first, case.earlier)
    yield from entrance if first else ()
    one_by_one = not _has(case, Stepped) and (_only_asks(case) or _is_touched(case))
    if one_by_one:
        yield from retaining(case)
    yield from recomputations(_need(case))
    yield from computed_where_read(case.trace, case.source, case.first)
    yield from _added_up(case)
    if not one_by_one and not _is_touched(case):
        yield from retaining(case)
    yield from () if first else entrance


def is_border(case: Case) -> bool:
    """True if the step that follows the call changes nothing upstream of the old graph."""
    return trains_nothing_upstream(case.trace, case.crossing.entered, case.again, case.kept)


def _is_touched(case: Case) -> bool:
    """True if the loop steps or clears gradients, so that its backwards cannot be put off."""
    return _has(case, Stepped, Cleared)


def _has(case: Case, *kinds: type[Stepped] | type[Cleared]) -> bool:
    """True if the loop has an event of one of these kinds."""
    return any(
        isinstance(event, kinds) and any(number == case.number for number, _ in event.site.loops)
        for event in case.trace.events
    )


def _added_up(case: Case) -> Iterator[Fix]:
    """`loss.backward()` in the loop becomes `total_loss = total_loss + loss`, and one backward follows the loop."""
    statement, loop, document = statement_of(case.trace, case.again.node), case.loop, _document(case)
    match loop, statement:
        case (
            ast.For() | ast.AsyncFor() | ast.While(),
            ast.Expr(value=ast.Call(func=ast.Attribute(value=loss), args=[], keywords=[])),
        ) if not _is_touched(case):
            pass
        case _:
            return
    name = next(each for each in ("total_loss", "summed_loss", "loss_of_all") if each not in document.text)
    start = edits.insert_before(document, loop, f"{name} = 0")
    text = f"{name} = {name} + {edits.flat(document, loss)}"
    end = edits.insert_after(document, loop, f"{name}.backward()")
    repair = Repair(Way.SUM_AFTER_LOOP, lines=(loop.lineno,))
    yield from Fix.of(repair, Safety.SAFE, start, edits.replace(document, statement, text), end, rewrite=True)


def retaining(case: Case) -> Iterator[Fix]:
    """`retain_graph=True`, preferred where the graph was built before the loop, so that it does not grow."""
    call = call_of(case.trace, case.again.node)
    edit = None if call is None else edits.add_keyword(_document(case), call, "retain_graph", "True")
    is_one = case.from_outside or is_from_outside(case.node, case.again, case.number)
    yield from Fix.of(Repair(Way.RETAIN_IN_LOOP, lines=(case.again.line,)), Safety.SAFE, edit, eligible=is_one)


def _only_asks(case: Case) -> bool:
    """True if the call gives gradients back instead of adding them up: `torch.autograd.grad`."""
    call = call_of(case.trace, case.again.node)
    return call is not None and isinstance(call.func, ast.Attribute) and call.func.attr == "grad"


def _need(case: Case) -> Need:
    """What was built before the loop, and is needed in each iteration of it."""
    steps = [each.site for each in stepped_since(case.trace, case.earlier)]
    uses = (case.turn, *(each.place for each in case.carried[:1]))
    return Need(case.trace, case.source, (case.first,), is_freed, case.again, tuple(steps[-1:]), bool(steps), uses)


def _document(case: Case) -> Document:
    return case.source.document(case.again)
