"""The backward pass: which nodes execute, which saved tensors they find freed or changed, and what they free.

Follows `torch/csrc/autograd/engine.cpp`: ready nodes run in descending order of their sequence number, AccumulateGrad
first; with `inputs=` only nodes on a path to them run.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from gradpath.autograd import gradients as gradients_of
from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.gradients import Graphs
from gradpath.autograd.graph import Autograd
from gradpath.autograd.provenance import PARTS, PROVED, Presumption, Provenance, of_any
from gradpath.autograd.tensor import PRESUMED, BackwardCall, Node, Tensor
from gradpath.autograd.twins import are_twins
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable

Custom = Callable[[BackwardCall, tuple[Node, ...], bool], Graphs]
"""The backward of a custom Function: what runs it, and the graph of the gradient that comes in."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the tensors with regard to which something is differentiated.

    They are `sampled` where they represent a list of unknown length; a `hidden` one is in no graph that is not seen,
    and of one that is `loose` more may have been computed than is seen.
    """

    sampled: bool = False
    hidden: Callable[[Tensor], bool] = lambda _: False
    loose: Callable[[Tensor], bool] = lambda _: False


def backward(
    autograd: Autograd,
    roots: Sequence[Tensor],
    *,
    retain: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
    seeds: Sequence[Tensor] | None = None,
) -> None:
    """`torch.autograd.backward`: gradients go into the `.grad` of leaves, or of `inputs` alone.

    `seeds` are the gradients of the roots, as far as they are tensors; None where they are not given.
    """
    call = _begin(autograd, roots, retain, create_graph, seeds is not None, accumulates=True)
    targets = None if inputs is None else [_target(autograd, each, call, FaultKind.RETAIN_NO_GRAD) for each in inputs]
    call.targets = None if targets is None else frozenset(targets)
    flows = _run(autograd, call, targets, seeds or ())
    for tensor, target in zip(inputs or (), targets or (), strict=True):
        if target in flows and target.accumulates is None:
            _accumulate(autograd, tensor, flows[target], create_graph)


def gradients(
    autograd: Autograd,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    retain: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    seeds: Sequence[Tensor] | None = None,
    known: Known | None = None,
) -> list[Tensor | None]:
    """`torch.autograd.grad`: the gradients of `outputs` with regard to `inputs`, None for one that is certainly unused.

    `seeds` as in `backward`; `known` is what is known of the inputs.
    """
    known = known or Known()
    call = _begin(autograd, outputs, retain, create_graph, seeds is not None, accumulates=False)
    targets = [_target(autograd, tensor, call) for tensor in inputs]
    call.targets = frozenset(targets)
    flows = _run(autograd, call, targets, seeds or ())
    results: list[Tensor | None] = []
    for index, (tensor, target) in enumerate(zip(inputs, targets, strict=True)):
        if target in flows:
            result = _gradient(autograd, tensor, flows[target], create_graph)
            gradients_of.place(result, tensor, target, call)
            results.append(result)
        elif not _is_unrelated(target, call, tensor, known) and (
            known.loose(tensor)
            or not _is_seen_through(autograd, outputs)
            or (known.sampled and any(each in flows for each in targets))
        ):
            results.append(_gradient(autograd, tensor, gradients_of.unseen(autograd, call), create_graph))
        elif allow_unused:
            results.append(None)
        else:
            raise AutogradError(FaultKind.UNUSED, tensor=tensor, call=call, index=index)
    return results


def _begin(
    autograd: Autograd,
    roots: Sequence[Tensor],
    retain: bool | None,
    create_graph: bool,
    seeded: bool,
    *,
    accumulates: bool,
) -> BackwardCall:
    autograd.calls += 1
    keep = create_graph if retain is None else retain
    call = BackwardCall(
        autograd.calls,
        autograd.recorder.site(),
        tuple(roots),
        keep,
        create_graph,
        accumulates=accumulates,
        presumed=autograd.presuming,
    )
    for root in roots:
        if root.requires_grad and not seeded and (root.one_element is False or root.presumed_several is not None):
            raise AutogradError(FaultKind.NOT_SCALAR, tensor=root, call=call)
        if (not root.requires_grad and not _may_have_graph(root)) or _only_by_base(autograd, root):
            raise AutogradError(FaultKind.NO_GRAD, tensor=root, call=call)
    return call


def _is_unrelated(target: Node, call: BackwardCall, tensor: Tensor, known: Known) -> bool:
    """True if no root can have been computed from a tensor, whatever is not seen of them."""
    return _is_later(target, call) or (_is_of_its_own(target) and known.hidden(tensor))


def _is_later(target: Node, call: BackwardCall) -> bool:
    """True if an operation was run after all that lead to the roots, so that none of them can have used its result.

    The node of what is not seen is made when its result is first used, and so later than the result, if anything.
    """
    return _is_operated(target) and all(start.number < target.number for start in call.starts)


def _is_of_its_own(target: Node) -> bool:
    """True if no tensor that is not seen can have the node: it is of an operation, or of a leaf."""
    return target.accumulates is not None or _is_operated(target)


def _is_operated(target: Node) -> bool:
    """True if a node is of an operation that made a new tensor."""
    name = target.name.rpartition(".")[2]
    return name != PRESUMED and name not in _MAY_GIVE_BACK and target.accumulates is None


_MAY_GIVE_BACK = frozenset({"contiguous", "expand_as", "flatten", "ravel", "reshape", "reshape_as", "to"})
"""Operations that return the tensor itself where there is nothing to do."""


def reached(autograd: Autograd, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> list[Tensor]:
    """The members of `tensors` that the graphs of `outputs` reach."""
    starts = [edge for edge in map(autograd.edge, outputs) if edge is not None]
    edges = {tensor: edge for tensor in tensors if (edge := autograd.edge(tensor)) is not None}
    leading = _leading_to(starts, list(edges.values()))
    return [tensor for tensor, edge in edges.items() if edge in leading]


def _is_seen_through(autograd: Autograd, outputs: Sequence[Tensor]) -> bool:
    """True if all is known of a graph, so that it leads nowhere else than is seen."""
    starts = (edge for edge in map(autograd.edge, outputs) if edge is not None)
    return not any(node.name == PRESUMED or node.is_open for node in reachable(starts, lambda node: node.edges))


def _may_have_graph(root: Tensor) -> bool:
    """True if something open went into a tensor, which may have given it a graph that is not seen."""
    uncut = reachable([root], lambda tensor: tensor.maker if tensor.cut is None else ())
    return any(tensor.is_open and tensor.node is None for tensor in uncut)


def _only_by_base(autograd: Autograd, root: Tensor) -> bool:
    """True if it requires grad as its base does, and has no graph: a view that was made under no_grad."""
    return root.base is not None and root.requires_grad and not root.flag and autograd.grad_fn(root) is None


def _target(
    autograd: Autograd, tensor: Tensor, call: BackwardCall, refusal: FaultKind = FaultKind.INPUT_NO_GRAD
) -> Node:
    if not tensor.requires_grad:
        raise AutogradError(refusal, tensor=tensor, call=call)
    edge = autograd.edge(tensor)
    return edge if edge is not None else Node("no edge", (), tensor.origin)


def _run(
    autograd: Autograd, call: BackwardCall, targets: Sequence[Node] | None, seeds: Sequence[Tensor]
) -> dict[Node, tuple[Node, ...]]:
    """Execute; the nodes that a gradient reached, with the graph that this gradient itself has (second order)."""
    starts = [edge for edge in map(autograd.edge, call.roots) if edge is not None]
    call.starts = tuple(starts)
    seed_graph = tuple(e for e in map(autograd.edge, seeds) if e is not None) if call.create_graph else ()
    needed = None if targets is None else _leading_to(starts, targets)
    waiting = _dependencies(starts, needed)
    flows: dict[Node, tuple[Node, ...]] = dict.fromkeys(starts, seed_graph)
    ready = [_ticket(node) for node in dict.fromkeys(starts) if waiting.get(node, 0) == 0]
    heapq.heapify(ready)
    executed: list[Node] = []
    certain = {node for start in starts for node in proven(start)}
    sure = set(starts)
    defined = set(starts)
    while ready:
        node = heapq.heappop(ready)[2]
        if node.accumulates is not None:
            if node in defined and call.accumulates and (targets is None or node in targets):
                _run_hooks(node, call)
                _accumulate(autograd, node.accumulates, flows.get(node, ()), call.create_graph)
            continue
        wanted = targets is not None and call.accumulates and node in targets  # Runs, though nothing below it does.
        if needed is not None and not wanted and not _below(node, needed):
            continue
        _run_hooks(node, call)
        there = node in sure and (not node.is_open or node in certain) and not (node.divided and node.freed_by)
        graphs = _execute(autograd, node, call, flows.get(node, ()), there=there)
        executed.append(node)
        if there:
            sure.update(node.edges)
        for output in node.outputs:
            if output.retains_grad and call.accumulates:
                _accumulate(autograd, output, flows.get(node, ()), call.create_graph)
        for index, edge in enumerate(node.edges):
            if needed is not None and edge not in needed:
                continue
            graph = graphs[index] if graphs else ()
            known = flows.get(edge, ())
            flows[edge] = tuple(dict.fromkeys(known + graph)) if graph else known
            if node in defined and index not in node.withheld:
                defined.add(edge)
                call.givers.setdefault(edge, []).append(node)
            waiting[edge] -= 1
            if waiting[edge] == 0:
                heapq.heappush(ready, _ticket(edge))
    for start in starts:
        confirm(start)
    autograd.ran.append(call)
    autograd.recorder.ran_backward(call, executed)
    for each in call.afterwards:
        each()
    return flows


def _run_hooks(node: Node, call: BackwardCall) -> None:
    for hook in node.hooks:
        hook(call)


def confirm(node: Node) -> None:
    """A backward that went through proves the graph of its root, and of what alone can have given it one."""
    provenance: Provenance = PROVED
    for each in proven(node):
        each.provenance = provenance
        for output in each.outputs:
            output.provenance = provenance
        provenance = each.onward or provenance


def proven(node: Node) -> list[Node]:
    """The root of a backward, and what alone can have given it a graph, where nothing else is known to have."""
    found = [node]
    while node.is_open and len(node.edges) == 1:
        node = node.edges[0]
        found.append(node)
    return found


def _ticket(node: Node) -> tuple[bool, int, Node]:
    """The place of a node in the queue: gradients of leaves first, then what was computed last; no number is twice."""
    return (False, node.number, node) if node.accumulates is not None else (True, -node.number, node)


def _leading_to(starts: Sequence[Node], targets: Sequence[Node]) -> set[Node]:
    """The nodes from which a target can be reached, the targets included."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(start, False) for start in starts]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((edge, False) for edge in node.edges)
    needed: set[Node] = set()
    for node in order:
        if node in targets or any(edge in needed for edge in node.edges):
            needed.add(node)
    return needed


