"""Tensors that are kept beyond their iteration: whether they hold a graph, and whether they come from several."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence, Set
from itertools import takewhile

from gradpath.autograd.tensor import PRESUMED, Node, Tensor
from gradpath.findings.graphs import executed_nodes, nodes_of, reach
from gradpath.findings.syntax import function_of
from gradpath.interpreter.events import BackwardRan, Built, Site, iterations_between
from gradpath.interpreter.trace import Trace, once
from gradpath.support.traversal import reachable

SUMS = frozenset({"torch.add", "torch.Tensor.add_"})

SCALINGS = frozenset({"torch.mul", "torch.div", "torch.Tensor.mul_", "torch.Tensor.div_"})


def stands_apart(trace: Trace, first: Site, later: Site) -> bool:
    """True if two places are in iterations of a loop beside the one that trains, such as an evaluation's.

    What a loop inside a training step gathers ends with the step, and what an inner loop gathers ends with the outer's
    iteration.
    """
    loop = iterations_between(first.loops, later.loops)
    backwards = [event.site.loops for event in trace.of(BackwardRan)]
    if loop is None or not backwards:
        return False
    depth = [number for number, _ in first.loops].index(loop)
    shared = max(_shared(first.loops, loops) for loops in backwards)
    return shared == depth and all(len(loops) > depth for loops in backwards if _shared(first.loops, loops) == depth)


def _shared(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> int:
    """The number of loops around two places that are in the same iteration."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def are_disjoint(first: Tensor | None, second: Tensor | None) -> bool:
    """True if two tensors were computed apart from each other, all but the parameters."""
    if first is None or second is None or first.node is None or second.node is None:
        return False
    return all(node.accumulates is not None for node in reach([first.node]).keys() & reach([second.node]).keys())


def is_live(trace: Trace, tensor: Tensor, executed: set[Node]) -> bool:
    """True if a tensor certainly holds a graph through which no backward will run.

    Either a backward has freed it already, or the program has ended without one.
    """
    if tensor.node is None or tensor.is_open:
        return False
    below = certainly_below(tensor.node, executed)
    if any(node in executed for node in below):
        return True
    if trace.has_failed or (not executed and not (isinstance(trace.entry, ast.Module) and is_number(trace, tensor))):
        return False  # What it would be used for is not seen, or a caller may have switched gradients off.
    return any(node.holds for node in below)


def certainly_below(start: Node, executed: Set[Node]) -> list[Node]:
    """The nodes upstream of `start`, except those of a part of an unknown call's result whose graph was not seen.

    What a model returns beside its loss is as often a number: an accuracy, a count, and so is a sum or a mean of it.
    """

    def seen(nodes: Iterable[Node]) -> list[Node]:
        return [each for each in nodes if each in executed or not (each.is_open or _is_part(each))]

    found = list(reachable(seen([start]), lambda node: seen(node.edges)))
    sure = set[Node]()
    for node in sorted(found, key=_number):
        if node in executed or node.name not in SUMS | SCALINGS or not sure.isdisjoint(node.edges):
            sure.add(node)
    return [node for node in found if node in sure]


def _number(node: Node) -> int:
    return node.number


@once
def counts(trace: Trace) -> frozenset[Node]:
    """What is known only from being a divisor, such as the `n` of `loss, n = losses_of(x)` and `loss.sum() / n`.

    That a backward runs through the quotient does not tell that they have a graph: most of them are counts.
    """
    executed = executed_nodes(trace)
    dividing, others = set[Node](), set[Node]()
    for event in trace.of(Built):
        for name, tensors in event.inputs.items() if event.node in executed else ():
            divides = name == "other" and event.node.name == "torch.div"
            (dividing if divides else others).update(each.node for each in tensors if each.node is not None)
    return frozenset(node for node in dividing - others if node.is_open or node.name == PRESUMED)


def _is_part(node: Node) -> bool:
    """True if a node represents a part of an unknown call's result: upstream of it is the trunk of the same call."""
    return node.name == PRESUMED and any(edge.name == PRESUMED and edge.site is node.site for edge in node.edges)


def is_number(trace: Trace, tensor: Tensor) -> bool:
    """True if a tensor has one element for sure: by its shape, or because its like was back-propagated."""
    if tensor.one_element is not None:
        return tensor.one_element
    place = tensor.node.site.node if tensor.node is not None else None
    roots = [root for event in trace.of(BackwardRan) for root in event.call.roots]
    return any(
        root is tensor or (root.node is not None and root.node.site.node is place) for root in roots
    ) or tensor.node in _operands_of(nodes_of(roots))


def _operands_of(roots: Sequence[Node]) -> set[Node]:
    """The nodes of numbers that were added or multiplied to give the roots."""
    adding = SUMS | SCALINGS | {"torch.sub"}
    return set(reachable(roots, lambda node: node.edges if node.name in adding else ()))


def come_apart(first: Tensor | None, later: Tensor | None) -> bool:
    """True if two tensors may have been computed in different iterations; else the loop only gathers existing ones."""
    sites = [each.node.site for each in (first, later) if each is not None and each.node is not None]
    made = [site.loops for site in sites]
    return len(made) < 2 or iterations_between(made[0], made[1]) is not None


def is_in_forward(trace: Trace, site: Site) -> bool:
    """True if a place is in a `forward`, in the `__call__` of a loss, or in what these call."""
    return any(getattr(function_of(trace, each.node), "name", "") in ("forward", "__call__") for each in site.frames())
