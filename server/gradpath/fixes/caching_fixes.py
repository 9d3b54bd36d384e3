"""What remembers results keeps their graphs: they are computed again on each call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.graphs import is_drawn, reach
from gradpath.findings.syntax import Definition, ancestry, function_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import Site
from gradpath.repairs import Repair, Way
from gradpath.source.nodes import last_name

_MEMORIES = ("lru_cache", "cache", "cached_property")


def computed_each_time(case: Case) -> Iterator[Fix]:
    """`@functools.lru_cache` goes from the function that builds what is needed again, `cached_property` changes.

    So does `with parametrize.cached():` from around the call.
    """
    for frame in case.first.site.frames():
        yield from _uncached(case, frame)
        function = function_of(case.trace, frame.node)
        memory = None if function is None else _memory(function)
        if function is None or memory is None:
            continue
        document = case.source.document(frame)
        if _name(memory) == "cached_property":
            edit = edits.replace(document, memory, "property")
            repair = Repair(Way.EACH_TIME, (function.name,), (memory.lineno,), "@property")
        else:
            lines = Range(Position(memory.lineno, 1), Position((memory.end_lineno or memory.lineno) + 1, 1))
            edit = Edit(document.path, lines, "")
            repair = Repair(Way.EACH_CALL, (function.name,), (memory.lineno,), f"@{edits.flat(document, memory)}")
        drawn = any(is_drawn(node.name) for node in reach([case.first]))
        yield from Fix.of(repair, Safety.UNSAFE if drawn else Safety.SAFE, edit)
        return


def _uncached(case: Case, frame: Site) -> Iterator[Fix]:
    document = case.source.document(frame)
    for block in ancestry(case.trace, frame.node):
        match block:
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=asked))]) if last_name(asked) == "cached":
                text = f"with {edits.flat(document, asked)}():"
                repair = Repair(Way.EACH_CALL, (case.source.short(frame),), (block.lineno,), text)
                yield from Fix.of(repair, Safety.SAFE, edits.unwrap_block(document, block))


def _memory(function: Definition) -> ast.expr | None:
    """The decorator that makes a function remember, where it is the outermost one."""
    first = function.decorator_list[0] if function.decorator_list else None
    return first if first is not None and _name(first) in _MEMORIES else None


def _name(decorator: ast.expr) -> str:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return last_name(named)