def _below(node: Node, needed: set[Node] | None) -> bool:
    return needed is not None and any(edge in needed for edge in node.edges)


def _dependencies(starts: Sequence[Node], needed: set[Node] | None) -> dict[Node, int]:
    """The number of gradients that each node waits for (its dependencies)."""
    counts: dict[Node, int] = {}
    seen: set[Node] = set()
    todo = list(dict.fromkeys(starts))
    while todo:
        node = todo.pop()
        if node in seen or (needed is not None and node not in needed):
            continue
        seen.add(node)
        for edge in node.edges:
            if needed is None or edge in needed:
                counts[edge] = counts.get(edge, 0) + 1
                todo.append(edge)
    return counts


def _execute(autograd: Autograd, node: Node, call: BackwardCall, incoming: tuple[Node, ...], *, there: bool) -> Graphs:
    """Run one node; raises if what it saved is freed or changed. Gives the graphs of its gradients (second order).

    Without `there` the node may as well not be reached, or not be there.
    """
    run_custom: Custom | None = node.custom if callable(node.custom) else None
    there = there and not autograd.is_mended(call.site)
    if isinstance(node.custom, FaultKind):
        raise AutogradError(node.custom, node=node, call=call)
    if run_custom is None and node.freed_by is not None and node.holds and there and not _is_apart(node, call):
        raise AutogradError(FaultKind.TWICE, node=node, earlier=node.freed_by, call=call, tensor=call.roots[0])
    if run_custom is not None:
        graphs = run_custom(call, incoming, there)
    else:
        if node.freed_by is None and there:
            check_saved(node, call)
        graphs = gradients_of.onward(autograd, node, incoming) if call.create_graph else ()
    if not call.retain and node.freed_by is None:
        node.freed_by = call
    return graphs


