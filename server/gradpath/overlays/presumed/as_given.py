"""The graphs that tensors had when an unseen call was given them: later writes are not in its result."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.tensor import Node, Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.torch.tensor_value import TensorValue


def note_graphs(machine: Machine, made: Unknown, values: Sequence[Value]) -> None:
    """Remember the graphs of the tensors among `values`, of which a call has just computed `made`."""
    tensors = [each.tensor for each in values if isinstance(each, TensorValue)]
    if tensors:
        machine.remembered[_GRAPHS, made.number] = {each: (each.node, each.requires_grad) for each in tensors}


def as_given(machine: Machine, made: Unknown, sources: Sequence[Tensor]) -> list[Tensor]:
    """`sources` as they were when `made` was computed of them, without those that had no graph then and have one now.

    It has to be a tensor: an object may read what it was given later.
    """
    graphs = machine.remembered.get((_GRAPHS, made.number))
    if not isinstance(graphs, dict):
        return list(sources)
    return [then for each in sources if (then := _then(each, graphs.get(each))) is not None]


_GRAPHS = "graphs of what a call is given"
"""With the number of an unknown, the key under which a path remembers them."""


def _then(tensor: Tensor, graph: tuple[Node | None, bool] | None) -> Tensor | None:
    if graph is None:
        return tensor
    node, required = graph
    if not required:
        return None if tensor.requires_grad else tensor
    if node is None or node is tensor.node:
        return tensor
    before = Tensor(shape=tensor.shape, dtype=tensor.dtype, storage=tensor.storage, origin=tensor.origin)
    before.node, before.provenance = node, tensor.provenance
    before.operation, before.label, before.maker = tensor.operation, tensor.label, tensor.maker
    return before
