"""Questions that several rules ask of a trace: which tensor crosses an iteration, what a value is called, who shares."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.tensor import Node, Tensor
from gradpath.interpreter.trace import Bound, Failed, Site, Stepped, Trace, iterations_between
from gradpath.rules.report import Source


def failures(trace: Trace, *kinds: FaultKind) -> Iterator[tuple[Failed, AutogradError]]:
    """The uncaught errors of these kinds."""
    for failure in trace.failures():
        if failure.error is not None and failure.error.kind in kinds:
            yield failure, failure.error


def name_of(source: Source, tensor: Tensor) -> str:
    """What a person calls this tensor: the name bound to it last, else the expression that made it."""
    if tensor.label:
        return tensor.label
    if isinstance(tensor.origin, Site):
        return source.short(tensor.origin)
    return "the tensor"


def binding(trace: Trace, tensor: Tensor) -> Bound | None:
    """The last time that `tensor` itself was given a name."""
    found: Bound | None = None
    for event in trace.events:
        if isinstance(event, Bound) and event.value is tensor:
            found = event
    return found


def bound_expression(source: Source, bound: Bound) -> str:
    """The target of a binding as the program writes it (`h`, `self.h`, `state["h"]`)."""
    node = bound.site.node
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Name)):
        return source.text(bound.site)
    return bound.name


def crossing(roots: tuple[Tensor, ...], target: Node, earlier: Site) -> tuple[Node, Node] | None:
    """The edge by which a backward from `roots` reaches back over an iteration on its way to `target`.

    Gives (the node of this iteration, the node from before); None where no edge crosses.
    """
    todo: list[Node] = [root.node for root in roots if root.node is not None]
    seen: set[Node] = set()
    while todo:
        node = todo.pop(0)
        if node in seen:
            continue
        seen.add(node)
        for edge in node.edges:
            if not leads_to(edge, target):
                continue
            if isinstance(node.site, Site) and isinstance(edge.site, Site) and edge.number <= _last_before(earlier, node, edge):
                return node, edge
            todo.append(edge)
    return None


def _last_before(earlier: Site, node: Node, edge: Node) -> int:
    """The edge's own number where it was built in another iteration than the node, else below it."""
    assert isinstance(node.site, Site) and isinstance(edge.site, Site)
    crosses = iterations_between(edge.site.loops, node.site.loops) is not None
    shorter = len(edge.site.loops) < len(node.site.loops)
    return edge.number if crosses or shorter else edge.number - 1


def leads_to(start: Node, target: Node) -> bool:
    """Whether `target` can be reached from `start`."""
    todo, seen = [start], set()
    while todo:
        node = todo.pop()
        if node is target:
            return True
        if node not in seen and node.number >= target.number:
            seen.add(node)
            todo.extend(node.edges)
    return False


def stepped_between(trace: Trace, earlier: Site, later: Site) -> Stepped | None:
    """An optimizer's step that ran after `earlier` and before `later` in the trace."""
    inside = False
    for event in trace.events:
        site = getattr(event, "site", None)
        if site is earlier:
            inside = True
        if site is later:
            break
        if inside and isinstance(event, Stepped):
            return event
    return None


def call_of(node: ast.AST) -> ast.Call | None:
    """The call that a site's node is, looking through an expression statement."""
    if isinstance(node, ast.Expr):
        node = node.value
    return node if isinstance(node, ast.Call) else None


def nth(count: int) -> str:
    """An ordinal in words, for iterations."""
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    return words[count - 1] if 1 <= count <= len(words) else f"{count}th"


def iteration_words(site: Site) -> str:
    """`in the second iteration` for a site in a loop, else nothing."""
    return f"in the {nth(site.loops[-1][1])} iteration" if site.loops else ""


def built(source: Source, node: Node) -> str:
    """A short name of what a node computes, for a label."""
    label = next((tensor.label for tensor in node.outputs if tensor.label), "")
    return f"`{label}`" if label else f"`{node.name.rpartition('.')[2]}`"
