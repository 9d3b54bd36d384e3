"""Products of gradients with vectors that a caller gives: `torch.autograd.grad(gradient @ vector, parameters)`.

A gradient that was asked for without `create_graph` has no graph. If it is multiplied by what is handed in, and the
product differentiated by the same parameters again, the vector is taken for one of the caller's own: of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.provenance import OBSERVED, Presumption
from gradpath.autograd.tensor import PRESUMED, Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.presumed_tensors import HANDED_IN
from gradpath.support.traversal import reachable


def note_gradients(machine: Machine, results: Sequence[Tensor | None], wanted: Value, inputs: Sequence[Tensor]) -> None:
    """Remember of gradients without a graph what they were asked for."""
    for each in results:
        if each is not None and not each.requires_grad:
            machine.remembered[_ASKED, each] = (wanted, *inputs)


def settle_products(machine: Machine, roots: Sequence[Tensor], wanted: Value, inputs: Sequence[Tensor]) -> None:
    """Take the vectors for numbers where each root is made of them and of gradients by all that is asked for again."""
    found: dict[Tensor, Presumption | None] = {}
    for root in roots:
        parts = list(reachable([root], lambda tensor: tensor.maker if tensor.cut is None else ()))
        if not any(_has_all(machine.remembered.get((_ASKED, each)), wanted, inputs) for each in parts):
            return
        for each in (part for part in parts if part.requires_grad or part.is_open):
            unknown = machine.remembered.get((HANDED_IN, each))
            presumed = conditions.DATA.of(conditions.name_of(unknown)) if isinstance(unknown, Unknown) else None
            if not each.is_open or each.flag or (presumed is None and (not each.maker or each.operation == PRESUMED)):
                return
            found[each] = presumed
    for each, presumed in found.items():
        each.node, each.provenance = None, presumed or OBSERVED


_ASKED = "gradient without a graph"
"""With a tensor, the key under which a path remembers what it is the gradient by."""


def _has_all(asked: Value, wanted: Value, inputs: Sequence[Tensor]) -> bool:
    if not isinstance(asked, tuple):
        return False
    return asked[0] is wanted or all(any(each is one for one in asked[1:]) for each in inputs)
