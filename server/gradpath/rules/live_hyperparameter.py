"""An optimizer's option that is a tensor with a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import lifted
from gradpath.findings.syntax import call_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import OptionSet
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Options that have a graph when they are set."""
    for event in trace.of(OptionSet):
        node = event.node
        if node is not None and not node.is_open and node.accumulates is None:
            yield _report(trace, source, event)


def _report(trace: Trace, source: Source, event: OptionSet) -> Report:
    statement = statement_of(trace, event.site.node)
    value = _value(trace, event, statement)
    at = event.site
    if isinstance(statement, (ast.Assign, ast.AugAssign)) and not isinstance(event.site.node, ast.Call):
        at = replace(event.site, node=statement)
    steps: list[Step] = []
    if event.node is not None:
        made = lifted(event.node.site, event.site)
        if made.node is not at.node and made.node is not value:
            steps.append(Step(made, "a tensor with its graph"))
    steps.append(Step(at, f"the optimizer keeps it as its {event.name}"))
    text = source.short(event.site, value, 30) if value is not None else event.name
    return Report(
        at,
        f"`{event.name}` becomes a tensor with a graph: the optimizer keeps what `{text}` came from",
        tuple(steps),
        help="an option is a number: take it out of the tensor with `.item()`",
        fixes=source.proposed(_fixes(source, event, value)),
    )


def _value(trace: Trace, event: OptionSet, statement: ast.stmt | None) -> ast.expr | None:
    if isinstance(statement, ast.Assign) and event.site.node in statement.targets:
        return statement.value
    call = call_of(trace, event.site.node)
    if call is not None:
        return next((each.value for each in call.keywords if each.arg == event.name), None)
    return None


def _fixes(source: Source, event: OptionSet, value: ast.expr | None) -> Iterator[Fix]:
    if value is not None:
        edit = edits.append(source.document(event.site), value, ".item()")
        yield Fix.by(Repair(Way.TAKE_NUMBER), Safety.SAFE, edit)


RULE = Rule(
    "live-hyperparameter",
    "detach",
    Level.WARNING,
    "a learning rate or another option of an optimizer is set from a tensor that is still on the graph",
    find,
)
