"""Where values leave PyTorch for Python or NumPy, before a tensor is made of them again."""

from __future__ import annotations

from collections import deque
from itertools import islice

from gradpath.autograd.tensor import Cut, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.readings import parts_of
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue, is_array

_LONGEST_SEARCH = 64
"""Values that are looked at on the way back from an array to the tensors that it was made of."""


def note_cut(machine: Machine, made: Tensor, sources: list[Tensor], data: Value, how: str) -> None:
    """Note what a tensor was made of, and where it left its graph, if it had one.

    `sources` are the tensors in `data`; numbers and arrays in it may have been computed from others.
    """
    made.maker = tuple(sources)
    made.operation = how
    source = next((each for each in sources if each.requires_grad), None)
    if source is None:
        outside, source = _computed_outside(data)
        how = outside or how
    if source is not None:
        machine.autograd.cut(made, Cut(how, machine.site(), source))


def _computed_outside(data: Value) -> tuple[str, Tensor | None]:
    """The operation by which `data` left PyTorch for Python or NumPy, if known, and the tensor with a graph.

    The nearest one counts: a total of many numbers leads back to the last of them first.
    """
    first = ""
    todo: deque[tuple[Value, str]] = deque([(data, "")])
    for value, how in islice(iter(lambda: todo.popleft() if todo else None, None), _LONGEST_SEARCH):
        match value:
            case TensorValue() if _is_trained(value.tensor):
                return how, value.tensor
            case TensorNumber() if _is_trained(value.tensor):
                return how or value.how, value.tensor
            case tuple() | List():
                todo.extend((each, how) for each in parts_of(value))
            case Unknown():
                how = how or ("numpy" if is_array(value) else "")
                first = first or how
                todo.extend((each, how) for each in value.sources)
    return first, None


def _is_trained(tensor: Tensor) -> bool:
    """True if a tensor was computed from something that requires a gradient, whether its own graph was cut or not."""
    return any(each.requires_grad for each in tensor.lineage())