def _is_apart(node: Node, call: BackwardCall) -> bool:
    """True if what the parts of an unseen result have in common is presumed, and they are taken for twins."""
    parts = isinstance(node.saves, Presumption) and node.saves.row == PARTS
    return parts and node.freed_by is not None and are_twins(node, node.freed_by, call)


def check_saved(node: Node, call: BackwardCall) -> None:
    """Raise where a tensor that `node` saved was written or detached in place since."""
    for saved in node.saved:
        if saved.storage.version != saved.version:
            write = next((write for write in saved.storage.writes if write.version > saved.version), None)
            raise AutogradError(FaultKind.MODIFIED, node=node, saved=saved, write=write, call=call)
        if saved.had_grad_fn and saved.tensor.node is None:
            raise AutogradError(FaultKind.SAVED_DETACHED, node=node, saved=saved, call=call)


def _gradient(autograd: Autograd, of: Tensor, graph: tuple[Node, ...], create_graph: bool) -> Tensor:
    result = Tensor(shape=of.shape, dtype=of.dtype, inference=autograd.inference)
    result.origin = autograd.recorder.site()
    result.operation, result.several = "gradient", of.several
    if create_graph and graph:
        result.node = graph[0] if len(graph) == 1 else Node("sum of gradients", graph, result.origin)
        result.provenance = of_any(node.provenance for node in graph)
    return result


def _accumulate(autograd: Autograd, leaf: Tensor, graph: tuple[Node, ...], create_graph: bool) -> None:
    """`AccumulateGrad`: in place unless the gradient's own graph is wanted (`accumulate_grad.h`)."""
    if leaf.grad is None or create_graph:
        before = leaf.grad
        leaf.grad = _gradient(autograd, leaf, graph, create_graph)
        if before is not None and before.requires_grad and leaf.grad.node is None:
            edge = autograd.edge(before)
            leaf.grad.node = Node("sum of gradients", () if edge is None else (edge,), leaf.grad.origin)
    elif leaf.grad.inference and not autograd.inference:
        raise AutogradError(FaultKind.INFERENCE_INPLACE, tensor=leaf.grad)
    else:
        leaf.grad.storage.write("accumulation", autograd.recorder.site(), leaf.grad)
