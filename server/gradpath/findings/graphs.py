"""Questions to the graph: what a backward reaches, where two graphs meet, by which edge an iteration is crossed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradpath.autograd.backward import proven
from gradpath.autograd.gradients import is_step_function
from gradpath.autograd.tensor import Node, Tensor
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace, once
from gradpath.support.traversal import reachable

_SUMS = frozenset({"torch.add", "torch.sub", "torch.rsub", "torch.stack", "torch.cat"})

_SCALINGS = frozenset({"torch.mul", "torch.div", "torch.neg", "torch.mean", "torch.sum"})

_ELEMENTWISE = frozenset({"torch.add", "torch.sub", "torch.rsub", "torch.mul", "torch.div", "torch.neg"})


def nodes_of(starts: Iterable[Tensor | Node]) -> list[Node]:
    """The nodes that a backward from some tensors, or nodes, starts at."""
    nodes = (start.node if isinstance(start, Tensor) else start for start in starts)
    return [node for node in nodes if node is not None]


@once
def built_of(trace: Trace) -> Mapping[Node, Built]:
    """The events in which the nodes of a path came to be."""
    return {event.node: event for event in trace.of(Built)}


@once
def uses_of(trace: Trace) -> Mapping[int, list[Built]]:
    """The operations that each tensor, by identity, was given to, in the order of the path."""
    found: dict[int, list[Built]] = {}
    for event in trace.of(Built):
        for key in {id(each) for tensors in event.inputs.values() for each in tensors}:
            found.setdefault(key, []).append(event)
    return found


@once
def executed_nodes(trace: Trace) -> frozenset[Node]:
    """The nodes that the backwards of a path have run through."""
    return frozenset(node for ran in trace.of(BackwardRan) for node in ran.executed)


@once
def without_graph(trace: Trace) -> frozenset[Node]:
    """What stands for graphs that are not seen, and cannot be there: two backwards went through, and none was kept.

    It may be a leaf all the same, unless a loss takes it for its target.
    """
    targets = {id(each) for event in trace.of(Built) for each in event.inputs.get("target", ())}
    freed: set[Node] = set()
    again: set[Node] = set()
    for ran in trace.of(BackwardRan) if targets else ():
        ends = {node for node in ran.executed if node.is_open and not node.edges and node.accumulates is None}
        again |= {node for node in ends & freed if any(id(each) in targets for each in node.outputs)}
        freed |= set() if ran.call.retain else ends
    return frozenset(again)


def reach(starts: Iterable[Tensor | Node]) -> dict[Node, None]:
    """All nodes below `starts`, those included, nearest first."""
    return dict.fromkeys(reachable(nodes_of(starts), lambda node: node.edges))


def takes(node: Node, leaf: Tensor) -> bool:
    """True if a leaf is an input of a node."""
    return any(edge.accumulates is leaf for edge in node.edges)


@once
def takers(trace: Trace, ran: BackwardRan) -> Mapping[int, list[Node]]:
    """The nodes of a backward whose input a leaf is, by the identity of that."""
    found: dict[int, list[Node]] = {}
    for node in ran.executed:
        for key in {id(edge.accumulates) for edge in node.edges if edge.accumulates is not None}:
            found.setdefault(key, []).append(node)
    return found


@once
def leading_to(trace: Trace, ran: BackwardRan, leaf: Tensor) -> frozenset[Node]:
    """The nodes of the graph of a backward that lead to a leaf."""
    return frozenset(reachable(takers(trace, ran).get(id(leaf), ()), lambda node: _above(trace, ran).get(node, ())))


@once
def _above(trace: Trace, ran: BackwardRan) -> Mapping[Node, list[Node]]:
    """The nodes of the graph of a backward that take what a node gives."""
    found: dict[Node, list[Node]] = {}
    for node in ran.executed:
        for edge in node.edges:
            found.setdefault(edge, []).append(node)
    return found


def is_freed(node: Node) -> bool:
    """True if a backward has freed what a node saved."""
    return node.holds and node.freed_by is not None


def leads_to(start: Node, target: Node) -> bool:
    """True if `target` can be reached from `start`."""
    below = reachable([start], lambda node: node.edges if node.number >= target.number else ())
    return any(node is target for node in below)


def certainly_leads(starts: Iterable[Node], target: Node) -> bool:
    """True if `target` is reached through nodes that no mere presumption put there, or is itself a start.

    A presumed start counts where one node alone can have given it a graph, and so on down from there: that a backward
    is called on it proves that it has one.
    """
    begun = [node for start in starts for node in proven(start)]
    sure = [node for node in begun if not node.is_open or node is target or len(node.edges) == 1]
    below = reachable(sure, lambda node: [edge for edge in node.edges if not edge.is_open or edge is target])
    return any(node is target for node in below)


def meeting(earlier: Iterable[Node], later: Iterable[Node], target: Node) -> Node:
    """The first node on the way from `later` to `target` that `earlier` reaches too."""
    shared = reach(earlier)
    return next((node for node in reach(later) if node in shared and leads_to(node, target)), target)


def entrances(starts: Iterable[Node], others: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    """The edges by which the graph of `starts` enters what `others` reach too."""
    shared = reach(others)
    for node in reach(starts):
        if node not in shared:
            for edge in node.edges:
                if edge in shared and edge.accumulates is None:
                    yield node, edge


def leaves(starts: Iterable[Tensor | Node]) -> list[Tensor]:
    """The leaves that a backward through `starts` gives a gradient to."""
    return [node.accumulates for node in reach(starts) if node.accumulates is not None]


def is_from_outside(node: Node, later: Site, loop: int) -> bool:
    """True if a node was built before the loop with that number, which `later` is in, was entered."""
    return all(number != loop for number, _ in node.site.loops)


def reached_leaves(ran: BackwardRan) -> Sequence[Tensor]:
    """The leaves to which a backward that ran gave a gradient; with `inputs=` these are the wanted ones alone."""
    call = ran.call
    if call.reached is None:
        given = [node.accumulates for node in call.givers]
        wanted = call.targets
        begun = [root for root in call.roots if root.node is None and (wanted is None or root.accumulator in wanted)]
        call.reached = tuple(dict.fromkeys(leaf for leaf in (*given, *begun) if leaf is not None))
    return call.reached


@once
def leaves_with_gradient(trace: Trace) -> Mapping[int, Tensor]:
    """The leaves, by identity, that got a gradient on a path, but for what `autograd.grad` alone was asked for."""
    runs = (run for run in trace.of(BackwardRan) if run.call.accumulates)
    return {id(leaf): leaf for run in runs for leaf in reached_leaves(run)}


def moves_any(start: Node) -> bool:
    """True if a gradient at a node gives some leaf upstream more than the zeros of a step function."""

    def moved(node: Node) -> list[Node]:
        given = [edge for index, edge in enumerate(node.edges) if index not in node.withheld]
        return [] if is_step_function(node) else given

    return any(node.accumulates is not None or node.is_open for node in reachable([start], moved))


def moved_leaves(ran: BackwardRan) -> Sequence[Tensor]:
    """The reached leaves whose gradient is more than the zeros of a step function."""
    if not any(is_step_function(node) for node in ran.executed):
        return reached_leaves(ran)
    givers = ran.call.givers
    moving: set[Node] = set()
    for node in ran.executed:
        begun = node in ran.call.starts or node not in givers
        if not is_step_function(node) and (begun or not moving.isdisjoint(givers[node])):
            moving.add(node)
    moved = [node.accumulates for node, from_ in givers.items() if not moving.isdisjoint(from_)]
    return [leaf for leaf in reached_leaves(ran) if leaf in moved or leaf in ran.call.roots]


_CHANCE = ("dropout", "rand", "rrelu", "bernoulli", "gumbel")


def is_drawn(operation: str) -> bool:
    """True if an operation, or the source of an expression, draws random numbers by its name."""
    return any(each in operation.lower() for each in _CHANCE)


def terms_of(starts: Iterable[Node]) -> dict[Node, None]:
    """The nodes that a loss is a sum or a multiple of; a product of two values with graphs is a multiple of neither.

    A factor of which nothing is known, such as a weight from settings, is taken for a number.
    """
    return dict.fromkeys(reachable(filter(is_of_terms, starts), lambda node: filter(is_of_terms, node.edges)))


def is_of_terms(node: Node) -> bool:
    """True if a node is a sum or a multiple of its terms, as `terms_of` goes through."""
    name = node.function
    return name in _SUMS or (name in _SCALINGS and len(_known(node.edges)) < 2)


def of_one_element(starts: Iterable[Node]) -> dict[Node, None]:
    """The nodes of which each input has one element, as the loss has: no reduction is on the way to it."""
    return dict.fromkeys(reachable(filter(_is_elementwise, starts), lambda node: filter(_is_elementwise, node.edges)))


def _is_elementwise(node: Node) -> bool:
    return node.function in _ELEMENTWISE


def _known(edges: Iterable[Node]) -> list[Node]:
    """Without the graphs that unknown values may have."""
    return [each for each in edges if each.edges or not each.is_open]


def is_sum(node: Node) -> bool:
    """True if an operation puts the terms of a loss together, in place or not."""
    return node.function in _SUMS


def is_scaling(node: Node) -> bool:
    """True if an operation gives a multiple or a mean of a value, if it is given no other one."""
    return node.function in _SCALINGS
