"""A loss that is cut off and made to require a gradient by force: the backward runs, and nothing learns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Edit, Fix, Level, Safety
from gradpath.findings import cuts
from gradpath.findings.definitions import is_read_out, numbers_kept
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.rewrapping import Rewrapping, rewrapped_terms, rewrappings
from gradpath.findings.stories import name_of
from gradpath.findings.syntax import statement_of
from gradpath.findings.unreached import unreached
from gradpath.fixes import cut_fixes, edits
from gradpath.fixes.moving import removed
from gradpath.fixes.on_tensors import Rewriting, on_tensors
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, holds
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """One report for each place that rewraps a loss."""
    for found in (*rewrappings(trace), *rewrapped_terms(trace)):
        if found.is_whole or found.is_term or not any(unreached(trace, source)):
            yield _report(trace, source, found)


def _report(trace: Trace, source: Source, found: Rewrapping) -> Report:
    cause = cuts.cause_of(trace, found.loss, rewrapped=True)
    statement = statement_of(trace, found.site.node)
    at = found.site
    if isinstance(statement, ast.Assign) and isinstance(found.site.node, ast.Attribute):
        at = replace(found.site, node=statement)
    wrap = source.short(at, limit=40)
    name = name_of(trace, source, found.loss, found.ran.site)
    same = cause.site is None or holds(found.site.node, cause.site.node)
    steps = list(cuts.leaving(cause) if same else cuts.steps(trace, source, cause))
    fixes = source.proposed(_fixes(trace, source, found, cause, statement))
    return Report(
        at,
        f"`{wrap}` makes a leaf of {_what(found)}",
        (
            *steps,
            Step(at, f"makes {f'`{name}`' if name and len(name) < 20 else 'it'} a leaf, cut off from the model"),
            Step(
                found.ran.site,
                "gives a gradient to the loss alone" if found.is_whole else "leads no further than to it",
            ),
        ),
        help=_help(cause, same, found),
        fixes=fixes,
    )


def _what(found: Rewrapping) -> str:
    """What was made a leaf, and what comes of it."""
    if found.is_term:
        return "a term of the loss: no parameter learns from it"
    what = "the loss" if found.is_whole else "all that the loss depends on"
    return f"{what}: the backward runs, and no parameter gets a gradient"


def _help(cause: cuts.Cause, same: bool, found: Rewrapping) -> str:
    if same and cause.how == "numpy":
        return cuts.way_out(cause)
    if cause.site is None:
        return "remove it, and find what cuts the loss off from the model"
    if same:
        wanted = "back-propagate the loss" if found.is_whole else "add the term" if found.is_term else "use the tensor"
        return f"{wanted} itself, not a copy of its value"
    return f"remove it, and fix the cut on line {cause.site.line}: {cuts.way_out(cause)}"


def _fixes(
    trace: Trace, source: Source, found: Rewrapping, cause: cuts.Cause, statement: ast.stmt | None
) -> Iterator[Fix]:
    node = found.site.node
    if cause.site is not None and not holds(node, cause.site.node):
        drop = _without_wrap(trace, source, found, statement)
        for fix in cut_fixes.undo(trace, source, cause, found.ran.site):
            yield from Fix.of((*fix.repairs, Repair(Way.NO_FORCE)), Safety.UNSAFE, *fix.edits, drop)
        return
    translated = [*on_tensors(trace, source, cause)] if cause.how in ("numpy", "plain") else []
    if translated:
        yield from translated
        return
    written = Rewriting(trace, source, found.site, also=frozenset({"clone", "requires_grad_"}))
    written.keeps(
        numbers_kept(source.tree(found.site.path), node.args[0]) if isinstance(node, ast.Call) and node.args else []
    )
    loss = written.takes_from(node)
    if loss is None or not all(written.takes_from(each) for each in contents(loss).calls if is_read_out(each)):
        return
    text = source.short(found.site, loss, 30)
    repair = Repair(Way.DELETE_COPY) if written.deletes else Repair(Way.USE_ITSELF, (text,))
    yield Fix.by(repair, Safety.UNSAFE, tuple(written.changes))


def _without_wrap(trace: Trace, source: Source, found: Rewrapping, statement: ast.stmt | None) -> Edit | None:
    """Remove the statement `loss.requires_grad_()`, or the call in an expression: `Variable(loss)` becomes `loss`."""
    document = source.document(found.site)
    node = found.site.node
    if isinstance(statement, ast.Assign) and node in statement.targets:
        return removed(trace, document, statement)
    if not isinstance(node, ast.Call):
        return None
    if isinstance(statement, ast.Expr) and statement.value is node:
        return removed(trace, document, statement)
    if last_name(node.func) == "Variable" and node.args:
        return edits.replace(document, node, document.slice(document.range_of(node.args[0])))
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_"
    return edits.drop_method(document, node) if is_method else None


RULE = Rule(
    "rewrapped-loss",
    "detach",
    Level.WARNING,
    "a loss without a graph is made to require a gradient: `backward()` runs, and no parameter learns",
    find,
    idle=True,
)
