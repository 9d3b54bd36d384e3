"""Faults that no path comes to, since another one ends it: what stays in the program after that one is mended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradpath.analysis.check import Analysis
from gradpath.analysis.trial_states import AUTOGRAD, State
from gradpath.diagnostic import Diagnostic, Fix, Level, Range
from gradpath.source.document import Document
from gradpath.source.edits import place_before
from gradpath.support.fast_dataclasses import replace

Left = tuple[str, Range]
"""The rule of a report that a fix has left, and its place in the text before that."""


ROUNDS = 4
"""Faults that may end the paths one after the other."""


def found_beyond(line: int, path: str, going_on: Callable[[frozenset[int]], Analysis]) -> list[Diagnostic]:
    """What checks find that are `going_on` after a fault on a line of a file, and after those that end the paths then.

    As if they were mended.
    """
    found: dict[tuple[str, Range], Diagnostic] = {}
    mended = frozenset({line})
    for _ in range(ROUNDS):
        analysis = going_on(mended)
        for each in analysis.diagnostics:
            found.setdefault((each.rule, each.range), each)
        failed = (each for likeliest, *_ in analysis.endings.values() for each in likeliest.failures)
        more = {place for file, kind, place in failed if file == path and kind in AUTOGRAD}
        if more <= mended:
            break
        mended |= more
    return [*found.values()]


def left_after(fix: Fix, state: State | None, document: Document, told: Sequence[Diagnostic]) -> list[Left]:
    """The reports on the text that a fix leads to that nothing `told` was about."""
    text = None if state is None else state.texts.get(document.path)
    if state is None or text is None:
        return []
    known = {(each.rule, each.range.start.line) for each in told if each.path == document.path}
    reports = [each for found in state.reports.values() for each in found if each.path == document.path]
    places = (
        (each.rule, place_before(document, fix.edits, Document(document.path, text), each.range)) for each in reports
    )
    return [(rule, place) for rule, place in places if place is not None and (rule, place.start.line) not in known]


def beyond_the_first(found: Sequence[Diagnostic], left: Sequence[Sequence[Left]]) -> list[Diagnostic]:
    """The reports of a check that goes on after a fault that are `left` by each of its fixes.

    Their own fixes have not been tried where this fault is.
    """
    return [
        replace(each, fixes=(), alternatives=(), advice=())
        for each in found
        if each.level is not Level.HINT and all((each.rule, each.range) in one for one in left)
    ]


def merged(told: Sequence[Diagnostic], more: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Both in the order in which diagnostics of a document are told: those of other files come last."""
    path = next((each.path for each in more), "")
    key = lambda each: (each.path != path, each.path, each.range, each.rule)  # noqa: E731
    return tuple(sorted((*told, *more), key=key)) if more else tuple(told)
