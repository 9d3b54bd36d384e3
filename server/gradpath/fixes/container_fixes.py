"""Lists and dicts that keep results of earlier iterations: emptied, started again, or given the values alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.graphs import nodes_of, terms_of
from gradpath.findings.stories import same_activation
from gradpath.findings.syntax import Compound, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.detachment import living
from gradpath.fixes.moving import into_block
from gradpath.fixes.rebuilding import read_elsewhere
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents


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
    for statement in case.trace.visits:
        match statement:
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.List(elts=[]) | ast.Dict(keys=[])) if bound == name:
                if read_elsewhere(case.trace, [statement], case.loop):
                    return
                moved = into_block(case.trace, case.source.document(case.again), [statement], case.loop, case.loop.body)
                repair = Repair(Way.START_IN_LOOP, (name,), (statement.lineno,))
                yield from Fix.of(repair, Safety.SAFE, moved, rewrite=True)
                return


def emptied(case: Case) -> Iterator[Fix]:
    """`losses.clear()` at the start of each iteration, or after the backward."""
    container = case.container
    if container is None or not same_activation(container[0], case.again):
        return
    document, last = case.source.document(case.again), statement_of(case.trace, case.again.node)
    name = edits.flat(document, container[1])
    safety = Safety.SAFE if holds_terms(case) else Safety.UNSAFE
    here = function_of(case.trace, case.loop) is function_of(case.trace, case.again.node)
    if not here and _is_window(case, name.rpartition(".")[2]):
        return
    start = edits.insert_before(document, case.loop.body[0], f"{name}.clear()") if here else None
    end = edits.insert_after(document, last, f"{name}.clear()")
    for edit, repair in (
        (start, Repair(Way.EMPTY_AT_START, (name,))),
        (end, Repair(Way.EMPTY_AFTER, (name,), (case.again.line,))),
    ):
        yield from Fix.of(repair, safety, edit)


def _is_window(case: Case, name: str) -> bool:
    """True if the program itself takes old items out of a container, so that the others are meant to stay."""
    calls = [call for each in case.trace.visits for call in contents(each).calls]
    taken = (ast.unparse(e.func.value) for e in calls if isinstance(e.func, ast.Attribute) and e.func.attr in _TAKING)
    return any(each.endswith(name) for each in taken) or any(k.arg == "maxlen" for each in calls for k in each.keywords)


_TAKING = ("pop", "popleft")


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
        for value, emptying in _EMPTYING:
            lines = list(dict.fromkeys(emptying.format(each.text, each.text.partition("[")[0]) for each in found))
            edit = edits.insert_after(case.source.document(frame), statement, *lines)
            if all(_begins(case, each.text, value) for each in found):
                names, text = tuple(each.text for each in found), lines[0] if len(lines) == 1 else ""
                repair = Repair(Way.FORGET_AFTER, names, (statement.end_lineno or statement.lineno,), text)
                yield from Fix.of(repair, Safety.SAFE, edit)
        return


_EMPTYING = (("None", "{0} = None"), ("{}", "{1}.clear()"), ("[]", "{1}.clear()"), ("", "del {0}"))
"""What a value that is to be computed begins as, and what makes it that again; nothing where it is not there."""


def _begins(case: Case, text: str, value: str) -> bool:
    """True if the program lets a variable or an attribute begin as a value, or asks whether it is there."""
    name = text.partition("[")[0].rpartition(".")[2]
    if not value:
        calls = (call for each in case.trace.visits for call in contents(each).calls)
        return any(isinstance(call.func, ast.Name) and call.func.id == "hasattr" for call in calls)
    given = [each for each in case.trace.visits if isinstance(each, ast.Assign) and ast.unparse(each.value) == value]
    return any(ast.unparse(target).rpartition(".")[2] == name for each in given for target in each.targets)
