"""`retain_graph=True` on a graph that nothing goes back through again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Level, Safety
from gradpath.interpreter.trace import BackwardRan, Trace
from gradpath.records import replace
from gradpath.rules import edits
from gradpath.rules.gradient_flow import is_whole
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.syntax import call_of


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Calls that retain, and of whose nodes none is ever executed again, whenever the call runs."""
    if not is_whole(trace) or not isinstance(trace.entry, ast.Module):
        return
    runs = trace.of(BackwardRan)
    for node in dict.fromkeys(run.site.node for run in runs):
        call = call_of(trace, node)
        keyword = None if call is None else _retaining(call)
        same = [(index, run) for index, run in enumerate(runs) if run.site.node is node]
        if call is None or keyword is None or not all(_is_last(run, runs[index + 1 :]) for index, run in same):
            continue
        yield _report(source, same[0][1], call, keyword)


def _retaining(call: ast.Call) -> ast.keyword | None:
    """The argument `retain_graph=True`."""
    for keyword in call.keywords:
        if keyword.arg == "retain_graph" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
            return keyword
    return None


def _is_last(run: BackwardRan, later: list[BackwardRan]) -> bool:
    """Whether no later call executes what this one has executed; false where that is not sure."""
    if run.call.create_graph or not all(node.certain and node.name != "call" for node in run.executed):
        return False
    again = {node for each in later for node in each.executed}
    return not again.intersection(run.executed)


def _report(source: Source, run: BackwardRan, call: ast.Call, keyword: ast.keyword) -> Report:
    at = replace(run.site, node=keyword)
    text = source.short(run.site, call.func, 40)
    edit = edits.drop_keyword(source.document(run.site), call, "retain_graph")
    fixes = () if edit is None else (Fix("Drop `retain_graph=True`", Safety.SAFE, (edit,), preferred=True),)
    return Report(
        RULE.id,
        at,
        f"`{text}` keeps its graph in memory, and nothing goes back through it again",
        (Step(at, "keeps all that the graph has saved"),),
        help="drop it: a graph that is not used again is best freed by the backward",
        fixes=fixes,
    )


RULE = Rule(
    "needless-retain-graph",
    "graph",
    Level.WARNING,
    "`retain_graph=True` on a graph that no later call reaches: memory is held for nothing",
    None,
    find,
)
