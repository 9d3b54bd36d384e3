"""A flag that nothing reads: `layer.requires_grad = False` of a module, or a misspelt one of a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from itertools import dropwhile

from gradpath.autograd.tensor import SWITCHED_OFF
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.learning import learners
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.syntax import statement_of
from gradpath.findings.ways import ways_in
from gradpath.fixes import edits
from gradpath.interpreter.events import BackwardRan, Flagged, Stepped
from gradpath.interpreter.ownership import FlagMissed
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.ownership.frozen_for_good import flagged_parts, frozen_for_others, frozen_parts, left_frozen, spared
from gradpath.rules.ownership.idle_conditions import idle_conditions
from gradpath.rules.ownership.undone import undone
from gradpath.source.index import contents, index_of, methods_called


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Assignments that were to freeze or thaw what a loss shows to be as before, and that nothing makes up for.

    Where nothing is trained, whoever trains it will miss the flag, unless the file sets it in another way.
    """
    for find_frozen in (undone, left_frozen, frozen_for_others, flagged_parts, frozen_parts, spared, idle_conditions):
        yield from find_frozen(trace, source)
    trains = bool(trace.among(BackwardRan, Stepped))
    for event in trace.of(FlagMissed):
        if _is_set(trace, event):
            continue
        shown = _shown_by(trace, event)
        if shown is not None or _is_misspelt(source, event) or not (trains or _may_be_set(source, event)):
            yield _report(trace, source, event, shown)


def _is_misspelt(source: Source, event: FlagMissed) -> bool:
    """True if the flag has a name that nothing in the file reads: it is no use, whatever is trained."""
    match event.site.node:
        case ast.Attribute(attr=attribute) if attribute != FLAG:
            read = contents(source.tree(event.site.path)).attributes
            return not any(each.attr == attribute and isinstance(each.ctx, ast.Load) for each in read)
    return False


def _is_set(trace: Trace, event: FlagMissed) -> bool:
    """True if the flag of one of the parameters is set at another place."""
    missed = {id(tensor) for tensor in event.tensors}
    return any(
        flagged.value is event.value and id(flagged.tensor) in missed and flagged.site.node is not event.site.node
        for flagged in trace.of(Flagged)
    )


def _may_be_set(source: Source, event: FlagMissed) -> bool:
    """True if other code reads the flag, asks for the parameters of its module, or never needs their gradients."""
    match event.site.node:
        case ast.Attribute(value=owner, attr=attribute) if attribute == FLAG:
            pass
        case _:
            return False
    name = ast.unparse(owner)
    tree = source.tree(event.site.path)
    read = (each for each in contents(tree).attributes if each.attr == FLAG and isinstance(each.ctx, ast.Load))
    reaching = (of for of, method, _ in methods_called(tree) if method in _REACHING)
    if any(ast.unparse(each) == name for each in (*(each.value for each in read), *reaching)):
        return True
    called = [call for call in contents(tree).calls if ast.unparse(call.func) == name]
    return bool(called) and all(map(partial(_is_without_grad, tree), called))


FLAG = "requires_grad"

_REACHING = frozenset({"requires_grad_", "parameters", "named_parameters"})


def _is_without_grad(tree: ast.Module, call: ast.Call) -> bool:
    """True if gradients are off around a call, by the decorator of its function or by a block."""
    way = next(filter(None, (index_of(each).way_to(call) for each in tree.body)), ())
    modes = [each.context_expr for block in way if isinstance(block, ast.With) for each in block.items]
    modes += [each for function in way if isinstance(function, ast.FunctionDef) for each in function.decorator_list]
    return any(each.attr in SWITCHED_OFF for mode in modes for each in contents(mode).attributes)


def _shown_by(trace: Trace, event: FlagMissed) -> Step | None:
    """The first step that changes what was to be frozen, or backward that leaves out what was to be thawed."""
    if event.value:
        events = trace.among(FlagMissed, BackwardRan)
        for run in dropwhile(lambda each: each is not event, events):
            if isinstance(run, BackwardRan) and any(map(ways_in(trace, run), event.tensors)):
                return Step(run.site, "gives no gradient to what was to learn")
        return None
    missed = {id(tensor.storage) for tensor in event.tensors}
    used = (each for each in learners(trace).values() if each.used)
    step = next((each.used[0] for each in used if not missed.isdisjoint(map(id, each.tensor.storage.whole()))), None)
    return None if step is None else Step(step.site, "changes what was to stay the same")


def _report(trace: Trace, source: Source, event: FlagMissed, shown: Step | None) -> Report:
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
        event.site,
        f"`{text}` {'thaws' if event.value else 'freezes'} nothing: {why}" + _presumed(event, target),
        (Step(event.site, "sets an attribute that nothing reads"), *([] if shown is None else [shown])),
        help=way,
        fixes=source.proposed(_fixes(source, event, assigned)),
    )


def _presumed(event: FlagMissed, target: ast.expr | None) -> str:
    if event.by_name and isinstance(target, ast.Attribute):
        return f", if `{ast.unparse(target.value)}` is one"
    return ""


def _report_compared(source: Source, event: FlagMissed, compared: ast.Compare, shown: Step | None) -> Report:
    """The report of `p.requires_grad == False`."""
    document, (value,) = source.document(event.site), compared.comparators
    text = f"{edits.flat(document, compared.left)} = {edits.flat(document, value)}"
    edit = edits.replace(document, compared, text)
    fix = Fix.by(Repair(Way.FREEZE_IT, text=text), Safety.UNSAFE, (edit,))
    return Report(
        event.site,
        f"`{source.short(event.site, compared, 40)}` freezes nothing: `==` compares",
        (Step(event.site, "compares, and forgets the result"), *([] if shown is None else [shown])),
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
        text = f"{owner}.requires_grad = {edits.flat(document, statement.value)}"
        edit = edits.replace(document, target, f"{owner}.requires_grad")
    yield Fix.by(Repair(Way.THAW_IT if event.value else Way.FREEZE_IT, text=text), Safety.UNSAFE, (edit,))


RULE = Rule(
    "freeze-without-effect",
    "loop",
    Level.WARNING,
    "an assignment was to freeze parameters, or to thaw them, and sets an attribute that nothing reads",
    find,
    idle=True,
)
