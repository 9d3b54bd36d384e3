"""`retain_graph=True` on a graph that nothing goes back through again."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from gradpath.autograd.tensor import PRESUMED, Node, Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.graphs import reach
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.syntax import ancestry, call_of, function_of
from gradpath.fixes import edits
from gradpath.interpreter.events import BackwardRan, Bound, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, inside
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Calls that retain, and of whose nodes none is ever executed again, whenever the call runs."""
    if not trace.is_whole:
        return
    for run in {run.site.node: run for run in reversed(trace.of(BackwardRan))}.values():
        call = call_of(trace, run.site.node)
        keyword = None if call is None else _retaining(call)
        if call is not None and keyword is not None and not _is_needed(trace, run.site.node):
            yield _report(source, run, call, keyword)


def _is_needed(trace: Trace, node: ast.AST) -> bool:
    """True if the graph that a call goes back through may be gone back through again."""
    runs = trace.of(BackwardRan)
    return any(run.site.node is node and not _is_last(trace, run, runs[index + 1 :]) for index, run in enumerate(runs))


def _denied(trace: Trace, report: Report) -> bool:
    """True if a later call of a path has used what was kept."""
    nodes = {run.site.node for run in trace.of(BackwardRan)}
    calls = {node: call_of(trace, node) for node in nodes}
    return any(call and _retaining(call) is report.at.node and _is_needed(trace, node) for node, call in calls.items())


def _retaining(call: ast.Call) -> ast.keyword | None:
    """The argument `retain_graph=True`."""
    for keyword in call.keywords:
        if keyword.arg == "retain_graph" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
            return keyword
    return None


def _is_last(trace: Trace, run: BackwardRan, later: Sequence[BackwardRan]) -> bool:
    """True if no later call goes back through the graph of this one's roots; false where that is not sure.

    A call that stops at its inputs frees nothing before them; where that part is used later, it is not told apart.
    """
    nodes = reach(run.call.starts)
    graph = {node for node in nodes if node.accumulates is None}
    if run.call.create_graph or any(node.is_open for node in graph):
        return False
    if _is_fed_again(trace, run, graph):
        return False
    seen = isinstance(trace.entry, ast.Module) and not any(node.name == PRESUMED for node in graph)
    leaves = [node.accumulates for node in nodes if node.accumulates is not None]
    return (seen or _are_stepped(trace, run, leaves)) and not any(
        node in graph for each in later for node in each.executed
    )


def _is_fed_again(trace: Trace, run: BackwardRan, graph: Set[Node]) -> bool:
    """True if a loop hands a model, in each iteration, something of which nothing is seen: it may have a graph."""
    loop = next((each for each in ancestry(trace, run.site.node) if isinstance(each, ast.For | ast.While)), None)
    if loop is None:
        return False
    made = {each.id for each in inside(loop, ast.Name) if isinstance(each.ctx, ast.Store)}
    made |= {each.name for each in trace.of(Bound) if each.tensor is not None}
    calls = (each.origin.node for node in graph if node.name == PRESUMED for each in node.outputs)
    given = [_moved(arg) for call in calls if isinstance(call, ast.Call) for arg in call.args]
    return any(isinstance(each, ast.Name) and each.id not in made for each in given)


def _moved(given: ast.expr) -> ast.expr:
    """What is converted or moved to a device: `x` of `x.to(device)`."""
    match given:
        case ast.Call(func=ast.Attribute(value=value, attr="to" | "cuda" | "cpu" | "float" | "double")):
            return _moved(value)
    return given


def _are_stepped(trace: Trace, run: BackwardRan, leaves: Sequence[Tensor]) -> bool:
    """True if the leaves of a graph are stepped later on, after which no unseen code can go back through it.

    An optimizer that is not seen is made for what the function trains.
    """
    events = trace.events
    later = [each for each in events[events.index(run) + 1 :] if isinstance(each, Stepped)]
    stepped = {id(tensor) for each in later for tensor in each.held}
    own = all(id(leaf.member_of or leaf) in stepped for leaf in leaves) or any(
        not each.known and not each.unseen for each in later
    )
    return bool(leaves) and own and not _is_handed_on(trace, run, later[-1].site)


def _is_handed_on(trace: Trace, run: BackwardRan, step: Site) -> bool:
    """True if something is called between a backward and a step with a tensor whose graph the backward went through.

    A name that has been given to another tensor since then is not that tensor any more.
    """
    nodes = set(run.executed)
    function = function_of(trace, run.site.node)
    own = [each for each in trace.of(Bound) if function_of(trace, each.site.node) is function]
    names = {each.name for each in own if each.tensor is not None and each.tensor.node in nodes}
    again = {
        each.name: each.site.line
        for each in own
        if each.site.line > run.site.line and (each.tensor is None or each.tensor.node not in nodes)
    }
    between = [
        each
        for each in trace.visits
        if isinstance(each, ast.stmt)
        and run.site.line < each.lineno < step.line
        and function_of(trace, each) is function
    ]
    return any(
        isinstance(given, ast.Name) and given.id in names and again.get(given.id, each.lineno) >= each.lineno
        for each in between
        for call in contents(each).calls
        for given in call.args
    )


def _report(source: Source, run: BackwardRan, call: ast.Call, keyword: ast.keyword) -> Report:
    at = replace(run.site, node=keyword)
    text = source.short(run.site, call.func, 40)
    edit = edits.drop_keyword(source.document(run.site), call, "retain_graph")
    fixes = () if edit is None else (Fix.by(Repair(Way.RELEASE, lines=(run.site.line,)), Safety.SAFE, (edit,)),)
    return Report(
        at,
        f"`{text}` keeps its graph in memory, and no later call needs it",
        (Step(at, "keeps all that the graph has saved"),),
        help="drop it: a graph that is not used again is best freed by the backward",
        fixes=fixes,
    )


RULE = Rule(
    "needless-retain-graph",
    "graph",
    Level.WARNING,
    "`retain_graph=True` on a graph that no later call reaches: memory is held needlessly",
    find,
    _denied,
    leftover=True,
)
