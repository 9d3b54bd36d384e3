"""A flag that nothing reads: `layer.requires_grad = False` of a module, or a misspelt one of a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import dropwhile

from gradpath.diagnostic import Advice, Fix, Level, Safety
from gradpath.interpreter.ownership import FlagMissed
from gradpath.interpreter.trace import BackwardRan, Flagged, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.learning import learners, ways_in
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.syntax import statement_of


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Assignments that were to freeze or thaw what a loss shows to be as before, and that nothing makes up for."""
    seen: set[ast.AST] = set()
    for event in trace.of(FlagMissed):
        shown = _shown_by(trace, event)
        if shown is not None and event.site.node not in seen:
            seen.add(event.site.node)
            yield _report(trace, source, event, shown)


def _shown_by(trace: Trace, event: FlagMissed) -> Step | None:
    """The first step that changes what was to be frozen, or backward that leaves out what was to be thawed.

    None where the flag is set at another place.
    """
    missed = {id(tensor) for tensor in event.tensors}
    if any(flagged.value is event.value and id(flagged.tensor) in missed for flagged in trace.of(Flagged)):
        return None
    if event.value:
        events = trace.among(FlagMissed, BackwardRan)
        for run in dropwhile(lambda each: each is not event, events):
            if isinstance(run, BackwardRan) and any(map(ways_in(trace, run), event.tensors)):
                return Step(run.site, "gives no gradient to what was to learn")
        return None
    known = learners(trace)
    learned = [known[id(tensor)] for tensor in event.tensors if id(tensor) in known]
    step = next((each.used[0] for each in learned if each.used), None)
    return None if step is None else Step(step.site, "changes what was to stay the same")


def _report(trace: Trace, source: Source, event: FlagMissed, shown: Step) -> Report:
    statement = statement_of(trace, event.site.node)
    if isinstance(event.site.node, ast.Compare):
        return _report_compared(source, event, event.site.node, shown)
    assigned = statement if isinstance(statement, ast.Assign) else None
    target = assigned.targets[0] if assigned is not None else None
    name = target.attr if isinstance(target, ast.Attribute) else "requires_grad"
    text = name if assigned is None else source.short(event.site, assigned, 40)
    why, way = "the flag is `requires_grad`", "set `requires_grad`, with this spelling"
    if name == "requires_grad":
        why = "a module has no such flag"
        way = f"call `requires_grad_({event.value})`, which reaches all parameters of a module"
    return Report(
        RULE.id,
        event.site,
        f"`{text}` {'thaws' if event.value else 'freezes'} nothing: {why}",
        (Step(event.site, "sets an attribute that nothing reads"), shown),
        help=way,
        fixes=source.proposed(_fixes(source, event, assigned)),
    )


def _report_compared(source: Source, event: FlagMissed, compared: ast.Compare, shown: Step) -> Report:
    """The report of `p.requires_grad == False`."""
    document, (value,) = source.document(event.site), compared.comparators
    text = f"{edits.flat(document, compared.left)} = {edits.flat(document, value)}"
    edit = edits.replace(document, compared, text)
    fix = Fix.by(Repair(Way.FREEZE_IT, text=text), Safety.UNSAFE, (edit,), preferred=True)
    return Report(
        RULE.id,
        event.site,
        f"`{source.short(event.site, compared, 40)}` freezes nothing: `==` compares",
        (Step(event.site, "compares, and forgets the result"), shown),
        help=Advice.of(fix),
        fixes=(fix,),
    )


def _fixes(source: Source, event: FlagMissed, statement: ast.Assign | None) -> Iterator[Fix]:
    if statement is None or not isinstance(statement.targets[0], ast.Attribute) or len(statement.targets) > 1:
        return
    target, document = statement.targets[0], source.document(event.site)
    owner = edits.flat(document, target.value)
    if target.attr == "requires_grad":
        text = f"{owner}.requires_grad_({event.value})"
        edit = edits.replace(document, statement, text)
    else:
        text = f"{owner}.requires_grad"
        edit = edits.replace(document, target, text)
    yield Fix.by(
        Repair(Way.THAW_IT if event.value else Way.FREEZE_IT, text=text), Safety.UNSAFE, (edit,), preferred=True
    )


RULE = Rule(
    "freeze-without-effect",
    "loop",
    Level.WARNING,
    "an assignment was to freeze parameters, or to thaw them, and sets an attribute that nothing reads",
    None,
    find,
    idle=True,
)
