"""Parameters that get gradients, and that no optimizer holds, though one holds others of the same model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Level
from gradpath.interpreter.ownership import Attached, Given, Overlooked
from gradpath.interpreter.trace import BackwardRan, Mutated, Replaced, Site, Stepped, Trace
from gradpath.records import dataclass, replace
from gradpath.rules.gradient_flow import has_run_loops, updated_by_hand
from gradpath.rules.graphs import reached_leaves
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.stories import lowered
from gradpath.rules.syntax import statement_of
from gradpath.rules.untrained_fixes import built_later, registered


@dataclass(frozen=True, slots=True)
class Untrained:
    """Parameters that an optimizer does not hold: how they came to be, who should hold them, and who uses them."""

    cause: Attached | Overlooked
    given: Given
    arrives: BackwardRan
    step: Stepped


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """What became a part of a model after its optimizer was made, and what stands in a plain container of it."""
    if not has_run_loops(trace) or not _causes(trace):
        return
    reported: set[ast.AST] = set()
    for each in _untrained(trace):
        place = each.cause.site.node
        if place not in reported:
            reported.add(place)
            yield _report(trace, source, each)


def _untrained(trace: Trace) -> Iterator[Untrained]:
    if _holds_any(trace):
        return
    held = _held(trace)
    made: list[Given] = []
    for event in trace.among(Given, Attached, Overlooked):
        match event:
            case Given():
                made.append(event)
                continue
            case Attached():
                before = [given for given in made if _is_for(given, event)]
            case Overlooked():
                if _is_hidden(trace, event):
                    continue
                own = set(map(id, event.found))
                everywhere = trace.of(Given)
                before = [given for given in everywhere if not own or own & set(map(id, given.parameters))]
                before = before or [given for given in everywhere if not given.parameters]
            case _:
                continue
        rest = [tensor for tensor in event.tensors if id(tensor) not in held]
        for given in before[:1]:
            used = _used(trace, given, rest)
            if used is not None:
                yield Untrained(event, given, *used)


def _denied(trace: Trace, report: Report) -> bool:
    """Whether a path shows an optimizer that holds, or may hold, what came to be at the place of a report."""
    if _holds_any(trace):
        return True
    held = _held(trace)
    here = (each for each in _causes(trace) if _place(trace, each).node is report.at.node)
    return any(id(tensor) in held for each in here for tensor in each.tensors)


def _causes(trace: Trace) -> list[Attached | Overlooked]:
    """All on a path that may have left an optimizer without parameters."""
    events = trace.among(Attached, Overlooked)
    return [event for event in events if isinstance(event, Attached | Overlooked)]


def _holds_any(trace: Trace) -> bool:
    """Whether there is an optimizer of which it is not known what it holds: any parameters, perhaps."""
    known = {id(given.optimizer): given.known for given in trace.of(Given)}
    return not all(known.values()) or any(not known.get(id(step.optimizer), step.known) for step in trace.of(Stepped))


def _place(trace: Trace, cause: Attached | Overlooked) -> Site:
    """The statement that put something into a module."""
    statement = statement_of(trace, cause.site.node)
    simple = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr))
    return replace(cause.site, node=statement) if simple and statement is not None else cause.site


def _held(trace: Trace) -> set[int]:
    """The parameters that some optimizer holds, or that the program moves by itself."""
    held = {id(tensor) for given in trace.of(Given) for tensor in given.parameters}
    for step in trace.of(Stepped):
        held.update(map(id, (*step.parameters, *step.updated)))
    for event in trace.among(Mutated, Replaced):
        assert isinstance(event, Mutated | Replaced)
        moved = updated_by_hand(trace, event)
        if moved is not None:
            held.add(id(moved))
    return held


def _is_for(given: Given, event: Attached) -> bool:
    """Whether an optimizer was made for the model, or the part of it, that has got new parameters."""
    if any(model is holder for model in given.models for holder in event.holders):
        return True
    own = set(map(id, event.beside))
    return bool(own & set(map(id, given.parameters)))


def _is_hidden(trace: Trace, event: Overlooked) -> bool:
    """Whether a module stands in a container of its own, `self.teacher = [teacher]`, to be kept from `parameters()`."""
    match statement_of(trace, event.site.node):
        case ast.Assign(value=ast.List(elts=[one]) | ast.Tuple(elts=[one]) | ast.Dict(values=[one])):
            return not isinstance(one, ast.Starred)
        case _:
            return False


def _used(trace: Trace, given: Given, tensors: Sequence[Tensor]) -> tuple[BackwardRan, Stepped] | None:
    """The backward that gives a gradient to one of these, and the step after it, which does not use that."""
    wanted = set(map(id, tensors))
    arrives: BackwardRan | None = None
    for event in trace.among(BackwardRan, Stepped):
        match event:
            case BackwardRan() if event.call.accumulates and any(id(leaf) in wanted for leaf in reached_leaves(event)):
                arrives = event
            case Stepped() if arrives is not None and event.optimizer is given.optimizer and _moves(event):
                return arrives, event
    return None


def _moves(step: Stepped) -> bool:
    """Whether a step changes anything; of one that changes nothing at all, another rule tells."""
    return bool(step.updated) or not step.known


def _report(trace: Trace, source: Source, found: Untrained) -> Report:
    cause, given = found.cause, found.given
    place = _place(trace, cause)
    match cause:
        case Attached():
            why = "its optimizer was made before it"
            steps = (
                Step(given.site, "takes the parameters that the model has now"),
                Step(place, "new parameters, which the optimizer does not know"),
            )
            way = "make the optimizer when the model is complete"
            fixes = tuple(built_later(trace, source, given, place))
        case Overlooked(kind=kind):
            why = f"`parameters()` does not look into a plain {kind}"
            steps = (
                Step(place, f"a plain {kind}: `parameters()` finds nothing in it"),
                Step(given.site, "takes what `parameters()` gives"),
            )
            way = "hold them in an `nn.ModuleList` or its kin"
            fixes = tuple(registered(trace, source, cause))
    return Report(
        RULE.id,
        place,
        f"`{source.short(cause.site, limit=40)}` is never trained: {why}",
        (
            *steps,
            Step(found.arrives.site, "gives them gradients"),
            Step(found.step.site, _left_alone(found.step)),
        ),
        help=lowered(fixes[0].title) if fixes else way,
        alternatives=tuple(lowered(fix.title) for fix in fixes[1:]),
        fixes=fixes,
    )


def _left_alone(step: Stepped) -> str:
    by_trainer = isinstance(step.site.node, ast.FunctionDef)
    return "the step after it leaves them as they are" if by_trainer else "leaves them as they are"


RULE = Rule(
    "untrained-parameter",
    "loop",
    Level.WARNING,
    "gradients arrive at parameters that no optimizer holds, though one holds others of the same model",
    None,
    find,
    _denied,
    lasting=True,
)
