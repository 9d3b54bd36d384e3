"""Conditions that decide nothing about the flags of parameters: both branches freeze, or only what learns is thawed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.findings.parameters import named
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.syntax import ancestry, statement_of
from gradpath.interpreter.events import Bound, Flagged, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.source.index import holds, inside
from gradpath.support.fast_dataclasses import replace


def idle_conditions(trace: Trace, source: Source) -> Iterator[Report]:
    """The conditions by which parameters stay frozen that an optimizer has, where it changes others."""
    last = {id(event.tensor): event for event in trace.of(Flagged)}
    held = {id(each): step for step in reversed(trace.of(Stepped)) if step.updated for each in step.held}
    for site, tensors, thaws in (*_both_freeze(trace), *_thawing_nothing(trace, last)):
        step = next((held[id(each)] for each in tensors if id(each) in held), None)
        if step is not None and not any(last[id(each)].value for each in tensors):
            yield _report(trace, source, site, tensors, last[id(tensors[0])].site if thaws else None, step.site)


def _report(
    trace: Trace, source: Source, site: Site, tensors: tuple[Tensor, ...], thawed: Site | None, step: Site
) -> Report:
    """The report of a condition under which what was frozen is thawed, or else of which both branches freeze."""
    what, more = named(trace, source, tensors, "what is frozen")
    test = source.short(site, limit=40)
    frozen = f"both branches of `{test}` freeze" if thawed is None else f"`{test}` leaves out what is frozen"
    return Report(
        site,
        f"{what}{more} never learn{'' if more else 's'}: {frozen}",
        (
            *(() if thawed is None else (Step(thawed, "freezes"),)),
            Step(site, "freezes either way" if thawed is None else "holds for nothing that is frozen"),
            Step(step, "changes other parameters"),
        ),
        help=f"set the flag to True {'in one of the branches' if thawed is None else 'without the condition'}",
    )


_Found = tuple[Site, tuple[Tensor, ...], bool]


def _both_freeze(trace: Trace) -> Iterator[_Found]:
    """The conditions of which both branches freeze by the same statement, and what they froze."""
    branches: dict[ast.If, dict[int, list[Flagged]]] = {}
    for event in trace.of(Flagged):
        way = ancestry(trace, event.site.node)
        around = next((each for each in reversed(way) if isinstance(each, ast.If)), None)
        if around is not None and not event.value:
            arm = next((number for number, each in enumerate((around.body, around.orelse)) if _is_on(each, way)), 2)
            branches.setdefault(around, {}).setdefault(arm, []).append(event)
    for condition, arms in branches.items():
        if arms.keys() == {0, 1}:
            written = {ast.dump(statement_of(trace, event.site.node)) for arm in arms.values() for event in arm}
            events = [event for arm in arms.values() for event in arm]
            if len(written) == 1:
                yield replace(events[0].site, node=condition.test), tuple(each.tensor for each in events), False


def _is_on(block: list[ast.stmt], way: tuple[ast.AST, ...]) -> bool:
    """True if a block is on the way to a node."""
    return any(each in way for each in block)


def _thawing_nothing(trace: Trace, last: dict[int, Flagged]) -> Iterator[_Found]:
    """The conditions that ask for the flag before they set it, and the frozen parameters that they leave out."""
    found: dict[ast.expr, tuple[Site, list[Tensor]]] = {}
    for event in trace.of(Bound) if last else ():
        tensor = event.tensor
        if tensor is None or id(tensor) not in last or tensor.flag:
            continue
        for loop in ancestry(trace, event.site.node):
            test = _asking(loop, event) if isinstance(loop, ast.For) else None
            if test is not None and trace.events.index(last[id(tensor)]) < trace.events.index(event):
                found.setdefault(test, (replace(event.site, node=test), []))[1].append(tensor)
    for site, tensors in found.values():
        yield site, tuple(tensors), True


def _asking(loop: ast.For, bound: Bound) -> ast.expr | None:
    """The condition `p.requires_grad` of a loop over `p` under which it sets that flag, and does nothing else."""
    if not holds(loop.target, bound.site.node):
        return None
    for each in inside(loop, ast.If):
        match each:
            case ast.If(
                test=ast.Attribute(value=ast.Name(id=name), attr="requires_grad") as test, body=[statement], orelse=[]
            ) if name == bound.name == _thawed(statement):
                return test
    return None


def _thawed(statement: ast.stmt) -> str | None:
    """The variable of which a statement sets the flag to True, in whichever way."""
    match statement:
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id=name), attr="requires_grad")], value=ast.Constant(True)
        ):
            return name
        case ast.Expr(
            ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="requires_grad_"),
                args=[] | [ast.Constant(True)],
                keywords=[],
            )
        ):
            return name
    return None
