"""A flag that nothing reads: `layer.requires_grad = False` of a module, or a misspelt one of a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Advice, Fix, Level, Safety
from gradpath.interpreter.ownership import FlagMissed
from gradpath.interpreter.trace import Flagged, Stepped, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.learning import learners
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.syntax import statement_of


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Assignments that were to freeze what a step then changes, and that no other statement makes up for."""
    seen: set[ast.AST] = set()
    for event in trace.of(FlagMissed):
        step = _changed_by(trace, event)
        if step is not None and event.site.node not in seen:
            seen.add(event.site.node)
            yield _report(trace, source, event, step)


def _changed_by(trace: Trace, event: FlagMissed) -> Stepped | None:
    """The first step that changes what was to be frozen; none where that is frozen at another place."""
    if any(flagged.tensor is tensor and not flagged.value for flagged in trace.of(Flagged) for tensor in event.tensors):
        return None
    known = learners(trace)
    learned = [known[id(tensor)] for tensor in event.tensors if id(tensor) in known]
    return next((each.used[0] for each in learned if each.used), None)


def _report(trace: Trace, source: Source, event: FlagMissed, step: Stepped) -> Report:
    statement = statement_of(trace, event.site.node)
    if isinstance(event.site.node, ast.Compare):
        return _report_compared(source, event, event.site.node, step)
    assigned = statement if isinstance(statement, ast.Assign) else None
    target = assigned.targets[0] if assigned is not None else None
    name = target.attr if isinstance(target, ast.Attribute) else "requires_grad"
    text = name if assigned is None else source.short(event.site, assigned, 40)
    why, way = "the flag is `requires_grad`", "set `requires_grad`, with this spelling"
    if name == "requires_grad":
        why, way = "a module has no such flag", "call `requires_grad_(False)`, which reaches all parameters of a module"
    return Report(
        RULE.id,
        event.site,
        f"`{text}` freezes nothing: {why}",
        (
            Step(event.site, "sets an attribute that nothing reads"),
            Step(step.site, "changes what was to stay the same"),
        ),
        help=way,
        fixes=tuple(_fixes(source, event, assigned)),
    )


def _report_compared(source: Source, event: FlagMissed, compared: ast.Compare, step: Stepped) -> Report:
    """The report of `p.requires_grad == False`."""
    document, (value,) = source.document(event.site), compared.comparators
    text = f"{edits.flat(document, compared.left)} = {edits.flat(document, value)}"
    edit = edits.replace(document, compared, text)
    fix = Fix.by(Repair(Way.FREEZE_IT, text=text), Safety.UNSAFE, (edit,), preferred=True)
    return Report(
        RULE.id,
        event.site,
        f"`{source.short(event.site, compared, 40)}` freezes nothing: `==` compares",
        (Step(event.site, "compares, and forgets the result"), Step(step.site, "changes what was to stay the same")),
        help=Advice.of(fix),
        fixes=(fix,),
    )


def _fixes(source: Source, event: FlagMissed, statement: ast.Assign | None) -> Iterator[Fix]:
    if statement is None or not isinstance(statement.targets[0], ast.Attribute) or len(statement.targets) > 1:
        return
    target, document = statement.targets[0], source.document(event.site)
    owner = edits.flat(document, target.value)
    if target.attr == "requires_grad":
        text = f"{owner}.requires_grad_(False)"
        edit = edits.replace(document, statement, text)
    else:
        text = f"{owner}.requires_grad"
        edit = edits.replace(document, target, text)
    yield Fix.by(Repair(Way.FREEZE_IT, text=text), Safety.UNSAFE, (edit,), preferred=True)


RULE = Rule(
    "freeze-without-effect",
    "loop",
    Level.WARNING,
    "an assignment was to freeze parameters, and sets an attribute that nothing reads: a step changes them",
    None,
    find,
    idle=True,
)
