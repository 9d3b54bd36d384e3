"""The forms of a loop that hold: the program with each is run, and compared with what it was."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from gradpath.analysis.check import THOROUGH, Analysis, check, never
from gradpath.analysis.path_regression import loses, matched
from gradpath.analysis.turns import Turns
from gradpath.config import Config
from gradpath.diagnostic import Edit, Fix, Level, Range, Safety
from gradpath.fixes.detachment import form_of, rebinding
from gradpath.fixes.edits import indent_unit
from gradpath.fixes.lessons import Change, Taught, costs, makes_constant, still_learns
from gradpath.interpreter.events import Bound, Held
from gradpath.names.project import Project
from gradpath.refactoring.bodies import Body, Rewrite, body_of
from gradpath.refactoring.losses import accumulated, computed_for_each, one_after_the_other, summed
from gradpath.refactoring.time import Detaching, truncated
from gradpath.source.cells import with_text
from gradpath.source.edits import difference, kept_lines
from gradpath.source.nodes import nodes
from gradpath.support.fast_dataclasses import replace

MOST_LOOPS = 2
"""Loops around a place that are looked at, the innermost first."""


def rewritten(
    analysis: Analysis,
    place: Range,
    config: Config,
    *,
    project: Project | None = None,
    cancelled: Callable[[], bool] = never,
    turns: Turns | None = None,
) -> tuple[Fix, ...]:
    """The forms that the loops around a place may be given, each as a fix for a person to choose.

    Each costs a check, a part of a turn. One that fails, reports more, or lets a parameter learn no longer, or by
    another loss, is not among them.
    """
    found = list(_loops(analysis.parsed.tree, place.start.line))[:MOST_LOOPS]
    if not found:
        return ()
    depth, turns = replace(THOROUGH, traced=True), turns or Turns()
    run = partial(check, analysis.document, config, last=analysis.parsed, project=project, depth=depth)
    known = turns.once("loops", lambda: run(cancelled=cancelled))
    trial = _Trial(known, config, project, cancelled, turns)
    fixes: dict[str, Fix] = {}
    for loop, block in found:
        body = body_of(known.document, loop)
        for rewrite in () if body is None else _candidates(body, block, _detaching(known, loop)):
            edits = () if rewrite.text == known.document.text else trial.edits(rewrite, loop)
            if edits:
                fix = Fix.by(rewrite.repair, Safety.UNSAFE, edits, rewrite=True)
                fixes.setdefault(fix.title, fix)
    return tuple(fixes.values())


def _candidates(body: Body, block: Sequence[ast.stmt], detaching: Detaching) -> Iterator[Rewrite]:
    yield from truncated(body, block, detaching)
    for forms in (summed, computed_for_each, one_after_the_other, accumulated):
        yield from forms(body)


def _loops(tree: ast.Module, line: int) -> Iterator[tuple[ast.For | ast.While, list[ast.stmt]]]:
    """The loops around a line, each with the block that it stands in, the innermost first."""
    around = [each for each in nodes(tree) if getattr(each, "lineno", 1) <= line <= (getattr(each, "end_lineno", line))]
    blocks = [
        block for each in around for field in ("body", "orelse", "finalbody") for block in [getattr(each, field, 0)]
    ]
    found = [(each, block) for block in blocks if isinstance(block, list) for each in block if each in around]
    loops = [(each, block) for each, block in found if isinstance(each, ast.For | ast.While)]
    yield from sorted(loops, key=lambda pair: -pair[0].lineno)


def _detaching(analysis: Analysis, loop: ast.stmt) -> Detaching:
    """The lines that take what a loop binds out of its graph."""
    lines: dict[str, list[str]] = {}
    unit = indent_unit(analysis.document)
    for trace in analysis.traces:
        for event in trace.of(Bound):
            tensors = event.value.tensors if isinstance(event.value, Held) else (event.tensor,)
            here = event.site.path == analysis.document.path and loop.lineno < event.site.line <= (loop.end_lineno or 0)
            if here and any(each is not None and each.node is not None for each in tensors):
                lines[event.name] = rebinding([(event.name, form_of(event))], unit)
    return {name: found for name, found in lines.items() if found}


class _Trial:
    """The check of a document in other forms, and the comparison with what is known of it."""

    def __init__(
        self, known: Analysis, config: Config, project: Project | None, cancelled: Callable[[], bool], turns: Turns
    ) -> None:
        self._known, self._config, self._project, self._cancelled = known, config, project, cancelled
        self._turns = turns

    def edits(self, rewrite: Rewrite, loop: ast.stmt) -> tuple[Edit, ...]:
        """The edits that lead to another form; none where it does not hold."""
        known = self._known
        run = partial(check, with_text(known.document, rewrite.text), self._config, depth=THOROUGH)
        run = partial(run, last=known.parsed, project=self._project, memory=known.memory, cancelled=self._cancelled)
        after = self._turns.once(rewrite.text, run)
        edits = difference(known.document, rewrite.text)
        holds = not self._cancelled() and self._is_no_worse(after) and self._keeps(after, edits, rewrite, loop)
        return edits if holds else ()

    def _is_no_worse(self, after: Analysis) -> bool:
        """True if no rule finds more than it did."""
        found = [
            Counter(each.rule for each in analysis.diagnostics if each.level is not Level.HINT)
            for analysis in (self._known, after)
        ]
        return not found[1] - found[0] and len(after.parsed.problems) <= len(self._known.parsed.problems)

    def _keeps(self, after: Analysis, edits: Sequence[Edit], rewrite: Rewrite, loop: ast.stmt) -> bool:
        """True if all paths through a loop run to their end, and teach what they taught."""
        path, lines = self._known.document.path, kept_lines(self._known.document, edits)
        before = {
            name: tuple(each for each in ways if each.reached.get(loop.lineno))
            for name, ways in self._known.endings.items()
        }
        pairs = [*matched(before, after.endings, lines)]
        if not pairs or loses(before, after.endings, lines, lambda _old, _new: True):
            return False
        taught = [(old.taught, new.taught) for old, new in pairs if old.taught is not None and new.taught is not None]
        changes = [Change(*pair, lines, path) for pair in taught]
        return (
            not any(new.failures for _, new in pairs)
            and all(still_learns(each) and not costs(each) and not makes_constant(each) for each in changes)
            and any(rewrite.holds(new) and _steps_no_less(old, new) for old, new in taught)
        )


def _steps_no_less(old: Taught, new: Taught) -> bool:
    """True if the steps find gradients for as many parameters as before."""
    return len({each.parameter for each in new.lessons}) >= max(len({each.parameter for each in old.lessons}), 1)
