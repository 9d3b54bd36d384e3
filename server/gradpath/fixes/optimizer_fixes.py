"""An optimizer that no backward reaches: made later, made of other parameters, or what cuts it off is undone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.cuts import cause_of_tensor
from gradpath.findings.report import Source
from gradpath.findings.syntax import function_of
from gradpath.fixes import edits
from gradpath.fixes.cut_fixes import undo
from gradpath.fixes.requirement import optimizers
from gradpath.fixes.untrained_fixes import of_others
from gradpath.interpreter.trace import BackwardRan, Built, CutOff, Site, Stepped, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, names_in

MOST_CUTS = 4
"""Cuts that one fix undoes."""


def reached(trace: Trace, source: Source, step: Stepped, near: Site | None) -> Iterator[Fix]:
    """Fixes after which the parameters of the optimizer that steps get gradients; `near` is the backward."""
    made = optimizers(trace)
    if len(made) == 1:
        ((statement, site),) = made.items()
        yield from _made_later(trace, source, step, statement)
        yield from of_others(trace, source, site)
    yield from _joined(trace, source, step, near)


def requiring(source: Source, step: Stepped) -> Iterator[Fix]:
    """`requires_grad=True` for the one new tensor that an optimizer has."""
    made = step.parameters[0].origin if len(step.parameters) == 1 else None
    if isinstance(made, Site) and isinstance(made.node, ast.Call):
        change = edits.add_keyword(source.document(made), made.node, "requires_grad", "True")
        yield from Fix.of(Repair(Way.REQUIRE, text="requires_grad=True"), Safety.UNSAFE, change)


def _made_later(trace: Trace, source: Source, step: Stepped, made: ast.Assign) -> Iterator[Fix]:
    """The optimizer is made after what makes its model again, or gives it a new part: `model.fc = nn.Linear(8, 3)`."""
    document, function, names = source.document(step.site), function_of(trace, made), names_in(made.value)
    given = [
        (each, target)
        for each in trace.visits
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call) and each.lineno > made.lineno
        for target in each.targets
        if names & {part.id for part in contents(target).names} and function_of(trace, each) is function
    ]
    for last, target in given[-1:]:
        moved = edits.relocated(document, [made], partial(edits.insert_after, document, last))
        way = Way.OPTIMIZER_WHERE_MADE if isinstance(target, ast.Name) else Way.OPTIMIZER_WHERE_REPLACED
        repair = Repair(way, (edits.flat(document, target),), (last.lineno,))
        yield from Fix.of(repair, Safety.UNSAFE, moved, rewrite=True)


def _joined(trace: Trace, source: Source, step: Stepped, near: Site | None) -> Iterator[Fix]:
    """What the backward uses of these parameters is no longer cut off: `.detach()` and `.data` go."""
    if near is None:
        return
    own = {id(each) for each in step.parameters}
    executed = {node for event in trace.of(BackwardRan) for node in event.executed}
    used = [each for event in trace.of(Built) if event.node in executed for each in event.operands]
    after_it = {id(one) for each in used for one in each.lineage()}
    fixes: dict[int, Fix] = {}
    for event in trace.of(CutOff):
        cause = cause_of_tensor(event.tensor)
        below = any(id(each) in own for each in event.tensor.ancestors())
        if cause.how not in ("detach", "detach_", "data") or not below or id(event.tensor) not in after_it:
            continue
        found = next(undo(trace, source, cause, near), None)
        if found is not None and cause.site is not None:
            fixes.setdefault(id(cause.site.node), found)
    if 0 < len(fixes) <= MOST_CUTS:
        repairs = tuple(dict.fromkeys(repair for fix in fixes.values() for repair in fix.repairs))
        changes = {edit: None for fix in fixes.values() for edit in fix.edits}
        yield Fix.by(repairs, Safety.UNSAFE, tuple(changes))
