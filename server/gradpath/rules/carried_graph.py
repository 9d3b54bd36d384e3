"""A backward that goes back into the graph of an earlier iteration."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.interpreter.trace import Failed, Site, Trace, iterations_between
from gradpath.rules import edits
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.stories import binding, bound_expression, crossing, failures, iteration_words


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Second calls in a later iteration of a loop that both calls share."""
    for failure, error in failures(trace, FaultKind.TWICE):
        earlier = error.earlier.site if error.earlier is not None else None
        if not isinstance(earlier, Site):
            continue
        loop = iterations_between(earlier.loops, failure.site.loops)
        if loop is not None:
            yield _report(trace, source, failure, error, earlier, trace.loops[loop])


def _report(
    trace: Trace, source: Source, failure: Failed, error: AutogradError, earlier: Site, loop: ast.AST
) -> Report:
    node = error.node
    assert node is not None
    roots = error.call.roots if error.call is not None else ()
    edge = crossing(roots, node, earlier)
    carried = _carried(edge[1]) if edge is not None else _carried(node)
    bound = binding(trace, carried) if carried is not None else None
    name = bound_expression(source, bound) if bound is not None else (carried.label if carried is not None else "")
    before_loop = _built_before(node if edge is None else edge[1], failure.site, loop)
    steps = _steps(edge, node, earlier, failure.site, name, before_loop)
    call = source.short(failure.site)
    if not name:
        headline = f"`{call}` goes back into the graph of an earlier iteration, which is freed"
    elif before_loop:
        headline = f"`{name}` is computed once before the loop, and its graph is freed by the first `{call}`"
    else:
        headline = f"`{name}` carries the graph of the previous iteration into this one"
    fixes = tuple(_fixes(trace, source, failure, edge, carried, name, loop, before_loop))
    return Report(
        RULE.id,
        failure.site,
        headline,
        steps,
        raised_at=failure.site,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
        help=_help(name, before_loop, loop),
        alternatives=(
            "not a way out: retain_graph=True makes every iteration slower than the one before, "
            "and fails once the optimizer has stepped",
        ),
        fixes=fixes,
    )


def _carried(node: Node) -> Tensor | None:
    return next((tensor for tensor in node.outputs if tensor.label), node.outputs[0] if node.outputs else None)


def _built_before(node: Node, later: Site, loop: ast.AST) -> bool:
    return isinstance(node.site, Site) and len(node.site.loops) < len(later.loops)


def _steps(
    edge: tuple[Node, Node] | None, node: Node, earlier: Site, later: Site, name: str, before_loop: bool
) -> tuple[Step, ...]:
    steps: list[Step] = []
    origin = node if edge is None else edge[1]
    if isinstance(origin.site, Site):
        what = f"`{name}`" if name else "this graph"
        when = "once, before the loop" if before_loop else iteration_words(origin.site)
        steps.append(Step(origin.site, f"builds {what} {when}".rstrip()))
    steps.append(Step(earlier, f"{iteration_words(earlier)}, frees its graph"))
    if edge is not None and isinstance(edge[0].site, Site):
        steps.append(Step(edge[0].site, "in the next iteration, uses it again"))
    steps.append(Step(later, f"{iteration_words(later)}, needs the freed graph"))
    return tuple(steps)


def _help(name: str, before_loop: bool, loop: ast.AST) -> str:
    line = getattr(loop, "lineno", 0)
    if before_loop:
        what = f"`{name}`" if name else "it"
        return f"compute {what} inside the loop on line {line}, so that each iteration has a graph of its own"
    if not name:
        return "start each iteration from values alone: detach what is carried over"
    return f"start each iteration from the value alone: `{name} = {name}.detach()` at the top of the loop on line {line}"


def _fixes(
    trace: Trace,
    source: Source,
    failure: Failed,
    edge: tuple[Node, Node] | None,
    carried: Tensor | None,
    name: str,
    loop: ast.AST,
    before_loop: bool,
) -> Iterator[Fix]:
    if edge is None or carried is None or before_loop or not name:
        return
    use = edge[0].site
    if not isinstance(use, Site):
        return
    document = source.document(use)
    argument = _argument(source, use, name)
    if argument is not None:
        title = f"Detach `{name}` where this iteration uses it"
        yield Fix(title, Safety.SAFE, edits.append(document, argument, ".detach()"), preferred=True)


def _argument(source: Source, use: Site, name: str) -> ast.expr | None:
    """The only place in the using expression that reads `name`."""
    found = [
        node
        for node in ast.walk(use.node)
        if isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and source.text(use, node) == name
    ]
    return found[0] if len(found) == 1 else None


RULE = Rule(
    "carried-graph",
    "graph",
    Level.ERROR,
    "`backward()` goes back through the graph of an earlier iteration, which is freed",
    f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
    find,
)
