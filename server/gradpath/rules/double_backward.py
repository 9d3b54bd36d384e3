"""A backward through a graph that an earlier backward has freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.interpreter.trace import Failed, Site, Trace, iterations_between
from gradpath.rules import edits
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.stories import call_of, failures, name_of, stepped_between


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Second calls in the same iteration; those of a later one are `carried-graph`."""
    for failure, error in failures(trace, FaultKind.TWICE):
        earlier = error.earlier.site if error.earlier is not None else None
        if not isinstance(earlier, Site) or iterations_between(earlier.loops, failure.site.loops) is not None:
            continue
        yield _report(trace, source, failure, error, earlier)


def _report(trace: Trace, source: Source, failure: Failed, error: AutogradError, earlier: Site) -> Report:
    node = error.node
    assert node is not None
    again = source.short(failure.site)
    before = source.short(earlier)
    same = error.call is not None and error.earlier is not None and error.call.roots == error.earlier.roots
    steps: list[Step] = []
    if isinstance(node.site, Site):
        shared = "the graph" if same else "the graph that both losses share"
        steps.append(Step(node.site, f"{shared} is built"))
    steps.append(Step(earlier, "frees it"))
    steps.append(Step(failure.site, "needs it again"))
    if same:
        headline = f"`{again}` goes back a second time through the graph that `{before}` on line {earlier.line} has freed"
    else:
        whose = name_of(source, node.outputs[0]) if node.outputs else node.name
        headline = f"`{again}` goes back through the graph of `{whose}`, which `{before}` has freed"
    fixes = tuple(_fixes(trace, source, failure, error, earlier, same))
    return Report(
        RULE.id,
        failure.site,
        headline,
        tuple(steps),
        raised_at=failure.site,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
        help=_help(same, earlier, fixes),
        alternatives=tuple(fix.title for fix in fixes[1:]),
        fixes=fixes,
    )


def _help(same: bool, earlier: Site, fixes: tuple[Fix, ...]) -> str:
    if same:
        return "one call is enough: the gradients of the first are in `.grad` already; twice the gradient is `2 * loss`"
    return f"add the losses and call backward once, or keep the graph with retain_graph=True on line {earlier.line}"


def _fixes(
    trace: Trace, source: Source, failure: Failed, error: AutogradError, earlier: Site, same: bool
) -> Iterator[Fix]:
    stepped = stepped_between(trace, earlier, failure.site)
    call = call_of(earlier.node)
    if call is not None and isinstance(call.func, ast.Attribute) and stepped is None:
        edit = edits.add_keyword(source.document(earlier), call, "retain_graph", "True")
        if edit is not None and not _is_loop_repeat(earlier, failure.site):
            title = f"Keep the graph: retain_graph=True on line {earlier.line}"
            yield Fix(title, Safety.SAFE, (edit,), preferred=True)
    if same:
        statement = next((node for node in trace.visits if getattr(node, "value", None) is failure.site.node), None)
        if isinstance(statement, ast.Expr):
            edit = edits.delete_statement(source.document(failure.site), statement)
            if edit is not None:
                yield Fix("Delete the second call", Safety.UNSAFE, (edit,))


def _is_loop_repeat(earlier: Site, later: Site) -> bool:
    return earlier.node is later.node


RULE = Rule(
    "double-backward",
    "graph",
    Level.ERROR,
    "`backward()` or `autograd.grad` reaches a part of the graph that an earlier call freed",
    f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
    find,
)
