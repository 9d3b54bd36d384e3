"""A function that remembers its results keeps their graphs: it computes them again on each call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.graphs import is_drawn, leaves, reach
from gradpath.findings.syntax import Definition, function_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import Site
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.nodes import last_name

_MEMORIES = ("lru_cache", "cache", "cached_property")
_QUESTIONS = ("cache_clear", "cache_info", "cache_parameters")
"""What a program may ask of a function that remembers."""


def computed_each_time(case: Case) -> Iterator[Fix]:
    """`@functools.lru_cache` goes from the function that builds what is needed again, `cached_property` changes."""
    for frame in case.first.site.frames() if isinstance(case.first.site, Site) else ():
        function = function_of(case.trace, frame.node)
        memory = None if function is None else _memory(function)
        document = case.source.document(frame)
        if function is None or memory is None or any(name in document.text for name in _QUESTIONS):
            continue
        if any(_is_made_in(case, leaf, function) for leaf in leaves([case.first])):
            return  # Each call would begin with new parameters.
        text = edits.flat(document, memory)
        if _name(memory) == "cached_property":
            edit: Edit | None = edits.replace(document, memory, "property")
            repair = Repair(Way.EACH_TIME, (function.name,), (memory.lineno,), "@property")
        else:
            edit = _without(document, function, memory)
            repair = Repair(Way.EACH_CALL, (function.name,), (memory.lineno,), f"@{text}")
        if edit is not None:
            drawn = any(is_drawn(node.name) for node in reach([case.first]))
            yield Fix.by(repair, Safety.UNSAFE if drawn else Safety.SAFE, (edit,))
        return


def _is_made_in(case: Case, leaf: Tensor, function: Definition) -> bool:
    made = leaf.origin.frames() if isinstance(leaf.origin, Site) else ()
    return any(function_of(case.trace, frame.node) is function for frame in made)


def _memory(function: Definition) -> ast.expr | None:
    """The decorator that makes a function remember, where it is the outermost one."""
    first = function.decorator_list[0] if function.decorator_list else None
    return first if first is not None and _name(first) in _MEMORIES else None


def _name(decorator: ast.expr) -> str:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return last_name(named)


def _without(document: Document, function: Definition, decorator: ast.expr) -> Edit | None:
    """The lines of a decorator deleted."""
    others = [each.lineno for each in function.decorator_list if each is not decorator]
    last = decorator.end_lineno or decorator.lineno
    if document.line(decorator.lineno).strip()[:1] != "@" or min([*others, function.lineno]) <= last:
        return None
    return Edit(document.path, Range(Position(decorator.lineno, 1), Position(last + 1, 1)), "")
