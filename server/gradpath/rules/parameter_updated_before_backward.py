"""A step, or another update of parameters, between a forward and the backward that still needs their old values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial

from gradpath.autograd.errors import MESSAGES, FaultKind
from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Advice, Edit, Fix, Level, Range, Safety
from gradpath.findings.carrying import Case, case_over
from gradpath.findings.graphs import nodes_of
from gradpath.findings.overwriting import Overwriting, overwritings, step_of
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import following, lifted, occasion, same_activation, with_time
from gradpath.findings.syntax import block_of, call_of, statement_of
from gradpath.findings.trained import trained_after
from gradpath.fixes import edits
from gradpath.fixes.detachment import detachments
from gradpath.fixes.moving import moving, removed
from gradpath.fixes.out_of_place import saved_copies
from gradpath.fixes.recomputation import Need, recomputations
from gradpath.interpreter.events import BackwardRan, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Transformation, Way
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Saved parameters that got a new value before their backward."""
    for found in overwritings(trace):
        if found.is_update:
            yield _report(trace, source, found)


def _report(trace: Trace, source: Source, found: Overwriting) -> Report:
    update = source.short(found.site, limit=34)
    again = source.short(found.failure.site, limit=30)
    old = _is_from_before(found)
    when = occasion(trace, found.failure.site, found.site)
    line = f" on line {found.failure.site.line}" if not when else ""
    headline = f"`{update}` changes parameters that `{again}`{line} still needs"
    if old:
        headline = f"`{update}` changes parameters that the graph kept from before still needs"
    return Report(
        found.site,
        headline,
        tuple(_steps(trace, found)),
        raised_at=found.failure.site,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.MODIFIED]}",
        help=_help(trace, source, found, old=old),
        alternatives=source.proposed(_refuted(trace, source, found) if old else ()),
        fixes=source.proposed(_fixes(trace, source, found)),
        why=partial(_why, old),
    )


def _case(trace: Trace, source: Source, found: Overwriting) -> Case | None:
    error = found.failure.error
    return None if error is None else case_over(trace, source, found.failure, error, found.node)


def _is_from_before(found: Overwriting) -> bool:
    """True if the graph was built in an earlier iteration than the one that needs it."""
    return following_iteration(found.saved_at, found.failure.site)


def following_iteration(earlier: Site, later: Site) -> bool:
    """True if `later` is in another iteration of a loop that both are in, or in a loop that began since."""
    inside = dict(earlier.loops)
    return any(inside.get(number) != iteration for number, iteration in later.loops)


def _steps(trace: Trace, found: Overwriting) -> Iterator[Step]:
    site = found.saved_at
    made = lifted(site, found.failure.site)
    if _has_updated(found, made):
        made = lifted(site, found.site)
    yield Step(made, with_time(occasion(trace, made, found.failure.site), "saves parameters for its backward"))
    yield Step(found.site, with_time(following(trace, found.site, site), "changes them"))
    when = following(trace, found.failure.site, found.site)
    yield Step(found.failure.site, with_time(when, "needs them as they were"))


def _why(old: bool, fix: Fix) -> str:
    return f"start each iteration from the value alone: {fix.said}" if old and _detaches(fix) else fix.said


def _detaches(fix: Fix) -> bool:
    return fix.does(Transformation.DETACH)


def _help(trace: Trace, source: Source, found: Overwriting, *, old: bool) -> str:
    if old:
        return "start each iteration from values alone: detach what is carried over, and drop retain_graph=True"
    site = found.saved_at
    made = lifted(site, found.failure.site)
    if _has_updated(found, made):
        if not _has_gone_back(trace, made):
            return "update after the backward, or compute with a copy of what is updated"
        return f"go on with the value alone: detach what `{source.short(made, limit=40)}` gives"
    return f"compute `{source.short(made, limit=40)}` after the update, so that it sees the new parameters"


def _refuted(trace: Trace, source: Source, found: Overwriting) -> Iterator[Advice]:
    """Why not to keep the graph."""
    call = call_of(trace, found.failure.site.node)
    if call is not None:
        edit = edits.add_keyword(source.document(found.failure.site), call, "retain_graph", "True")
        refuted = Fix.by(Repair(Way.RETAIN, lines=(call.lineno,)), Safety.UNSAFE, () if edit is None else (edit,))
        text = "not a way out: more retain_graph=True; the parameters have changed all the same"
        yield Advice(text, refuted=refuted)


