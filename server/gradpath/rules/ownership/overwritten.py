"""Optimizers that a loop makes one after another under one name: only the last of them ever steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.findings.learning import learners
from gradpath.findings.report import Report, Step
from gradpath.findings.syntax import statement_of
from gradpath.interpreter.events import BackwardRan, Stepped, iterations_between
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import replace


def overwritten(trace: Trace) -> Iterator[Report]:
    """The places that make optimizers of which all but the last never step, for parameters that get gradients."""
    steps = {id(event.optimizer): event for event in trace.of(Stepped)}
    made: dict[ast.AST, list[Given]] = {}
    for given in trace.of(Given):
        made.setdefault(given.site.node, []).append(given)
    for *earlier, last in made.values():
        step, name = steps.get(id(last.optimizer)), _name_of(trace, last)
        lost = [each for each in earlier if _is_replaced(each, last)]
        arrives = next((ran for each in lost for ran in _arriving(trace, each)), None)
        if step is not None and name and arrives is not None:
            yield _report(trace, last, name, arrives, step)


def _is_replaced(given: Given, last: Given) -> bool:
    return given.known and iterations_between(given.site.loops, last.site.loops) is not None


def _arriving(trace: Trace, given: Given) -> Iterator[BackwardRan]:
    """The backwards that give gradients to what an optimizer holds, as far as no step takes them."""
    known = learners(trace)
    for each in given.parameters:
        learner = known.get(id(each))
        if learner is not None and not learner.stepped:
            yield from learner.given


def _name_of(trace: Trace, given: Given) -> str:
    """The variable that an optimizer is bound to as soon as it is made, and nothing else; empty if there is none."""
    match statement_of(trace, given.site.node):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is given.site.node:
            return name
    return ""


def _report(trace: Trace, last: Given, name: str, arrives: BackwardRan, step: Stepped) -> Report:
    made = replace(last.site, node=statement_of(trace, last.site.node))
    return Report(
        made,
        f"`{name}` is replaced in each iteration: nothing steps what the earlier ones hold",
        (
            Step(made, "takes the place of the one before it"),
            Step(arrives.site, "gives gradients to what that one holds"),
            Step(step.site, "steps the last one"),
        ),
        help="keep them all in a list and step each, or give the parameters of all to one optimizer",
    )
