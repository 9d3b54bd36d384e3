"""Ways to keep the graph of one iteration out of the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.interpreter.trace import Bound, Cleared, Held, Site, Stepped
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.assigned_fixes import assigned_alone
from gradpath.rules.caching_fixes import computed_each_time
from gradpath.rules.carrying import Carried, Case
from gradpath.rules.container_fixes import emptied, holds_terms, started_anew, stored_alone
from gradpath.rules.entrance_fixes import detached_at, trained_next, trains_nothing_behind
from gradpath.rules.graphs import is_drawn, is_from_outside, reach
from gradpath.rules.keeping_fixes import detached_where_kept, forgotten, value_alone
from gradpath.rules.method_fixes import computed_where_read
from gradpath.rules.moving import into_block
from gradpath.rules.projected_fixes import projected
from gradpath.rules.rebuilding import builders, written_again
from gradpath.rules.recomputing_fixes import recomputed
from gradpath.rules.stories import same_activation, short_operation, trains_nothing
from gradpath.rules.syntax import ancestry, call_of, function_of, joins, statement_of
from gradpath.source.document import Document
from gradpath.source.index import holds

_PARTS = frozenset({"index", "select", "slice", "narrow", "unbind", "split", "take", "squeeze"})
"""Operations that give a part of a tensor."""


def fixes_for(case: Case) -> Iterator[Fix]:  # noqa: PLR0915
    """The fixes of a case, best first."""
    if case.all_from_outside:
        yield from _one_call(case)
        yield from () if _steps(case) else retaining(case)
    elif case.from_outside:
        taken = taken_alone(case)
        if taken is not None:
            yield from _untrained(case, taken)
            return
        one_by_one = not _steps(case) and (_only_asks(case) or _is_touched(case) or _is_row(case))
        if one_by_one:
            yield from retaining(case)
        entrance = list(detached_at(case.trace, case.source, case.crossings, case.again, case.roots))
        border = is_border(case)
        yield from entrance if border else ()
        moved = [*_into_the_loop(case), *computed_where_read(case.trace, case.source, case.first)]
        if moved and not any(fix.safety is Safety.SAFE for fix in moved):
            yield from recomputed(case)
        yield from moved
        yield from _again_in_the_loop(case)
        if not _is_touched(case):
            yield from _added_up(case)
            yield from () if one_by_one else retaining(case)
        yield from () if border else entrance
    elif case.container is not None:
        fresh = [*started_anew(case), *emptied(case)]
        if holds_terms(case):
            yield from fresh
            yield from detached_where_kept(case)
        else:
            yield from list(stored_alone(case)) or detached_where_kept(case)
            yield from fresh
    elif case.carried and case.carried[0].cached:
        yield from computed_each_time(case)
        yield from forgotten(case)
        yield from _kept_detached(case)
        yield from detached_where_kept(case)
    elif case.carried:
        yield from computed_each_time(case)
        yield from projected(case)
        if not _is_touched(case) and trained_next(case.trace, case.again, case.kept):
            yield from _added_up(case)
        found = [*_own_loss(case), *detaching_fixes(case)] if case.carried[0].reads else []
        yield from (fix for fix in found if fix.safety is Safety.SAFE)
        if not any(fix.safety is Safety.SAFE for fix in found):
            crossings = case.crossings
            if not case.carried[0].reads:
                yield from stored_alone(case)
            yield from detached_where_kept(case)
            yield from detached_at(case.trace, case.source, crossings, case.again, case.roots)
        yield from assigned_alone(case.trace, case.source, [edge for _, edge in case.crossings])
        yield from (fix for fix in found if fix.safety is not Safety.SAFE)
    if not case.from_outside and not _is_touched(case) and isinstance(case.loop, ast.For):
        yield from retaining(case)


def is_border(case: Case) -> bool:
    """Whether the step that follows the call changes nothing upstream of the old graph."""
    return trains_nothing_behind(case.trace, [edge for _, edge in case.crossings], case.again, case.kept)


def _one_call(case: Case) -> Iterator[Fix]:
    """`for loss in losses: loss.backward()` becomes `sum(losses).backward()`; what else the loop does stays in it."""
    loop = case.loop
    call = call_of(case.trace, case.again.node)
    if not isinstance(loop, ast.For) or call is None or loop.orelse or call.args or call.keywords:
        return
    own = next((each for each in loop.body if isinstance(each, ast.Expr) and each.value is call), None)
    document = case.source.document(case.again)
    losses = _gone_through(document, loop, call)
    if own is None or losses is None:
        return
    text = f"sum({losses}).backward()"
    if len(loop.body) == 1:
        repair = Repair(Way.SUM_ONCE, text=text)
        yield Fix.by(repair, Safety.SAFE, (edits.replace(document, loop, text),), preferred=True)
        return
    inside = [event for event in case.trace.of(Cleared) if any(number == case.number for number, _ in event.site.loops)]
    new, gone = edits.insert_before(document, loop, text), edits.delete_statement(document, own)
    if not inside and new is not None and gone is not None:
        repair = Repair(Way.SUM_BEFORE_LOOP, text=text)
        yield Fix.by(repair, Safety.SAFE, (new, gone), preferred=True, rewrite=True)


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
        case ast.Tuple(elts=[_, ast.Name(id=target)]), ast.Call(func=ast.Name(id="enumerate"), args=[every]):
            return edits.flat(document, every) if target == loss else None
        case ast.Tuple(elts=[_, ast.Name(id=target)]), ast.Call(func=ast.Attribute(attr="items", value=owner)):
            return f"{edits.flat(document, owner)}.values()" if target == loss else None
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=given, keywords=[]):
            pairs = zip(targets, given, strict=False)
            found = [arg for each, arg in pairs if isinstance(each, ast.Name) and each.id == loss]
            return edits.flat(document, found[0]) if len(found) == 1 and len(targets) == len(given) else None
        case _:
            return None


def _own_loss(case: Case) -> Iterator[Fix]:
    """`total = total + loss; total.backward()` becomes `loss.backward()`."""
    carried = case.carried[0]
    call = call_of(case.trace, case.again.node)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
        return
    if not _goes_back_each_time(case):
        return  # The total gathers the losses of several iterations on purpose.
    statement = statement_of(case.trace, carried.use.node)
    if not same_activation(carried.use, case.again) or edits.flat(_document(case), call.func.value) != carried.name:
        return
    match statement:
        case ast.AugAssign(op=ast.Add(), value=own):
            pass
        case ast.Assign(value=ast.BinOp(op=ast.Add(), left=left, right=own)) if left in carried.reads:
            pass
        case ast.Assign(value=ast.BinOp(op=ast.Add(), left=own, right=right)) if right in carried.reads:
            pass
        case _:
            return
    if not isinstance(own, (ast.Name, ast.Attribute)):
        return
    text = edits.flat(_document(case), own)
    change = edits.replace(_document(case), call.func.value, text)
    value = edits.append(case.source.document(carried.use), own, ".detach()")
    yield Fix.by(Repair(Way.OWN_LOSS, (text,)), Safety.SAFE, (*value, change), preferred=True)


def detaching_fixes(case: Case) -> Iterator[Fix]:
    """`h = h.detach()` where the iteration starts from the old value."""
    together = [
        each for each in case.carried if each.reads and not each.old and each.use.node is case.carried[0].use.node
    ]
    names = list(dict.fromkeys(each.name for each in together))
    first = together[0]
    statement = start_of(case)
    if statement is None:
        return
    line = _detaching(together, names)
    if line is None:
        return
    document = case.source.document(first.use)
    always = _goes_back_each_time(case)
    trained = any(_starts_with_graph(case, each) for each in together)
    safety = Safety.SAFE if _once_an_iteration(case, statement) and not trained else Safety.UNSAFE
    if all(_starts_as_tensor(case, each) for each in together) and (
        (always and not trained) or not _is_here(case, first)
    ):
        if len(together) == 1 and len(first.reads) == 1 and first.held is None and isinstance(statement, ast.AugAssign):
            return
        edit = edits.insert_before(document, statement, line)
        repair = Repair(Way.DETACH_BEFORE, tuple(names), (statement.lineno,), line)
    elif _is_here(case, first):
        passed_on = _passed_on(case, first) if len(together) == 1 else None
        if passed_on is not None:
            yield passed_on
            return
        safety = Safety.SAFE
        last = statement_of(case.trace, case.again.node)
        edit = None if last is None else edits.insert_after(document, last, line)
        repair = Repair(Way.DETACH_AFTER, tuple(names), (case.again.line,), line)
    else:
        unit = edits.indent_unit(document)
        guard = " and ".join(f"{name} is not None" for name in names)
        edit = edits.insert_before(document, statement, f"if {guard}:", f"{unit}{line}")
        repair = Repair(Way.DETACH_BEFORE, tuple(names), (statement.lineno,), line)
    if edit is not None:
        yield Fix.by(repair, safety, (edit,), preferred=True)


def _passed_on(case: Case, carried: Carried) -> Fix | None:
    """`state = next_state` after the backward becomes `state = next_state.detach()`."""
    bound = carried.bound
    statement = None if bound is None else statement_of(case.trace, bound.site.node)
    if bound is None or carried.held is not None or bound.site.caller is not case.again.caller:
        return None
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Name() | ast.Attribute() as value) if (
            statement.lineno > case.again.line and any(each is statement for each in case.loop.body)
        ):
            document = case.source.document(bound.site)
            text = f"{carried.name} = {edits.flat(document, value)}.detach()"
            repair = Repair(Way.CARRY_VALUE, (carried.name,), (statement.lineno,), text)
            return Fix.by(repair, Safety.SAFE, edits.append(document, value, ".detach()"), preferred=True)
    return None


def _is_here(case: Case, carried: Carried) -> bool:
    """Whether the function that goes back knows the variable by the same name."""
    return same_activation(carried.use, case.again)


def _goes_back_each_time(case: Case) -> bool:
    """Whether each iteration so far went back, so that no gradient runs over several of them."""
    statement = statement_of(case.trace, case.again.node)
    iterations = next((count for number, count in case.again.loops if number == case.number), 1)
    return statement is not None and case.trace.visits.get(statement, 0) >= iterations


def start_of(case: Case) -> ast.stmt | None:
    """The statement of the iteration that comes to use the old value: of the loop's own body where it is there."""
    statement = statement_of(case.trace, case.carried[0].use.node)
    for each in case.loop.body:
        if statement is not None and holds(each, statement):
            return each
    return statement


