"""Gradients as tensors: their graph under `create_graph`, and the memory that they share.

The inputs that the gradient for an input depends on, and what its graph saves, are in `ops.json` (`second`,
`second_saves`). Which operations pass a gradient on as a view follows `derivatives.yaml`, as observed in PyTorch 2.13.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gradpath.autograd.layout import Order
from gradpath.autograd.provenance import OPEN, of_any
from gradpath.autograd.tensor import PRESUMED, BackwardCall, Creation, Node, Tensor
from gradpath.support.fast_dataclasses import replace
from gradpath.support.words import words

if TYPE_CHECKING:
    from gradpath.autograd.behaviour import Behaviour
    from gradpath.autograd.graph import Autograd

_GRADIENT = "gradient"

Graph = tuple[Node, ...]
"""The nodes that a gradient depends on."""

Graphs = tuple[Graph, ...]
"""For each edge of a node the nodes that the gradient along it depends on."""

_HANDED_ON = frozenset({"add", "add_", "sub", "sub_", "clone", "contiguous", "as_strided"})
"""Operations whose gradient is the incoming one itself (for `sub` that of the first operand)."""

_VIEWED = words(
    """view view_as reshape reshape_as flatten ravel unflatten unsqueeze squeeze cat stack t transpose permute swapaxes
    swapdims movedim T mT"""
)
"""Operations whose gradient is a view of the incoming one."""


_DRAWING = frozenset({"torch.bernoulli", "torch.normal", "torch.poisson"})
"""Functions that draw by what they are given: a graph leads back to that, and its gradient is zero."""

_STEPS = _DRAWING | {"torch.round", "torch.floor", "torch.ceil", "torch.trunc", "torch.fix", "torch.sign"}


def is_step_function(node: Node) -> bool:
    """True if the derivative of an operation is zero everywhere: its backward runs and hands on nothing but zeros."""
    return node.function in _STEPS


def onward(autograd: Autograd, node: Node, incoming: tuple[Node, ...]) -> Graphs:
    """The graphs of the gradients that `node` passes on, if the incoming one has the graph `incoming`.

    The gradients of an operation without an entry in the table may depend on all its inputs.
    """
    behaviour = node.behaviour
    if is_step_function(node):
        return ((),) * len(node.edges)  # Zeros, whatever comes in.
    if node.name == PRESUMED:
        return (_gone_through(autograd, node, incoming),) * len(node.edges)
    if behaviour is None:
        unsure = node.edges if node.holds else ()
        return (_graph(autograd, node, incoming, unsure),) * len(node.edges)
    made: dict[str, tuple[Node, ...]] = {}
    for parameter in node.parameters:
        if parameter not in made:
            sure = _hung_on(node, behaviour.second.get(parameter, frozenset()))
            unsure = _hung_on(node, behaviour.maybe_second.get(parameter, frozenset()))
            savers = tuple(_savers(autograd, node, behaviour, parameter, incoming))
            made[parameter] = _graph(autograd, node, (*savers, *incoming, *sure), unsure)
    return tuple(made[parameter] for parameter in node.parameters)


def _savers(autograd: Autograd, node: Node, behaviour: Behaviour, parameter: str, incoming: Graph) -> Iterator[Node]:
    """The nodes that save in the graph of the gradient for `parameter`: one for each certain dependency of it.

    It saves what `node` saved, as it was then.
    """
    if not behaviour.second_saves or autograd.saved_instead is not None:
        return
    for reason in (_GRADIENT, *sorted(behaviour.second.get(parameter, ()))):
        roles = {
            pair.partition(":")[2]
            for pair, reasons in behaviour.second_saves.items()
            if reason in reasons and pair.startswith(parameter + ":")
        }
        saved = [replace(each, site=each.site or node.site) for each in node.saved if each.role in roles]
        edges = incoming if reason == _GRADIENT else _hung_on(node, frozenset({reason}))
        if saved and any(not edge.is_open for edge in edges):
            saver = Node(f"gradient of {node.name}", edges, autograd.recorder.site())
            saver.saved = saved
            yield saver


def _hung_on(node: Node, parameters: frozenset[str]) -> tuple[Node, ...]:
    """The edges of these parameters; a dependency on a saved result is one on the node itself."""
    edges = [edge for edge, name in zip(node.edges, node.parameters, strict=True) if name in parameters]
    if not edges or not any(saved.role.startswith("out") for saved in node.saved):
        return tuple(edges)
    saved = {each.role for each in node.saved}
    named = [edge for edge, name in zip(node.edges, node.parameters, strict=True) if name in parameters & saved]
    return (node, *named)


def _graph(autograd: Autograd, node: Node, sure: Iterable[Node], unsure: Iterable[Node]) -> tuple[Node, ...]:
    name, site = f"gradient of {node.name}", autograd.recorder.site()
    edges = tuple(dict.fromkeys(sure))
    if rest := tuple(unsure):
        edges = (*edges, Node(name, rest, site, provenance=OPEN))
    if not edges:
        return ()
    graph = Node(name, edges, site, holds=node.holds)
    graph.saves = node.saves
    graph.provenance = of_any(edge.provenance for edge in edges)
    return (graph,)


def _gone_through(autograd: Autograd, node: Node, incoming: Iterable[Node]) -> Graph:
    """The graph of a gradient that an unseen call returned, with the provenance of that call."""
    edges = tuple(dict.fromkeys((*incoming, *node.edges)))
    site, provenance = autograd.recorder.site(), node.provenance
    graph = Node(f"gradient of {node.name}", edges, site, holds=node.holds, provenance=provenance)
    graph.saves = node.saves
    return (graph,)


def unseen(autograd: Autograd, call: BackwardCall) -> Graph:
    """The graph of a gradient that reaches its tensor on a way that was not seen, if it does."""
    edges = tuple(edge for edge in map(autograd.edge, call.roots) if edge is not None)
    return (Node("gradient", edges, autograd.recorder.site(), provenance=OPEN),)


def place(result: Tensor, of: Tensor, target: Node, call: BackwardCall) -> None:
    """Say of a gradient that `autograd.grad` returns whether it is a view, and whether its elements share memory.

    A `.grad` is neither: it is copied, or taken out of the view.
    """
    view = expanded = False
    shape = of.shape
    while len(givers := call.givers.get(target, [])) == 1:
        target = givers[0]
        made = target.outputs[0].shape if target.outputs else None
        short = target.name.rpartition(".")[2]
        if short in ("sum", "expand") and shape != ():
            view, expanded = True, short == "sum"
            break
        if short in _HANDED_ON:
            if made is None or made != shape:
                view = view or (made is not None and shape is not None)
                break
        elif short in _VIEWED:
            view = True
        else:
            break
        shape = made
    if expanded:
        result.layout = Order.SHARED
    if view and not call.create_graph and not result.inference:
        result.base = Tensor(storage=result.storage, shape=of.shape, dtype=of.dtype, origin=result.origin)
        result.creation = Creation.NO_GRAD
