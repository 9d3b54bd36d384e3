"""Pieces of an unseen tensor: `a, b = x.chunk(2)` are views into which PyTorch allows no write with a graph.

It refuses that whatever the tensor is. What else a piece is stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call, Item
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.asked import has_graph
from gradpath.overlays.torch.tensor_value import TensorValue, wrap

_SEVERAL = frozenset({"chunk", "hsplit", "tensor_split", "unbind", "vsplit"})
"""Methods that only tensors have, and that give several views."""


def write(machine: Machine, unknown: Unknown, written: Iterable[Value], how: Callable[[TensorValue], Value]) -> Value:
    """Run a write of some values into an unknown by `how`, if it is a piece and they have a graph.

    What PyTorch refuses is raised; `NotImplemented` where it refuses nothing.
    """
    match unknown.origin:
        case Item(of=Unknown(origin=Call(of=Unknown() as whole, name=name))) if name in _SEVERAL:
            pass
        case _:
            return NotImplemented
    if not machine.autograd.grad_enabled or not has_graph(machine, written):
        return NotImplemented
    base = machine.autograd.tensor(dtype=None)
    piece = wrap(machine.autograd.view(base, f"torch.{name}", multiple=True))
    piece.tensor.label = unknown.label
    piece.tensor.origin = unknown.site
    try:
        return how(piece)
    except AutogradError as error:
        error.presumed = (conditions.TENSOR.of(conditions.name_of(whole)),)
        raise