def _detaching(together: list[Carried], names: list[str]) -> str | None:
    """The line that takes the values out of their graphs."""
    if len(names) > 1:
        if any(each.held is not None for each in together):
            return None
        return f"{', '.join(names)} = {', '.join(f'{name}.detach()' for name in names)}"
    bound = together[0].bound
    if together[0].held is None and bound is not None and _may_be_several(bound.tensor):
        name, item = names[0], "state" if names[0] != "state" else "each"
        several = f"tuple({item}.detach() for {item} in {name})"
        return f"{name} = {several} if isinstance({name}, tuple) else {name}.detach()"
    return value_alone(names[0], together[0].held)


def _may_be_several(tensor: Tensor | None) -> bool:
    """Whether a state is taken for a tensor that may as well be a tuple of tensors, as that of an LSTM is."""
    return tensor is not None and isinstance(tensor.provenance, Presumption)


def _starts_as_tensor(case: Case, carried: Carried) -> bool:
    """Whether the variable held tensors already when the loop began."""
    first = _first_binding(case, carried)
    return first is not None and all(number != case.number for number, _ in first.site.loops)


def _starts_with_graph(case: Case, carried: Carried) -> bool:
    """Whether what the variable held when the loop began was itself computed from what is trained."""
    first = _first_binding(case, carried)
    if first is None or any(number == case.number for number, _ in first.site.loops):
        return False
    held = first.value.tensors if isinstance(first.value, Held) else (first.tensor,)
    return any(each is not None and each.node is not None for each in held)


