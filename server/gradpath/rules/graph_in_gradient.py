"""`backward(create_graph=True)`, after which gradients and parameters keep each other alive."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.syntax import block_of, call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import BackwardRan, Cleared, GradientSet, Lent, Stepped, iterations_between
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, methods_called
from gradpath.support.fast_dataclasses import replace

_PYTORCH = (
    "UserWarning: Using backward() with create_graph=True will create a reference cycle between the parameter and its "
    "gradient which can cause a memory leak."
)


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Gradients with a graph that outlive a function, or that pile up from one iteration to the next."""
    if not trace.is_whole:
        return
    creating = [run for run in trace.of(BackwardRan) if run.call.create_graph and run.call.accumulates]
    for node in dict.fromkeys(run.site.node for run in creating):
        runs = [run for run in creating if run.site.node is node]
        last = runs[-1]
        held = _held(last)
        if not held or _may_be_cleared(trace, last):
            continue
        if _pile_up(trace, runs):
            yield _report(trace, source, last, "each iteration keeps its graph")
        elif _is_left_behind(trace, last):
            yield _report(trace, source, last, "the graph stays with the gradients")


def _held(run: BackwardRan) -> list[Tensor]:
    """The leaves whose gradients had a graph still when the path ended."""
    return [leaf for leaf in reached_leaves(run) if leaf.grad is not None and leaf.grad.node is not None]


def _may_be_cleared(trace: Trace, run: BackwardRan) -> bool:
    """True if gradients that are not seen may have been cleared after a backward, by the program or by others."""
    after = False
    for event in trace.among(BackwardRan, Cleared, Lent, GradientSet):
        match event:
            case BackwardRan():
                after = after or event is run
            case Cleared(known=True):
                pass
            case _ if after:
                return True
    return False


def _pile_up(trace: Trace, runs: Sequence[BackwardRan]) -> bool:
    """True if the graphs of several iterations are alive together: nothing was cleared between the runs."""
    if len(runs) < 2 or iterations_between(runs[-2].site.loops, runs[-1].site.loops) is None:
        return False
    earlier, last = runs[-2], runs[-1]
    again = {id(leaf) for leaf in reached_leaves(last)}
    if any(id(leaf) not in again for leaf in _held(earlier)):
        return True
    inside = False
    for event in trace.among(BackwardRan, Cleared, GradientSet, Lent, Stepped):
        if event is last:
            break
        if inside and not isinstance(event, BackwardRan):
            return False  # Steps without clearing are reported by another rule.
        inside = inside or event is runs[0]
    return bool(_held(earlier))


def _is_left_behind(trace: Trace, run: BackwardRan) -> bool:
    """True if a function ends with such gradients, and is no training step, after which the next one clears them.

    One without a caller that reads no gradient leaves them to its caller.
    """
    if trace.of(Stepped):
        return False
    function = function_of(trace, run.site.node)
    if function is None or run.site.caller is None:
        return not isinstance(trace.entry, ast.Module)
    return function is not trace.entry or _reads_gradients(function)


def _reads_gradients(function: ast.AST | None) -> bool:
    return function is not None and any(each.attr == "grad" for each in contents(function).attributes)


def _report(trace: Trace, source: Source, run: BackwardRan, what: str) -> Report:
    call = call_of(trace, run.site.node)
    keyword = next((each for each in call.keywords if each.arg == "create_graph"), None) if call is not None else None
    at = run.site if keyword is None else replace(run.site, node=keyword)
    fixes = () if call is None else source.proposed(_fixes(trace, source, run, call))
    return Report(
        at,
        f"`{source.short(run.site, limit=50)}` leaves a cycle that is never freed: {what}",
        (Step(at, "each gradient keeps the graph, which keeps its parameter"),),
        pytorch=_PYTORCH,
        help="use `torch.autograd.grad`, which leaves nothing in `.grad`",
        fixes=fixes,
    )


def _fixes(trace: Trace, source: Source, run: BackwardRan, call: ast.Call) -> Iterator[Fix]:
    document = source.document(run.site)
    statement = statement_of(trace, run.site.node)
    yield from _by_grad(trace, source, run, call, statement)
    if not _reads_gradients(function_of(trace, call)):
        yield from Fix.of(Repair(Way.CREATE_NO_MORE), Safety.UNSAFE, edits.drop_keyword(document, call, "create_graph"))
    block = block_of(trace, statement)
    owner = _cleared_by(function_of(trace, statement))
    line = f"{owner}.zero_grad()"
    end = block[-1]
    if owner is not None and not isinstance(end, ast.Return | ast.Raise | ast.Break | ast.Continue):
        cleared = edits.insert_after(document, end, line)
    elif owner is not None and end is not statement:
        cleared = edits.insert_before(document, end, line)
    else:
        cleared = None
    yield from Fix.of(Repair(Way.CLEAR_LATER, text=line), Safety.UNSAFE, cleared)


def _by_grad(trace: Trace, source: Source, run: BackwardRan, call: ast.Call, statement: ast.stmt) -> Iterator[Fix]:
    """`grads = autograd.grad(loss, params, create_graph=True)` for the backward and `[p.grad for p in params]`."""
    block = block_of(trace, statement)
    after = next((block[index + 1] for index, each in enumerate(block[:-1]) if each is statement), None)
    match after, call:
        case (
            ast.Assign(
                value=ast.ListComp(
                    elt=ast.Attribute(value=ast.Name(id=item), attr="grad"),
                    generators=[ast.comprehension(target=ast.Name(id=each), iter=ast.Name(id=names), ifs=[])],
                ) as read
            ),
            ast.Call(func=ast.Attribute(value=loss), args=[]),
        ) if item == each and isinstance(statement, ast.Expr):
            document = source.document(run.site)
            gone, torch = edits.delete_statement(document, statement), source.called("torch", document.path)
            text = f"{torch}.autograd.grad({edits.flat(document, loss)}, {names}, create_graph=True)"
            if gone is not None and torch is not None:
                changes = gone, edits.replace(document, read, text)
                yield Fix.by(Repair(Way.USE_GRAD, text=text), Safety.UNSAFE, changes)
        case _:
            return


def _cleared_by(function: ast.AST | None) -> str | None:
    """A function's name for the only module whose parameters it asks for."""
    asked = {
        ast.unparse(owner)
        for owner, method, _ in (methods_called(function) if function is not None else ())
        if method in ("parameters", "named_parameters", "zero_grad") and isinstance(owner, ast.Name | ast.Attribute)
    }
    return next(iter(asked)) if len(asked) == 1 else None


RULE = Rule(
    "graph-in-gradient",
    "graph",
    Level.WARNING,
    "`backward(create_graph=True)` leaves parameter and gradient in a cycle that is never freed",
    find,
)
