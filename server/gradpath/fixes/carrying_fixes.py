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
from gradpath.fixes.caching_fixes import computed_each_time
from gradpath.fixes.container_fixes import emptied, forgotten, holds_terms, started_anew
from gradpath.fixes.detachment import detached_where_read, detachments
from gradpath.fixes.in_place_updates import projected
from gradpath.fixes.method_fixes import computed_where_read
from gradpath.fixes.recomputation import Need, recomputations
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
        yield from (*started_anew(case), *emptied(case))
    cached = bool(case.carried) and case.carried[0].cached
    if case.container is None and case.carried:
        yield from computed_each_time(case)
        yield from forgotten(case) if cached else projected(case)
    if not cached and not _is_touched(case) and trained_next(case.trace, case.again, case.kept):
        yield from _added_up(case)
    yield from (replace(each, truncates=True) for each in detachments(case.crossing))
    if case.container is not None and not terms:
        yield from (*started_anew(case), *emptied(case))
    if not _is_touched(case) and isinstance(case.loop, ast.For):
        yield from retaining(case)


def _of_one_graph(case: Case) -> Iterator[Fix]:
    """Where each iteration needs the one graph that was built before the loop."""
    if case.all_from_outside:
        yield from (*_one_call(case), *retaining(case), *recomputations(_need(case)))
        return
    entrance = list(detached_where_read(case.crossing))
    if trains_nothing(case.trace, case.first, case.earlier):
        yield from entrance
    one_by_one = not _steps(case) and (_only_asks(case) or _is_touched(case))
    if one_by_one:
        yield from retaining(case)
    border = is_border(case)
    yield from entrance if border else ()
    yield from recomputations(_need(case))
    yield from computed_where_read(case.trace, case.source, case.first)
    if not _is_touched(case):
        yield from _added_up(case)
        yield from () if one_by_one else retaining(case)
    yield from () if border else entrance


def is_border(case: Case) -> bool:
    """True if the step that follows the call changes nothing upstream of the old graph."""
    return trains_nothing_upstream(case.trace, case.crossing.entered, case.again, case.kept)


def _one_call(case: Case) -> Iterator[Fix]:
    """`for loss in losses: loss.backward()` becomes `sum(losses).backward()`; what else the loop does stays in it."""
    loop = case.loop
    call = call_of(case.trace, case.again.node)
    if not isinstance(loop, ast.For) or call is None:
        return
    own = next((each for each in loop.body if isinstance(each, ast.Expr) and each.value is call), None)
    document = case.source.document(case.again)
    losses = _gone_through(document, loop, call)
    if own is None or losses is None:
        return
    text = f"sum({losses}).backward()"
    if len(loop.body) == 1:
        repair = Repair(Way.SUM_ONCE, text=text)
        yield Fix.by(repair, Safety.SAFE, (edits.replace(document, loop, text),))
        return
    inside = [event for event in case.trace.of(Cleared) if any(number == case.number for number, _ in event.site.loops)]
    new, gone = edits.insert_before(document, loop, text), edits.delete_statement(document, own)
    if not inside:
        repair = Repair(Way.SUM_BEFORE_LOOP, text=text)
        yield from Fix.of(repair, Safety.SAFE, new, gone, rewrite=True)


def _gone_through(document: Document, loop: ast.For, call: ast.Call) -> str | None:
    """What `loss.backward()` runs over: `losses` of `for loss in losses`, of `for loss, opt in zip(losses, opts)`."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=loss)):
            pass
        case _:
            return None
    match loop.target, loop.iter:
        case ast.Name(id=target), every if target == loss:
            return edits.flat(document, every)
        case ast.Tuple(elts=[_, ast.Name(id=target)]), ast.Call(func=ast.Attribute(attr="items", value=owner)):
            return f"{edits.flat(document, owner)}.values()" if target == loss else None
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=given, keywords=[]):
            pairs = zip(targets, given, strict=False)
            found = [arg for each, arg in pairs if isinstance(each, ast.Name) and each.id == loss]
            return edits.flat(document, found[0]) if found else None
    return None


def _is_touched(case: Case) -> bool:
    """True if the loop steps or clears gradients, so that its backwards cannot be put off."""
    return any(
        isinstance(event, (Stepped, Cleared)) and any(number == case.number for number, _ in event.site.loops)
        for event in case.trace.events
    )


def _steps(case: Case) -> bool:
    """True if the loop steps: a graph that was built before it is then out of date."""
    return any(number == case.number for event in case.trace.of(Stepped) for number, _ in event.site.loops)


def _added_up(case: Case) -> Iterator[Fix]:
    """`loss.backward()` in the loop becomes `total_loss = total_loss + loss`, and one backward follows the loop."""
    statement, loop, document = statement_of(case.trace, case.again.node), case.loop, _document(case)
    match loop, statement:
        case (
            ast.For() | ast.AsyncFor() | ast.While(),
            ast.Expr(value=ast.Call(func=ast.Attribute(value=loss), args=[], keywords=[])),
        ):
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