def _first_binding(case: Case, carried: Carried) -> Bound | None:
    """Where the variable got a tensor, or a container of tensors, for the first time."""
    name = None if carried.bound is None else carried.bound.name
    for event in case.trace.of(Bound):
        if event.name == name and (event.tensor is not None or isinstance(event.value, Held)):
            return event
    return None


def _once_an_iteration(case: Case, statement: ast.stmt) -> bool:
    """Whether the statement runs once in each iteration, so that nothing of the same iteration is cut."""
    iterations = next((count for number, count in case.again.loops if number == case.number), 1)
    return case.trace.visits.get(statement, 0) <= iterations


def taken_alone(case: Case) -> ast.expr | None:
    """The argument that a loop takes from outside and does not train, as a critic takes the generator's output."""
    if not case.from_outside or case.all_from_outside or not case.carried:
        return None
    carried = case.carried[0]
    if (
        len(carried.reads) != 1
        or not isinstance(carried.use.node, ast.Call)
        or not trains_nothing(case.trace, carried.node, case.earlier)
    ):
        return None
    if carried.held is not None:
        return carried.use.node if joins(carried.use.node, carried.reads[0]) else None
    return carried.reads[0] if carried.reads[0] in carried.use.node.args else None


def _untrained(case: Case, argument: ast.expr) -> Iterator[Fix]:
    use = case.carried[0].use
    name = edits.flat(case.source.document(use), argument)
    edit = edits.append(case.source.document(use), argument, ".detach()")
    yield Fix.by(Repair(Way.DETACH_ON, (name,), (use.line,)), Safety.SAFE, edit, preferred=True)


