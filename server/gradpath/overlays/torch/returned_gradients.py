"""What the `backward` of a custom Function returned, and whether PyTorch takes it, as seen in 2.13.

It wants a gradient or None for each argument that `forward` was given. More Nones at the end are ignored; a gradient
of another shape is refused unless it can be summed to the right one, and so is one for an argument that is no tensor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.tensor import MANY, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Computed, Made
from gradpath.interpreter.values import CONSTANTS, Function, Unknown, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue


def check(
    machine: Machine,
    function: Function,
    result: Value,
    wanted: Collection[int] | None,
    values: Sequence[Value] = (),
    places: Sequence[int | None] = (),
) -> None:
    """Raise where PyTorch refuses the `result` of a `backward`.

    `wanted` are the numbers of arguments that `forward` may have been given, None for any; `values` are they, and
    `places` the indices of those that get a gradient.
    """
    returned = _returned(result)
    if returned is None:
        return
    site = engines.site_of_result(machine, function)
    if wanted is not None:
        while len(returned) > max(wanted) and returned[-1] is None:
            returned.pop()
        if len(returned) not in wanted:
            expected = min(wanted, key=lambda each: abs(each - len(returned)))
            left_out = [each.tensor for each in values[len(returned) :] if isinstance(each, TensorValue)]
            raise AutogradError(FaultKind.GRADIENT_COUNT, at=site, count=len(returned), index=expected, inputs=left_out)
    for index, (value, gradient) in enumerate(zip(values, returned, strict=False)):
        kind = _refusal(value, gradient, wanted=index in places)
        if kind is not None:
            tensor = value.tensor if isinstance(value, TensorValue) else None
            raise AutogradError(kind, at=site, index=index, tensor=tensor, count=len(returned))


def _returned(result: Value) -> list[Value] | None:
    """The gradients that a `backward` returned; None where it is not known how many."""
    match result:
        case tuple():
            return list(result)
        case List(open=True):
            return None  # A tuple of unknown length is one, too.
        case Unknown(origin=Computed(made=Made.ARITHMETIC, sources=sources)):
            return None if any(isinstance(each, (tuple, List)) for each in sources) else [result]
        case TensorValue() | None:
            return [result]
    return [result] if is_no_tensor(result) else None


def _refusal(value: Value, gradient: Value, *, wanted: bool) -> FaultKind | None:
    """Why one gradient is refused, for the argument that it is of; None where it is taken, or not looked at."""
    match gradient:
        case TensorValue():
            if is_no_tensor(value):
                return FaultKind.GRADIENT_OF_PLAIN
            misfit = wanted and isinstance(value, TensorValue) and not _fits(value.tensor, gradient.tensor)
            return FaultKind.GRADIENT_SHAPE if misfit else None
        case None | Unknown():
            return None
    return FaultKind.GRADIENT_KIND if is_no_tensor(gradient) else None


def is_no_tensor(value: Value) -> bool:
    """True if a value certainly is something else than a tensor."""
    return isinstance(value, (*CONSTANTS, tuple, List, Dict, TensorNumber))


def _fits(argument: Tensor, gradient: Tensor) -> bool:
    """False if a gradient certainly cannot be summed to the shape of the argument."""
    wanted, got = argument.shape, gradient.shape
    if wanted is None or got is None:
        return True
    if len(got) < len(wanted):
        return False
    return all(_may_be_summed(*sizes) for sizes in zip(reversed(wanted), reversed(got), strict=False))


def _may_be_summed(wanted: int | None, got: int | None) -> bool:
    known = wanted is not None and got is not None and MANY not in (wanted, got)
    return not known or wanted in (1, got)
