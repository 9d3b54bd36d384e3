"""Lists and dicts that keep results of earlier iterations: emptied, started again, or given the values alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.interpreter.trace import Kept, Site
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.carrying import Case
from gradpath.rules.detachment import living
from gradpath.rules.graphs import nodes_of, terms_of
from gradpath.rules.moving import into_block
from gradpath.rules.rebuilding import read_elsewhere
from gradpath.rules.stories import same_activation
from gradpath.rules.syntax import Compound, function_of, statement_of


def holds_terms(case: Case) -> bool:
    """True if what the list keeps are terms of a loss, back-propagated already: nobody needs them any more."""
    zone = terms_of(nodes_of(case.earlier.roots))
    return all(each.node in zone or any(each.node in node.edges for node in zone) for each in case.carried)


def started_anew(case: Case) -> Iterator[Fix]:
    """`losses = []` before the loop moves into it, where nothing after the loop reads the list."""
    container = case.container
    if container is None or not isinstance(container[1], ast.Name):
        return
    name = container[1].id
    if not _is_of_one_iteration(case):
        return
    for statement in case.trace.visits:
        match statement:
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.List(elts=[]) | ast.Dict(keys=[])) if bound == name:
                if read_elsewhere(case.trace, [statement], case.loop):
                    return
                moved = into_block(case.trace, case.source.document(case.again), [statement], case.loop, case.loop.body)
                if moved is not None:
                    repair = Repair(Way.START_IN_LOOP, (name,), (statement.lineno,))
                    yield Fix.by(repair, Safety.SAFE, moved, preferred=True, rewrite=True)
                return


def emptied(case: Case) -> Iterator[Fix]:
    """`losses.clear()` at the start of each iteration."""
    container = case.container
    if container is None or not same_activation(container[0], case.again):
        return
    name = edits.flat(case.source.document(case.again), container[1])
    if not all(part.isidentifier() for part in name.split(".")):
        return
    safety = Safety.SAFE if holds_terms(case) else Safety.UNSAFE
    here = function_of(case.trace, case.loop) is function_of(case.trace, case.again.node)
    if not here and _is_window(case, name):
        return
    if here and _is_of_one_iteration(case):
        edit = edits.insert_before(case.source.document(case.again), case.loop.body[0], f"{name}.clear()")
        repair = Repair(Way.EMPTY_AT_START, (name,))
    else:
        last = statement_of(case.trace, case.again.node)
        edit = None if last is None else edits.insert_after(case.source.document(case.again), last, f"{name}.clear()")
        repair = Repair(Way.EMPTY_AFTER, (name,), (case.again.line,))
    if edit is not None and case.loop.body[0].lineno > case.loop.lineno:
        yield Fix.by(repair, safety, (edit,), preferred=True)


def _is_window(case: Case, name: str) -> bool:
    """True if the program itself takes old items out of a container, so that the others are meant to stay."""
    last = name.rpartition(".")[2]
    for statement in case.trace.visits:
        match statement:
            case ast.Assign(targets=[target], value=ast.Call(keywords=[*_, ast.keyword(arg="maxlen")])):
                owners: list[ast.expr] = [target]
            case ast.Delete(targets=[ast.Subscript(value=owner)]):
                owners = [owner]
            case _:
                calls = [each.func for each in ast.walk(statement) if isinstance(each, ast.Call)]
                owners = [
                    each.value for each in calls if isinstance(each, ast.Attribute) and each.attr in ("pop", "popleft")
                ]
        if any(ast.unparse(owner).rpartition(".")[2] == last for owner in owners):
            return True
    return False


def _is_of_one_iteration(case: Case) -> bool:
    """True if all that was back-propagated first was gathered in one iteration, not over several of them."""
    before = dict(case.before.loops).get(case.number, 0)
    zone = terms_of(nodes_of(case.earlier.roots))
    terms = [*zone, *(edge for node in zone for edge in node.edges if edge.accumulates is None)]
    sites = [each.site for each in terms]
    return all(not isinstance(site, Site) or dict(site.loops).get(case.number, 0) == before for site in sites)


def forgotten(case: Case) -> Iterator[Fix]:
    """`model.cache = None` or `model.cache.clear()` after the backward, for what is computed where it is missing."""
    for frame in case.again.frames():
        if case.number not in dict(frame.loops):
            return
        found = next(iter(living(case.crossing, frame)), [])
        statement = statement_of(case.trace, frame.node)
        if not found or statement is None or isinstance(statement, (ast.Return, Compound)):
            continue
        lines = list(dict.fromkeys(_emptying(case, each) for each in found))
        known = [line for line in lines if line is not None]
        edit = edits.insert_after(case.source.document(frame), statement, *known)
        if edit is not None and len(known) == len(lines):
            names, text = tuple(each.text for each in found), known[0] if len(known) == 1 else ""
            repair = Repair(Way.FORGET_AFTER, names, (statement.end_lineno or statement.lineno,), text)
            yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
        return


def _emptying(case: Case, kept: Kept) -> str | None:
    """What makes the program compute a value again: it began as None, as an empty container, or was not there."""
    name = kept.text.rpartition(".")[2]
    text = kept.text.partition("[")[0]
    for statement in case.trace.visits:
        match statement:
            case ast.Assign(targets=[ast.Attribute(attr=bound) | ast.Name(id=bound)], value=value):
                match value:
                    case ast.Constant(value=None) if bound == name and _is_asked(case, name):
                        return f"{kept.text} = None"
                    case ast.Dict(keys=[]) | ast.List(elts=[]) if bound == text.rpartition(".")[2]:
                        return f"{text}.clear()"
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=asked)) if "." in kept.text:
                match asked:
                    case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=attribute)]):
                        if attribute == name:
                            return f"del {kept.text}"
                    case ast.Call(func=ast.Name(id="hasattr"), args=asked_for) if _is_set(case, asked_for):
                        return f"del {kept.text}"
    return None


def _is_asked(case: Case, name: str) -> bool:
    """True if a condition of the program depends on a variable or an attribute of that name, so that None is seen."""
    tests = (
        each.test
        for statement in case.trace.visits
        for each in ast.walk(statement)
        if isinstance(each, (ast.If, ast.IfExp, ast.While))
    )
    return any(
        (isinstance(part, ast.Name) and part.id == name)
        or (isinstance(part, ast.Attribute) and part.attr == name)
        or (isinstance(part, ast.Constant) and part.value == name)
        for test in tests
        for part in ast.walk(test)
    )


def _is_set(case: Case, asked_for: list[ast.expr]) -> bool:
    """True if the program sets the attribute that `hasattr(self.module, self.name)` asks for."""
    wanted = [ast.dump(each) for each in asked_for]
    return any(
        isinstance(call, ast.Call)
        and getattr(call.func, "id", "") == "setattr"
        and [ast.dump(each) for each in call.args[:2]] == wanted
        for statement in case.trace.visits
        for call in ast.walk(statement)
    )