def _is_touched(case: Case) -> bool:
    """Whether the loop steps or clears gradients, so that its backwards cannot be put off."""
    return any(
        isinstance(event, (Stepped, Cleared)) and any(number == case.number for number, _ in event.site.loops)
        for event in case.trace.events
    )


def _steps(case: Case) -> bool:
    """Whether the loop steps: a graph that was built before it is then out of date."""
    return any(number == case.number for event in case.trace.of(Stepped) for number, _ in event.site.loops)


def _is_row(case: Case) -> bool:
    """Whether the call goes back from a part of what was computed before the loop: `y[i].backward()`."""
    return any(
        root.node is not None and short_operation(root.node.name) in _PARTS and case.first in root.node.edges
        for root in case.roots
    )


def _added_up(case: Case) -> Iterator[Fix]:
    """`loss.backward()` in the loop becomes `total_loss = total_loss + loss`, and one backward follows the loop."""
    statement = statement_of(case.trace, case.again.node)
    call = call_of(case.trace, case.again.node)
    loop = case.loop
    if not same_activation(case.again, case.before) or call is None or call.args or call.keywords:
        return
    if not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) or loop.orelse:
        return
    if not isinstance(statement, ast.Expr) or not any(each is statement for each in loop.body):
        return
    if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, (*edits.ATOMS, ast.BinOp)):
        return
    if any(isinstance(each, (ast.Return, ast.Yield, ast.YieldFrom)) for each in ast.walk(loop)):
        return
    document = _document(case)
    name = next(each for each in ("total_loss", "summed_loss", "loss_of_all") if each not in document.text)
    start = edits.insert_before(document, loop, f"{name} = 0")
    text = f"{name} = {name} + {edits.flat(document, call.func.value)}"
    end = edits.insert_below(document, loop, f"{name}.backward()")
    if start is not None and end is not None and edits.stands_alone(document, statement):
        repair = Repair(Way.SUM_AFTER_LOOP, lines=(loop.lineno,))
        changes = (start, edits.replace(document, statement, text), end)
        yield Fix.by(repair, Safety.SAFE, changes, preferred=True, rewrite=True)


def retaining(case: Case) -> Iterator[Fix]:
    """`retain_graph=True`, preferred where the graph was built before the loop, so that it does not grow."""
    call = call_of(case.trace, case.again.node)
    edit = None if call is None else edits.add_keyword(_document(case), call, "retain_graph", "True")
    if edit is not None and call is not None:
        repair = Repair(Way.RETAIN_IN_LOOP, lines=(case.again.line,))
        is_one = case.from_outside or is_from_outside(case.node, case.again, case.number)
        yield Fix.by(repair, Safety.SAFE, (edit,), preferred=is_one)


def _only_asks(case: Case) -> bool:
    """Whether the call gives gradients back instead of adding them up: `torch.autograd.grad`."""
    call = call_of(case.trace, case.again.node)
    return call is not None and isinstance(call.func, ast.Attribute) and call.func.attr == "grad"


def _built_outside(case: Case, place: Site | None = None) -> list[ast.stmt] | None:
    """The statements before the loop, in the body that runs it, that build the graph which is needed again."""
    caller = (case.turn if place is None else place).caller
    return builders(case.trace, [case.first], lambda node: node.holds and node.freed_by is not None, caller)


