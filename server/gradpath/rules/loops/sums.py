"""Totals: values that each iteration adds to what the one before has left."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.aliases import whole_of
from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.graphs import leads_to, leaves, reach
from gradpath.findings.syntax import function_of, statement_of
from gradpath.interpreter.events import BackwardRan, Built, Site, iterations_between
from gradpath.interpreter.trace import Trace
from gradpath.rules.loops.kept_graphs import (
    SCALINGS,
    SUMS,
    are_disjoint,
    come_apart,
    is_in_forward,
    is_live,
    stands_apart,
)
from gradpath.rules.loops.outliving import Growing
from gradpath.rules.loops.totals import JOINS, is_addition
from gradpath.source.index import methods_called

_BLENDS = frozenset({"torch.lerp", "torch.Tensor.lerp_", "torch.maximum", "torch.minimum"})
"""The operations of a running mean and of the best so far: `best = torch.minimum(best, loss)`."""

_WRITE = "CopySlices"
"""The node of `losses[i] = loss`, where `losses` is a tensor."""

_ADDING = SUMS | _BLENDS | JOINS | {_WRITE}
"""The nodes of additions; what an operand that is not seen was computed with stands in the same place."""


def sums(trace: Trace, executed: set[Node]) -> Iterator[Growing]:
    """`total += loss`, `history = torch.cat([history, loss])`: a value of the same line in an earlier iteration."""
    places: dict[ast.AST, list[Built]] = {}
    for event in trace.of(Built):
        if event.node.name in _ADDING:
            places.setdefault(event.site.node, []).append(event)
    for node, events in places.items():
        if len(events) < 2 or any(event.node in executed for event in events):
            continue
        if events[0].node.name != _WRITE and not is_addition(trace, node):
            continue
        if executed and not _spans_backward(trace, events) and not _is_evaluation(trace, *events[:2]):
            continue
        if not executed and (is_in_forward(trace, events[0].site) or _calls_backward(trace, events[0].site)):
            continue  # A term of what it returns, or of what is back-propagated further on.
        if not executed and _is_short(trace, *events[:2]):
            continue
        if not _add_fresh(events):
            continue
        for event in events:
            added = _added(event)
            if added is None or (_is_returned(trace, node, executed) and _is_computed_from(added, event)):
                continue
            if not executed and not _runs_a_model(added, event.site):
                continue  # The graphs were all there before the loop, as those of features are: it sums what they give.
            if not event.node.is_open and is_live(trace, added, executed):
                yield Growing(event.site, added)
                break


def _runs_a_model(added: Tensor, site: Site) -> bool:
    """True if what is added was computed with weights in this iteration, as far as that is seen."""
    if added.node is None or not site.loops:
        return True
    inside = (node for node in reach([added.node]) if site.loops[-1] in node.site.loops)
    return any(node.is_open or any(edge.accumulates is not None for edge in node.edges) for node in inside)


def _is_short(trace: Trace, first: Built, second: Built) -> bool:
    """True if a sum has as many terms as the program writes down: `for scale in (4, 2, 1):`."""
    loop = iterations_between(first.site.loops, second.site.loops)
    match trace.loops.get(loop) if loop is not None else None:
        case ast.For(iter=ast.Tuple() | ast.List()):
            return True
    return False


def _calls_backward(trace: Trace, site: Site) -> bool:
    """True if the function around a place calls a `backward`, which did not run: it may be that of the total."""
    function = function_of(trace, site.node)
    body = trace.entry if function is None else function
    return any(method == "backward" for _, method, _ in methods_called(body))


def _spans_backward(trace: Trace, events: Sequence[Built]) -> bool:
    """True if a backward runs between an addition and the one it depends on; otherwise the total ends with the step.

    An `autograd.grad` outside of the graph of the total does not count, nor one that keeps a graph of its own: its
    result is a part of the computation.
    """
    ran: dict[Node, int] = {}
    count = 0
    places = {event.node for event in events}
    below = reach([event.node for event in events])
    for event in trace.events:
        if isinstance(event, BackwardRan):
            ends = not event.call.create_graph and any(node in below for node in event.executed)
            count += event.call.accumulates or ends
        elif isinstance(event, Built) and event.node in places:
            ran[event.node] = count
    for event in events:
        for edge in event.node.edges:
            before = _led_back(edge, event.site, 3)
            if before is not None and ran.get(before, 0) < ran[event.node]:
                return True
    return False


def _add_fresh(events: Sequence[Built]) -> bool:
    """True if an addition adds what was computed after the one it depends on: otherwise all of it was there.

    One term for each of the parameters, or of the networks, that were made before does not count: a sum of them ends.
    """
    added = {event.node: _latest(event) for event in events}
    for event in events:
        before = [_led_back(edge, event.site, 3) for edge in event.node.edges]
        terms = [added.get(node) for node in before if node is not None]
        if any(come_apart(one, added[event.node]) and not _are_of_parts(one, event) for one in terms):
            return True
    return False


def _are_of_parts(before: Tensor | None, event: Built) -> bool:
    """True if the term before, and what is added now, were computed with different weights that were made before."""
    terms = [each for each in (before, _latest(event)) if each is not None]
    weights = [{leaf for leaf in leaves([term]) if leaf.is_weight} for term in terms]
    apart = len(weights) == 2 and all(weights) and weights[0].isdisjoint(weights[1])
    made = (whole_of(leaf).origin for each in weights for leaf in each)
    loops = {number for number, _ in event.site.loops[-1:]}
    return apart and not any(isinstance(at.node, ast.Call) and loops & dict(at.loops).keys() for at in made)


def _is_evaluation(trace: Trace, first: Built, second: Built) -> bool:
    """True if two additions add losses of an evaluation."""
    return stands_apart(trace, first.site, second.site) and are_disjoint(_latest(first), _latest(second))


def _latest(event: Built) -> Tensor | None:
    """The operand of an addition that was computed last: what is added to the total."""
    tensors = [tensor for tensor in event.operands if tensor.node is not None]
    apart = [each for each in tensors if each.node is not None and _led_back(each.node, event.site, 3) is None]
    return apart[-1] if apart else None


def _added(event: Built) -> Tensor | None:
    """The tensor that an addition adds to the total of an earlier iteration; None where it has no such total."""
    before = [edge for edge in event.node.edges if _led_back(edge, event.site, 3) is not None]
    rest = [edge for edge in event.node.edges if edge not in before and edge.accumulates is None]
    if not before or not rest:
        return None
    inputs = event.operands
    return next((tensor for tensor in inputs if tensor.node in rest), None)


def _is_returned(trace: Trace, node: ast.AST, executed: set[Node]) -> bool:
    """True if a sum may be a next state rather than a total: a function returns it, or nothing is trained."""
    return not executed or isinstance(statement_of(trace, node), ast.Return)


def _is_computed_from(added: Tensor, event: Built) -> bool:
    """True if the added value depends on the total itself, which makes it a state, as in `z = z + step * f(z)`."""
    before = [edge for edge in event.node.edges if _led_back(edge, event.site, 3) is not None]
    return added.node is not None and any(leads_to(added.node, target) for target in before)


def _led_back(node: Node, site: Site, depth: int) -> Node | None:
    """The same addition in an earlier iteration, where a node is that, or a multiple of it, or adds more to it."""
    if node.site.node is site.node and node.name in _ADDING:
        return node if iterations_between(node.site.loops, site.loops) is not None else None
    if depth == 0 or node.name not in SCALINGS | SUMS:
        return None
    return next((found for edge in node.edges if (found := _led_back(edge, site, depth - 1)) is not None), None)