def _fixes(trace: Trace, source: Source, found: Overwriting) -> Iterator[Fix]:
    near, call = found.failure.site, found.failure.error.call if found.failure.error is not None else None
    starts = nodes_of(call.roots) if call is not None else []
    if _is_from_before(found):
        case = _case(trace, source, found)
        dropped = _dropped(trace, source, found)
        for fix in detachments(case.crossing) if case is not None and not case.from_outside else ():
            yield replace(fix, edits=(*fix.edits, *dropped))
        starts = [each.node for each in case.carried] if case is not None and case.carried else starts
        uses = () if case is None else (case.turn, *(each.place for each in case.carried[:1]))
        yield from recomputations(replace(_need(trace, source, found, starts), uses=uses))
        return
    yield from _handed_on_without_graph(trace, source, found)
    if same_activation(found.site, near) and isinstance(statement_of(trace, found.site.node), ast.Expr):
        yield from _moved(trace, source, found)
    yield from recomputations(_need(trace, source, found, starts))


def _need(trace: Trace, source: Source, found: Overwriting, starts: list[Node]) -> Need:
    """The operation that saved parameters as they were before the update."""
    return Need(trace, source, tuple(starts), _is_old(trace, found), found.failure.site, (found.site,), updated=True)


def _has_updated(found: Overwriting, made: Site) -> bool:
    """True if the call that built the graph has updated the parameters as well."""
    return lifted(found.site, found.failure.site) == made


def _has_gone_back(trace: Trace, made: Site) -> bool:
    """True if a call has run a backward of its own: what it gives is a value for others then, not what they train."""
    return any(frame == made for run in trace.of(BackwardRan) for frame in run.site.frames())


def _handed_on_without_graph(trace: Trace, source: Source, found: Overwriting) -> Iterator[Fix]:
    """Let others read the result of a call that has done its own update as a value.

    Where the call has only updated, as a moving average in a `forward` does, the rest is computed with a copy.
    """
    site = found.saved_at
    if not _has_updated(found, made := lifted(site, found.failure.site)):
        return
    if not _has_gone_back(trace, made):
        yield from saved_copies(trace, source, found)
        return
    statement = statement_of(trace, made.node)
    if not isinstance(statement, ast.Assign) or statement.value is not made.node:
        return
    if isinstance(statement.targets[0], ast.Name):
        document = source.document(made)
        end = document.range_of(statement.value).end
        repair = Repair(Way.DETACH_RESULT, (source.short(made, limit=40),))
        yield Fix.by(repair, Safety.UNSAFE, (Edit(document.path, Range(end, end), ".detach()"),))


def _is_old(trace: Trace, found: Overwriting) -> Callable[[Node], bool]:
    """Tells of a node whether it has saved parameters as they were before the update."""
    step = step_of(trace, found)
    updated = {tensor.storage for tensor in step.updated} if step is not None else {found.saved.storage}
    return lambda node: any(saved.storage in updated for saved in node.saved)


def _moved(trace: Trace, source: Source, found: Overwriting) -> Iterator[Fix]:
    """The update after the last backward, which may give its gradients to the parameters of its own optimizer alone.

    Where the program updates there as well, this one goes.
    """
    statement, last = (statement_of(trace, each.node) for each in (found.site, found.failure.site))
    later = (each for each in block_of(trace, last) if each.lineno > last.lineno)
    if any(ast.dump(each) == ast.dump(statement) for each in later):
        repair = Repair(Way.DELETE_LINE, lines=(statement.lineno,), text=source.short(found.site))
        yield from Fix.of(repair, Safety.SAFE, removed(trace, source.document(found.site), statement))
        return
    fix = next(moving(trace, source, found.site, found.failure.site, Way.MOVE_AFTER_LAST_BACKWARD, Safety.SAFE), None)
    if fix is None:
        return
    yield fix
    step, call = step_of(trace, found), call_of(trace, found.failure.site.node)
    own = trained_after(step, found.failure, trace) if step is not None else None
    if own is None or call is None or any(each.arg == "inputs" for each in call.keywords):
        return
    only = edits.add_keyword(source.document(found.failure.site), call, "inputs", own)
    what = own.removeprefix("list(").removesuffix(")") if own.startswith("list(") else own
    repair = replace(fix.repairs[0], way=Way.MOVE_AFTER_BACKWARD_OF, subjects=(what,))
    yield from Fix.of(repair, Safety.SAFE, *fix.edits, only, rewrite=True)


def _dropped(trace: Trace, source: Source, found: Overwriting) -> tuple[Edit, ...]:
    """Remove `retain_graph=True` where it served the old graph alone: the program has no other backward."""
    call = call_of(trace, found.failure.site.node)
    runs = trace.of(BackwardRan)
    if call is None or any(run.site.node is not found.failure.site.node for run in runs):
        return ()
    edit = edits.drop_keyword(source.document(found.failure.site), call, "retain_graph")
    return () if edit is None else (edit,)


RULE = Rule(
    "parameter-updated-before-backward",
    "in-place",
    Level.ERROR,
    "an optimizer's `step()`, or another update, changes parameters that a later `backward()` still needs",
    find,
    raises=(
        r"has been modified by an inplace operation",
        r"Trying to use a saved tensor that has been detached in-place",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.MODIFIED]}",
)
