"""The grounds of an error: the fewest presumptions under which PyTorch raises on every run that reaches the place.

A backward that runs at all proves that its root has a graph; where all ways from the root lead through one node, it
proves that node too. The remaining links are those that only a presumption supports.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.provenance import OPEN, PROVED, Presumption, shown
from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.support.traversal import reachable

Grounds = tuple[Presumption, ...]


def of_error(error: AutogradError, ran: Sequence[BackwardCall]) -> Grounds:
    """The presumptions that an error depends on; `ran` are the backwards that completed before."""
    calls = [call for call in (error.call, error.earlier) if call is not None]
    found = [call.presumed for call in calls if call.presumed is not None]
    match error.kind:
        case FaultKind.TWICE | FaultKind.MODIFIED | FaultKind.SAVED_DETACHED | FaultKind.ONCE_DIFFERENTIABLE:
            if error.node is not None:
                for call in calls:
                    found += of_way(call.starts, error.node)
                    found += _of_inputs(call, error.node)
                found += _of_node(error.node, [*ran, *calls])
                found += _of_saving(error, error.node, [*ran, *calls])
            if error.kind is FaultKind.TWICE and error.node is not None and error.node.saves is not None:
                found.append(error.node.saves)
            if error.saved is not None and error.saved.presumed is not None:
                found.append(error.saved.presumed)
            if error.write is not None and error.write.presumed is not None:
                found.append(error.write.presumed)
        case (
            FaultKind.NO_GRAD
            | FaultKind.INPUT_NO_GRAD
            | FaultKind.HOOK_NO_GRAD
            | FaultKind.RETAIN_NO_GRAD
            | FaultKind.INFERENCE_INPLACE
        ):
            if error.tensor is not None:
                found += _of_absence(error.tensor)
        case FaultKind.INFERENCE_SAVED:
            if error.node is not None:
                found += _of_node(error.node, ran)
            if error.tensor is not None and isinstance(error.tensor.provenance, Presumption):
                found.append(error.tensor.provenance)
        case FaultKind.LEAF_INPLACE | FaultKind.VIEW_OF_LEAF if error.tensor is not None:
            # What is written may have a graph as it likes: only the leaf decides.
            found += _left(error.tensor) or _of_tensors([error.tensor], ran)
        case FaultKind.NOT_SCALAR:  # Where the root has no graph, this very call raises too.
            found += _of_size(error.tensor)
        case _:
            found += _of_tensors([*([] if error.tensor is None else [error.tensor]), *error.inputs], ran)
    return tuple(dict.fromkeys(found))


def _of_inputs(call: BackwardCall, node: Node) -> Grounds:
    """The presumptions under which a node leads to one of the `inputs=` of a backward, which runs no other."""
    if not call.accumulates or call.targets is None:
        return ()
    return min((of_way([node], target, shows=False) for target in call.targets), key=len, default=())


def of_way(starts: Sequence[Node], target: Node, *, shows: bool = True) -> Grounds:
    """The presumptions under which gradients run from `starts` to `target`, on the way with the fewest of them.

    Where there is only one way from the root to unseen code, a backward `shows` that a graph goes on through it.
    """
    tickets = itertools.count()
    queue: list[tuple[int, int, Node, Grounds, bool]] = [
        (0, next(tickets), start, (), shows and len(starts) == 1) for start in starts
    ]
    seen: set[Node] = set()
    while queue:
        _, _, node, grounds, only = heapq.heappop(queue)
        if node is target:
            return grounds
        if node in seen:
            continue
        seen.add(node)
        onward = node.onward if node.onward is None or not only else shown(node.onward)
        here = grounds if onward is None or onward in grounds else (*grounds, onward)
        for edge in node.edges:
            if edge not in seen:
                alone = only and onward is None and len(node.edges) == 1
                heapq.heappush(queue, (len(here), next(tickets), edge, here, alone))
    return ()


def _of_node(node: Node, ran: Sequence[BackwardCall]) -> Grounds:
    """The presumptions under which a node exists: none, or that of the nearest presumed node that it depends on."""
    todo, seen = [node], {node}
    nearest: Grounds = ()
    while todo:
        each = todo.pop(0)
        if each.provenance is PROVED:
            return ()
        if isinstance(each.provenance, Presumption) or (each.is_open and each.onward is not None):
            if _is_proved(each, ran):
                return ()
            ground = each.onward if each.provenance is OPEN else each.provenance
            nearest = nearest or (() if not isinstance(ground, Presumption) else (ground,))
        elif each.accumulates is not None and (of_leaf := _of_leaf(each.accumulates)):
            nearest = nearest or of_leaf
        elif not each.edges or any(_was_there(edge, each) for edge in each.edges):
            return ()
        else:
            todo += (edge for edge in each.edges if edge not in seen)
            seen.update(each.edges)
    return nearest


def _was_there(edge: Node, node: Node) -> bool:
    """True if a node was built on a leaf before unseen code was handed it."""
    leaf = edge.accumulates
    return leaf is not None and node.number < leaf.left_since and not isinstance(leaf.provenance, Presumption)


def _of_saving(error: AutogradError, node: Node, ran: Sequence[BackwardCall]) -> Grounds:
    """The presumptions under which one of the edges exists that make a node save the tensor of the error."""
    if node.behaviour is None:
        return ()
    saves = node.behaviour.holds if error.saved is None else node.behaviour.saves.get(error.saved.role, frozenset())
    edges = [edge for edge, parameter in zip(node.edges, node.parameters, strict=False) if parameter in saves]
    return min((() if _was_there(edge, node) else _of_node(edge, ran) for edge in edges), key=len, default=())


def _is_proved(node: Node, ran: Sequence[BackwardCall]) -> bool:
    """True if a backward has proved a presumed node: its root has no other way to a leaf."""
    if any(call.starts and _is_unavoidable(node, call.starts) for call in reversed(ran)):
        node.provenance = PROVED
        return True
    return False


def _is_unavoidable(node: Node, starts: Iterable[Node]) -> bool:
    others = list(reachable(starts, lambda each: () if each is node else each.edges))
    if any(each is not node and (not each.edges or each.onward is not None) for each in others):
        return False
    if any(each is not node and _may_have_another_edge(each) for each in others):
        return False
    below = reachable(starts, lambda each: [edge for edge in each.edges if edge.number >= node.number])
    return any(each is node for each in below)


def _may_have_another_edge(node: Node) -> bool:
    """True if an operand without an edge is only presumed to have no graph: a loader may give leaves to be learned."""
    outputs = () if node.behaviour is None else node.behaviour.outputs
    if outputs and all(output.grad | output.maybe_grad <= set(node.parameters) for output in outputs):
        return False
    operands = (operand for result in node.outputs for operand in result.maker)
    return any(isinstance(each.provenance, Presumption) and not each.requires_grad for each in operands)


def _of_size(tensor: Tensor | None) -> Grounds:
    """The presumption under which a tensor has more than one element."""
    presumed = None if tensor is None else tensor.presumed_several
    return () if presumed is None else (presumed,)


def _of_leaf(leaf: Tensor) -> Grounds:
    """The presumptions under which a leaf requires grad."""
    return (leaf.provenance,) if isinstance(leaf.provenance, Presumption) else _left(leaf)


def _lent(tensor: Tensor, node: Node) -> Grounds:
    """The presumption under which unseen code has not detached a result in place that it was handed."""
    return (tensor.left,) if tensor.left is not None and node.number < tensor.left_since < math.inf else ()


def _left(tensor: Tensor) -> Grounds:
    """The presumptions under which a leaf, or the base of a view, is still a leaf that requires grad."""
    leaf = tensor.base if tensor.base is not None else tensor
    return () if leaf.left is None else (leaf.left,)


def _of_absence(tensor: Tensor) -> Iterator[Presumption]:
    """The presumptions under which a tensor has no graph: those for all of its inputs."""

    def inputs(each: Tensor) -> Sequence[Tensor]:
        return each.maker if each.cut is None and not isinstance(each.provenance, Presumption) else ()

    for each in reachable([tensor], inputs):
        if isinstance(each.provenance, Presumption):
            yield each.provenance
        elif each.cut is not None and each.cut.presumed is not None:
            yield each.cut.presumed


def _of_tensors(tensors: Sequence[Tensor], ran: Sequence[BackwardCall]) -> Grounds:
    """The presumptions under which one of `tensors` requires grad: those of the first that does."""
    nearest: Grounds = ()
    for tensor in (each.answering for each in tensors):
        if not tensor.certainly_requires_grad:
            continue
        if tensor.node is not None:
            grounds = _of_node(tensor.node, ran) or _lent(tensor, tensor.node)
        else:
            grounds = _of_leaf(tensor)
        if not grounds:
            return ()
        nearest = nearest or grounds
    return nearest
