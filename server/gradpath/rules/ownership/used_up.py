"""Optimizers and loops that are given a generator of parameters of which nothing is left."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.syntax import statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Stepped
from gradpath.interpreter.ownership import Drained
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way


def used_up(trace: Trace, source: Source) -> Iterator[Report]:
    """The generators that a loop, or an optimizer that steps, is given when they are exhausted."""
    effective = {id(None), *(id(each.optimizer) for each in trace.of(Stepped))}
    refused = {each.site.node for each in trace.failures()}
    all_found = [each for each in trace.of(Drained) if id(each.optimizer) in effective or each.site.node in refused]
    first = {each.site.node: each for each in reversed(all_found)}  # What several end in one place is one story.
    for each in {each.made.node: each for each in first.values()}.values():
        yield _report(trace, source, each)


def is_used_up(trace: Trace, report: Report) -> bool:
    """True if a report is about a generator that a path uses up."""
    return any(each.made.node is report.at.node for each in trace.of(Drained))


def _report(trace: Trace, source: Source, found: Drained) -> Report:
    made, taker = source.short(found.made, limit=30), source.short(found.site, limit=30)
    presumed = "" if found.known else ", if it is a generator"
    if found.optimizer is None:
        headline, end = f"`{taker}` goes through nothing: `{made}`", "finds nothing left in it"
    else:
        headline = f"`{taker}` gets no parameters from `{made}`: it"
        end = "finds nothing left in it, and trains none of them"
    return Report(
        found.made,
        f"{headline} is used up{presumed}",
        (
            Step(found.made, "yields its parameters once"),
            Step(found.before, "goes through it"),
            Step(found.site, end),
        ),
        help="keep a list of the parameters: it can be gone through again",
        fixes=source.proposed(_listed(trace, source, found)),
    )


def _listed(trace: Trace, source: Source, found: Drained) -> Iterator[Fix]:
    """`params = list(filter(...))`."""
    node, statement = found.made.node, statement_of(trace, found.made.node)
    if not isinstance(node, ast.expr) or not isinstance(statement, ast.Assign) or statement.value is not node:
        return
    document = source.document(found.made)
    flat = edits.flat(document, node)
    text = f"list{flat}" if isinstance(node, ast.GeneratorExp) else f"list({flat})"
    repair = Repair(Way.LIST_OF, text=text)
    yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, node, text),))
