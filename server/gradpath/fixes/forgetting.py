"""What keeps results of earlier iterations: emptied, forgotten, or computed again on each call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.graphs import is_drawn, nodes_of, reach, terms_of
from gradpath.findings.stories import same_activation
from gradpath.findings.syntax import Compound, ancestry, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.detachment import living
from gradpath.interpreter.events import Site
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents
from gradpath.source.nodes import last_name


def holds_terms(case: Case) -> bool:
    """True if what the list keeps are terms of a loss, back-propagated already: nobody needs them any more."""
    zone = terms_of(nodes_of(case.earlier.roots))
    return all(each.node in zone or any(each.node in node.edges for node in zone) for each in case.carried)


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
    if here:
        start = edits.insert_before(document, case.loop.body[0], f"{name}.clear()")
        yield from Fix.of(Repair(Way.EMPTY_AT_START, (name,)), safety, start)
    end = edits.insert_after(document, last, f"{name}.clear()")
    yield from Fix.of(Repair(Way.EMPTY_AFTER, (name,), (case.again.line,)), safety, end)


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
        for emptying in _EMPTYING:
            lines = list(dict.fromkeys(emptying.format(each.text, each.text.partition("[")[0]) for each in found))
            edit = edits.insert_after(case.source.document(frame), statement, *lines)
            names, text = tuple(each.text for each in found), lines[0] if len(lines) == 1 else ""
            repair = Repair(Way.FORGET_AFTER, names, (statement.end_lineno or statement.lineno,), text)
            yield from Fix.of(repair, Safety.SAFE, edit)
        return


_EMPTYING = ("{0} = None", "{1}.clear()", "del {0}")
"""What may make a value that is to be computed what it began as."""


_MEMORIES = ("lru_cache", "cache", "cached_property")


def computed_each_time(case: Case) -> Iterator[Fix]:
    """`@functools.lru_cache` goes from the function that builds what is needed again, `cached_property` changes.

    So does `with parametrize.cached():` from around the call.
    """
    for frame in case.first.site.frames():
        yield from _uncached(case, frame)
        function = function_of(case.trace, frame.node)
        memory = None if function is None else next(iter(function.decorator_list), None)
        name = last_name(memory.func if isinstance(memory, ast.Call) else memory) if memory is not None else ""
        if function is None or memory is None or name not in _MEMORIES:
            continue
        document = case.source.document(frame)
        if name == "cached_property":
            edit = edits.replace(document, memory, "property")
            repair = Repair(Way.EACH_TIME, (function.name,), (memory.lineno,), "@property")
        else:
            lines = Range(Position(memory.lineno, 1), Position((memory.end_lineno or memory.lineno) + 1, 1))
            edit = Edit(document.path, lines, "")
            repair = Repair(Way.EACH_CALL, (function.name,), (memory.lineno,), f"@{edits.flat(document, memory)}")
        drawn = any(is_drawn(node.name) for node in reach([case.first]))
        yield Fix.by(repair, Safety.UNSAFE if drawn else Safety.SAFE, (edit,))
        return


def _uncached(case: Case, frame: Site) -> Iterator[Fix]:
    document = case.source.document(frame)
    for block in ancestry(case.trace, frame.node):
        match block:
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=asked))]) if last_name(asked) == "cached":
                text = f"with {edits.flat(document, asked)}():"
                repair = Repair(Way.EACH_CALL, (case.source.short(frame),), (block.lineno,), text)
                yield from Fix.of(repair, Safety.SAFE, edits.unwrap_block(document, block))