def _into_the_loop(case: Case) -> Iterator[Fix]:
    """The statements before the loop that build the graph move to the start of the loop's body.

    The loop is that of the failing call, or the one in which a generator or a method uses the value.
    """
    made = case.node.site.frames() if isinstance(case.node.site, Site) else ()
    for place in (case.turn, *(case.carried[0].place.frames() if case.carried else ()), *made):
        found = _built_outside(case, place)
        if found is None:
            continue
        loop = case.loop if place is case.turn else _loop_behind(case, place, found)
        found = [each for each in found if loop is not None and not _is_within(each, loop)]
        if not found or loop is None:
            continue
        statements = list(dict.fromkeys(_beside(case, each, found) for each in found))
        moved = into_block(case.trace, case.source.document(place), statements, loop, loop.body)
        if moved is not None:
            repair = Repair(Way.MOVE_INTO_LOOP, lines=tuple(each.lineno for each in found))
            safety = Safety.SAFE if _is_at_once(case) and not _draws(case, found) else Safety.UNSAFE
            yield Fix.by(repair, safety, moved, preferred=True, rewrite=True)
            return


def _is_at_once(case: Case) -> bool:
    """Whether the very next iteration fails: none in between has run with the old values."""
    before, again = dict(case.before.loops).get(case.number, 0), dict(case.again.loops).get(case.number, 0)
    return again <= before + 1


def _draws(case: Case, statements: list[ast.stmt]) -> bool:
    """Whether what moves draws random numbers, and so may the loop when it begins: others come out in another order."""
    names = [*(each.name for each in reach([case.first])), *map(ast.unparse, statements)]
    drawn = any(map(is_drawn, names))
    counted = isinstance(case.loop, ast.For) and ast.unparse(case.loop.iter).startswith("range(")
    return drawn and not counted


def _loop_behind(case: Case, place: Site, found: list[ast.stmt]) -> ast.For | ast.AsyncFor | ast.While | None:
    """The outermost loop of a function that begins behind the first of the statements, and uses what they build."""
    function = function_of(case.trace, place.node)
    around = [*ancestry(case.trace, place.node), *ancestry(case.trace, found[-1])]
    loops = [each for each in around if isinstance(each, (ast.For, ast.AsyncFor, ast.While))]
    own = (each for each in loops if function_of(case.trace, each) is function)
    return next((each for each in own if each.lineno > found[0].lineno), None)


def _is_within(statement: ast.stmt, loop: ast.stmt) -> bool:
    return holds(loop, statement)


def _again_in_the_loop(case: Case) -> Iterator[Fix]:
    """Where they cannot move, since something before the loop reads what they compute, they stand in both places."""
    found = _built_outside(case)
    statement = statement_of(case.trace, case.turn.node)
    if found is None or statement is None or case.loop not in case.trace.visits:
        return
    again = written_again(case.trace, case.source.document(case.turn), found, found[-1], statement)
    if again is not None:
        edit, target = again
        repair = Repair(Way.AGAIN_BEFORE, lines=tuple(each.lineno for each in found), near=target.lineno)
        yield Fix.by(repair, Safety.UNSAFE, (edit,), rewrite=True)


def _beside(case: Case, statement: ast.stmt, found: list[ast.stmt]) -> ast.stmt:
    """The statement, or the `if` around it that holds nothing else."""
    around = ancestry(case.trace, statement)
    outer = around[-2] if len(around) > 1 else None
    alone = isinstance(outer, ast.If) and not outer.orelse and all(each in found for each in outer.body)
    return outer if isinstance(outer, ast.If) and alone else statement


def _kept_detached(case: Case) -> Iterator[Fix]:
    """`self.table = make()` becomes `self.table = make().detach()`."""
    bound = case.carried[0].bound
    statement = None if bound is None else statement_of(case.trace, bound.site.node)
    if bound is not None and isinstance(statement, ast.Assign) and bound.value is not None and not case.carried[0].held:
        edit = edits.append(case.source.document(bound.site), statement.value, ".detach()")
        yield Fix.by(Repair(Way.KEEP_DETACHED, (case.name,)), Safety.UNSAFE, edit)


def _document(case: Case) -> Document:
    return case.source.document(case.again)
