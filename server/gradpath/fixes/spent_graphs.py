"""A backward through a graph that an earlier one has freed: it gets one of its own, or the program does without it.

What is tried comes in the order of its cost; which of it leaves all parameters learning is left to the trial.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings import carrying, second_calls
from gradpath.findings.carrying import Case, appended_to
from gradpath.findings.definitions import defining_expressions, given_to
from gradpath.findings.graphs import is_drawn, is_freed, is_from_outside, leaves, nodes_of, reach, terms_of
from gradpath.findings.stories import same_activation, since, stepped_since
from gradpath.findings.syntax import Compound, Definition, ancestry, block_of, call_of, function_of, statement_of
from gradpath.findings.trained import trained_next, trains_nothing, trains_nothing_upstream
from gradpath.fixes import edits
from gradpath.fixes.detachment import detached_where_kept, detached_where_read, detachments, living
from gradpath.fixes.moving import removed, repair_of
from gradpath.fixes.out_of_place import projected
from gradpath.fixes.recomputation import Need, computed_where_read, recomputations
from gradpath.fixes.substitution import applied_last
from gradpath.interpreter.events import Built, Cleared, Kept, Site, Stepped
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, holds, methods_called, stored_names, variables
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import replace


def holds_terms(case: Case) -> bool:
    """True if what the list keeps are terms of a loss, back-propagated already, and not needed any more."""
    zone = terms_of(nodes_of(case.earlier.roots))
    return all(each.node in zone or any(each.node in node.edges for node in zone) for each in case.carried)


def emptied(case: Case) -> Iterator[Fix]:
    """`losses.clear()` at the start of each iteration, or after the backward."""
    container = case.container
    if container is None or not same_activation(container[0], case.again):
        return
    document, last = case.source.document(case.again), statement_of(case.trace, case.again.node)
    name, here = edits.flat(document, container[1]), function_of(case.trace, case.loop) is function_of(case.trace, last)
    others = _filled_beside(case, name)
    names, last_line = (name, *others), case.loop.end_lineno or case.loop.lineno
    later = (each for code in case.trace.visits if getattr(code, "lineno", 0) > last_line for each in variables(code))
    kept = any(ast.unparse(each) in others for each in later)
    safety = Safety.SAFE if holds_terms(case) and not kept else Safety.UNSAFE
    lines = [f"{each}.clear()" for each in names]
    if here:
        start = edits.insert_before(document, case.loop.body[0], *lines)
        yield from Fix.of(Repair(Way.EMPTY_AT_START, names), safety, start)
    elif _is_window(case, name.rpartition(".")[2]):
        return
    end = edits.insert_after(document, last, *lines)
    yield from Fix.of(Repair(Way.EMPTY_AFTER, names, (case.again.line,)), safety, end)


def _filled_beside(case: Case, name: str) -> list[str]:
    """The other lists than `name` that the loss is computed from, and that nothing empties, by their names."""
    trace, document, filled = case.trace, case.source.document(case.again), set(appended_to(case.trace))
    match call_of(trace, case.again.node):
        case ast.Call(func=ast.Attribute(value=root, attr="backward")):
            made = defining_expressions(trace, document, root)
        case _:
            return []
    found = {ast.unparse(each): each for expression in made for each in variables(expression)}
    goes_on = {text: last_name(each) in filled and not _is_begun(case, each) for text, each in found.items()}
    return [text for text, open in goes_on.items() if open and text != name]


def _is_begun(case: Case, variable: ast.Name | ast.Attribute) -> bool:
    """True if the program begins a list again in each iteration, or empties it."""
    begun = (each for each in given_to(case.trace, ast.unparse(variable)) if isinstance(each, ast.List))
    deleted = (target for each in case.trace.visits if isinstance(each, ast.Delete) for target in each.targets)
    emptied = [each.value for each in deleted if isinstance(each, ast.Subscript)]
    emptied += [each for code in case.trace.visits for each, how, _ in methods_called(code) if how == "clear"]
    is_emptied = last_name(variable) in map(last_name, emptied)
    return is_emptied or any(holds(case.loop, each) for each in begun) or case.is_fresh(case.again, variable)


def _is_window(case: Case, name: str) -> bool:
    """True if the program itself takes old items out of a container, so that the others are meant to stay."""
    calls = [call for each in case.trace.visits for call in contents(each).calls]
    taken = (ast.unparse(each) for call in calls for each, how, _ in methods_called(call) if how in ("pop", "popleft"))
    return any(each.endswith(name) for each in taken) or any(k.arg == "maxlen" for each in calls for k in each.keywords)


def forgotten(case: Case) -> Iterator[Fix]:
    """`model.cache = None`, `model.cache.clear()` or `del model.cache` after the backward.

    Which of them makes the program compute the value again is left to the trial.
    """
    for frame in case.again.frames():
        if case.number not in dict(frame.loops):
            return
        found = next(iter(living(case.crossing, frame)), [])
        statement = statement_of(case.trace, frame.node)
        if not found or isinstance(statement, (ast.Return, Compound)):
            continue
        for emptying in _EMPTYING:
            made = {emptying.format(each.text, owner): each.text for each, owner in _owners(found, emptying)}
            edit = edits.insert_after(case.source.document(frame), statement, *made) if made else None
            names, text = tuple(made.values()), next(iter(made)) if len(made) == 1 else ""
            repair = Repair(Way.FORGET_AFTER, names, (statement.end_lineno or statement.lineno,), text)
            yield from Fix.of(repair, Safety.SAFE, edit)
        return


def _owners(found: Sequence[Kept], emptying: str) -> Iterator[tuple[Kept, str]]:
    """What is to be forgotten, each with the container that it is an item of, or is; a tensor is none."""
    for each in found:
        if "[" in each.text or "{1}" not in emptying or each.form.kind not in ("tensor", "detachable"):
            yield each, each.text.partition("[")[0]


_EMPTYING = ("{0} = None", "{1}.clear()", "del {0}")
"""What may make a value that is to be computed what it began as."""


def computed_each_time(case: Case) -> Iterator[Fix]:
    """`@lru_cache` or `with parametrize.cached():` goes from what is needed again; `cached_property` changes."""
    safety = Safety.UNSAFE if any(is_drawn(node.name) for node in reach([case.first])) else Safety.SAFE
    for frame in case.first.site.frames():
        document = case.source.document(frame)
        for block in ancestry(case.trace, frame.node):
            match block:
                case ast.With(items=[ast.withitem(context_expr=ast.Call(func=asked))]) if last_name(asked) == "cached":
                    text = f"with {edits.flat(document, asked)}():"
                    repair = Repair(Way.EACH_CALL, (case.source.short(frame),), (block.lineno,), text)
                    yield from Fix.of(repair, safety, edits.unwrap_block(document, block))
        match function_of(case.trace, frame.node):
            case ast.FunctionDef(name=name, decorator_list=[memory, *_]):
                named = last_name(memory.func if isinstance(memory, ast.Call) else memory)
                if named == "cached_property":
                    repair = Repair(Way.EACH_TIME, (name,), (memory.lineno,), "@property")
                    yield Fix.by(repair, safety, (edits.replace(document, memory, "property"),))
                elif named in ("lru_cache", "cache"):
                    lines = Range(Position(memory.lineno, 1), Position((memory.end_lineno or memory.lineno) + 1, 1))
                    repair = Repair(Way.EACH_CALL, (name,), (memory.lineno,), f"@{edits.flat(document, memory)}")
                    yield Fix.by(repair, safety, (Edit(document.path, lines, ""),))


_Case = carrying.Case | second_calls.Case


def in_one_run(case: second_calls.Case) -> Iterator[Fix]:
    """The fixes of two calls in one iteration, best first."""
    yield from differentiable(case)
    yield from _without_repeat(case)
    if not case.same_root:
        known = bool(leaves(case.earlier.roots))  # Else nothing tells what either call is to train.
        for fix in (*detached_where_read(case.way_of_earlier), *detachments(case.crossing)):
            yield fix if known else replace(fix, safety=Safety.UNSAFE, eligible=False)
    starts = nodes_of(case.call.roots) if case.call is not None else []
    yield from _computed_again(case, starts, case.is_spent, updated=case.is_updated)
    yield from _summed(case)
    doubles, pair = case.same_root and case.earlier.accumulates, second_calls.apart(case)
    call = call_of(case.trace, case.before.node)
    passes = call is not None and any(each.arg is None for each in call.keywords)  # `def backward(loss, **kwargs)`
    keeping = pair[0] if pair is not None and passes else case.before
    way, safety = Way.RETAIN_TWICE if doubles else Way.RETAIN, Safety.UNSAFE if case.is_updated else Safety.SAFE
    yield from retaining(case, keeping, way, safety, eligible=not (doubles or case.is_updated))
    yield from _begun_again(case)
    yield from computed_where_read(case.trace, case.source, case.shared)


def in_a_loop(case: carrying.Case) -> Iterator[Fix]:
    """The fixes of two calls in different iterations, best first."""
    cached, steps = bool(case.carried) and case.carried[0].cached, _has(case, Stepped)
    if case.from_outside:
        named = [each.bound for each in case.carried if each.bound is not None]
        made = partial(applied_last, maker="Parameter", way=Way.PARAMETER_OF_RESULT)
        remade = [fix for each in named for fix in made(case.trace, case.source, each.site)]
        entrance: list[Fix] = []
        if not (remade or case.all_from_outside):
            entrance = [*detached_where_read(case.crossing)] or [*detached_where_kept(case.crossing, early=True)]
        first = is_border(case) or trains_nothing(case.trace, case.first, case.earlier)
        updated = bool(stepped_since(case.trace, case.earlier))
        again = [*_computed_again(case, [case.first], is_freed, updated=updated)]
        again += computed_where_read(case.trace, case.source, case.first)
        sums = [*_added_up(case)]
        kept = [*sums, *(retained_in_loop(case) if case.all_from_outside or not steps else ())]
        late = case.all_from_outside or not (steps or sums)
        yield from (*remade, *(entrance if first else ()), *(kept if late else again), *(again if late else kept))
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


def _computed_again(
    case: _Case, starts: Sequence[Node], is_old: Callable[[Node], bool], *, updated: bool
) -> Iterator[Fix]:
    """What the first call has freed is built again, or later."""
    steps = [each.site for each in stepped_since(case.trace, case.earlier)][-1:]
    spoilt, uses = (case.before, *steps), tuple[Site, ...]()
    if isinstance(case, carrying.Case):
        spoilt, uses = tuple(steps), (case.turn, *(each.place for each in case.carried[:1]))
    yield from recomputations(Need(case.trace, case.source, tuple(starts), is_old, case.again, spoilt, updated, uses))


def _begun_again(case: second_calls.Case) -> Iterator[Fix]:
    """What begins a sum, `loss = 0`, runs again before the statement that goes on from what was back-propagated."""
    document, block = case.source.document(case.again), block_of(case.trace, statement_of(case.trace, case.before.node))
    added = (each.site.node for each in case.trace.of(Built) if case.earlier.roots[0] in each.operands)
    later = (each for each in (statement_of(case.trace, node) for node in added) if each.lineno >= case.before.line)
    for adding in [each for each in later if isinstance(each, ast.AugAssign)][:1]:
        begun = [each for each in given_to(case.trace, ast.unparse(adding.target)) if isinstance(each, ast.Constant)]
        first = [each for each in map(partial(statement_of, case.trace), begun[-1:]) if len(stored_names(each)) < 2]
        for outer in (each for each in block if first and holds(each, adding)):
            new = edits.relocated(document, first, partial(edits.insert_before, document, outer), again=True)
            yield from Fix.of(repair_of(Way.AGAIN_BEFORE, first, near=outer.lineno), Safety.SAFE, new)


def _without_repeat(case: second_calls.Case) -> Iterator[Fix]:
    """An exact repeat goes."""
    statement = statement_of(case.trace, case.again.node)
    if case.same_root and not (case.same_place or case.is_updated) and isinstance(statement, ast.Expr):
        edit = removed(case.trace, case.source.document(case.again), statement)
        yield from Fix.of(Repair(Way.DELETE_SECOND), Safety.SAFE, edit)


def _summed(case: second_calls.Case) -> Iterator[Fix]:
    """`a.backward()` and `b.backward()` in one block become `(a + b).backward()` at the place of the second.

    So do `accelerator.backward(a)` and `accelerator.backward(b)`.
    """
    pair, document = second_calls.apart(case), case.source.document(case.again)
    if pair is None or not same_activation(*pair):
        return
    one, two = (statement_of(case.trace, each.node) for each in pair)
    beside = any(each is two for each in block_of(case.trace, one))
    between = case.is_updated or any(isinstance(event, Cleared) for event in since(case.trace, case.earlier))
    match [call_of(case.trace, each.node) for each in pair]:
        case [
            ast.Call(func=ast.Attribute(attr="backward", value=left), args=[], keywords=[]),
            ast.Call(func=ast.Attribute(attr="backward", value=right), args=[], keywords=[]),
        ]:
            head, tail = "(", ").backward()"
        case [
            ast.Call(func=ast.Attribute(attr="backward" | "manual_backward"), args=[left], keywords=[]),
            ast.Call(func=ast.Attribute(attr="backward" | "manual_backward") as asked, args=[right], keywords=[]),
        ]:
            head, tail = f"{edits.flat(document, asked)}(", ")"
        case _:
            return
    summand, other = edits.flat(document, left), edits.flat(document, right)
    if beside and not between and summand != other:
        text = f"{head}{summand} + {f'({other})' if isinstance(right, ast.BinOp) else other}{tail}"
        gone, new = edits.delete_but_comment(document, one), edits.replace(document, two, text)
        yield from Fix.of(Repair(Way.SUM_TWO, text=text), Safety.SAFE, gone, new)


def _added_up(case: carrying.Case) -> Iterator[Fix]:
    """`loss.backward()` in the loop becomes `total_loss = total_loss + loss`, and one backward follows the loop."""
    statement, loop, document = statement_of(case.trace, case.again.node), case.loop, case.source.document(case.again)
    if isinstance(loop, Definition) or _has(case, Stepped, Cleared):  # Else its backwards cannot be put off.
        return
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=loss), args=[], keywords=[])):
            name = next(each for each in ("total_loss", "summed_loss", "loss_of_all") if each not in document.text)
            start = edits.insert_before(document, loop, f"{name} = 0")
            new = edits.replace(document, statement, f"{name} = {name} + {edits.flat(document, loss)}")
            end = edits.insert_after(document, loop, f"{name}.backward()")
            repair = Repair(Way.SUM_AFTER_LOOP, lines=(loop.lineno,))
            yield from Fix.of(repair, Safety.SAFE, start, new, end, rewrite=True)


def retaining(case: _Case, at: Site, way: Way, safety: Safety = Safety.SAFE, *, eligible: bool = True) -> Iterator[Fix]:
    """`retain_graph=True` on a call."""
    call = call_of(case.trace, at.node)
    edit = None if call is None else edits.add_keyword(case.source.document(at), call, "retain_graph", "True")
    yield from Fix.of(Repair(way, lines=(at.line,)), safety, edit, eligible=eligible)


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
