"""Gradients without a graph that are added to what a network gives: a derivative that a loss takes for a constant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradpath.autograd.tensor import PRESUMED, BackwardCall, Node, Tensor
from gradpath.findings.graphs import is_sum, leaves, reached_leaves
from gradpath.findings.unreached import is_earlier
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable


@dataclass(frozen=True, slots=True, eq=False)
class ConstantGradient:
    """A gradient that `call` gave without a graph, where it is added to what depends on the same parameters."""

    gradient: Tensor
    call: BackwardCall
    added: Site


def constant_gradients(trace: Trace, ran: BackwardRan) -> Iterator[ConstantGradient]:
    """The derivatives of a network for its inputs that count as constants in the residual of one backward.

    What goes through a layer again, as an attack on the input does, is no residual.
    """
    asked = asked_beside(trace, ran)
    if not any(not call.create_graph for call in asked):
        return
    measured = _without_weights(list(ran.call.starts))
    reached = {id(leaf) for leaf in reached_leaves(ran) if leaf.is_weight}
    for event in trace.of(Built):
        if event.node not in measured or not is_sum(event.node):
            continue
        operands = event.operands
        beside = {id(leaf) for leaf in leaves(operands)} & reached
        for operand in operands if beside else ():
            found = None if operand.requires_grad else _gradient_of(operand, asked)
            if found is not None and beside & {id(leaf) for leaf in leaves(found[1].roots)}:
                yield ConstantGradient(*found, event.site)


def _without_weights(starts: list[Node]) -> set[Node]:
    """The nodes of a loss above the last layers: those that no parameter goes into."""

    def above(nodes: Iterable[Node]) -> list[Node]:
        seen = (node for node in nodes if node.name != PRESUMED)
        return [node for node in seen if all(edge.accumulates is None for edge in node.edges)]

    return set(reachable(above(starts), lambda node: above(node.edges)))


def _gradient_of(operand: Tensor, asked: list[BackwardCall]) -> tuple[Tensor, BackwardCall] | None:
    """The gradient for inputs that an operand is computed from, and the call that gave it."""
    for each in operand.lineage():
        call = asked_for(each, asked) if each.operation == "gradient" and not each.requires_grad else None
        if call is not None:
            # Weights that an update has moved, as in MAML, are computed from weights.
            of_inputs = call.targets is not None and not any(leaf.is_weight for leaf in leaves(call.targets))
            return (each, call) if of_inputs else None
    return None


def asked_beside(trace: Trace, ran: BackwardRan) -> list[BackwardCall]:
    """The calls of `autograd.grad` of the iteration of a backward: what older ones gave is data, such as a weight."""
    calls = (event for event in trace.of(BackwardRan) if not event.call.accumulates)
    return [each.call for each in calls if not is_earlier(each.site, ran.site)]


def asked_for(gradient: Tensor, asked: list[BackwardCall]) -> BackwardCall | None:
    """The call of `autograd.grad` that gave a gradient, without a graph of its own."""
    made = gradient.origin
    for call in asked:
        site = call.site
        if site.node is made.node and site.loops == made.loops and not call.create_graph:
            return call
    return None
