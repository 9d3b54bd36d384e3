"""NumPy, as far as it meets tensors: it refuses those that require grad, and what it gives has no graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

from gradpath.interpreter.containers import List
from gradpath.interpreter.events import BackwardRan
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call, Item, Library, Made
from gradpath.interpreter.values import Arguments, NativeFunction, Unknown, Value, identity
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.presumed.unknowns import unknown_call
from gradpath.overlays.torch.operations import tensors_in
from gradpath.overlays.torch.tensor_methods import refuse_numpy
from gradpath.support.words import words

CONVERSIONS = words("array asarray mean sum std var median max min stack concatenate average")


_REFUSING = """
abs absolute add allclose append argmax argmin argsort around asanyarray ascontiguousarray atleast_1d ceil clip copy cos
count_nonzero cumsum divide dot exp expand_dims floor histogram hstack interp isclose isfinite isinf isnan linalg.norm
linspace log log10 log1p log2 matmul maximum minimum multiply nanmean nansum percentile power quantile ravel repeat
reshape round sign sin sort sqrt square subtract tanh tile transpose unique vdot vstack where
"""
"""Other functions that make an array of their first argument; their result is plain data."""


def _refuse(machine: Machine, values: Sequence[Value], depth: int = 3) -> None:
    """Raise where NumPy is to make an array of a tensor that requires grad.

    What a method that is not seen gives is taken for an array here: `net.act(state)` is no call of the network itself.
    So is what a loss that is not seen gives beside itself, such as scores, and are measures in a list.
    """
    for value in values:
        if depth and (isinstance(value, List) or (isinstance(value, tuple) and value)):
            parts = value.items if isinstance(value, List) else value
            if not any(_is_measure(machine, each) for each in parts):
                _refuse(machine, parts, depth - 1)
        elif not _is_of_unseen(value):
            for tensor in tensors_in(machine, value):
                refuse_numpy(machine, tensor)


def _is_of_unseen(value: Value) -> bool:
    """True if a method, or a part, of an unseen network gave a value, or an unseen loss gave it with others."""
    match value:
        case Unknown(origin=Call(of=Unknown(owner=Unknown() as owner))):
            return role_of(owner) == "model"
        case Unknown(origin=Item(of=Unknown(origin=Call(of=Unknown() as loss)))):
            return role_of(loss) == "loss"
    return False


def _is_measure(machine: Machine, value: Value) -> bool:
    """True if a model that is not seen has given a value beside a loss that was back-propagated as it was."""
    match value:
        case Unknown(origin=Item(of=Unknown() as whole, key=int())):
            run = {id(root) for each in machine.trace.of(BackwardRan) for root in each.call.roots}
            beside = (machine.unknowns.get(("item", whole.number, identity(index))) for index in range(MOST_RESULTS))
            return any(each is not None and id(getattr(each.tensor, "tensor", None)) in run for each in beside)
    return False


MOST_RESULTS = 8
"""Results of one call among which a loss is looked for."""


_OF_NUMBERS = words("numpy.cos numpy.exp numpy.log numpy.log10 numpy.log2 numpy.sin numpy.sqrt numpy.tanh")
"""Functions that give for a number what the function of that name in `math` does."""


def _converting(name: str) -> NativeFunction:
    def convert(machine: Machine, arguments: Arguments) -> Value:
        _refuse(machine, arguments.positional[:1])
        return machine.unknown("numpy array", None, tuple(arguments.all()), made=Made.ARRAY)

    return NativeFunction(name, convert)


def refusing(dotted: str, operands: int | None = 1) -> NativeFunction:
    """A function of a library that makes arrays of its first `operands`, or of all; nothing else of it is known."""
    of_number = getattr(math, dotted.rpartition(".")[2], None) if dotted in _OF_NUMBERS else None

    def call(machine: Machine, arguments: Arguments) -> Value:
        match arguments:
            case Arguments(positional=[int() | float() as number], keywords={}) if of_number is not None:
                with suppress(ValueError, OverflowError):  # Where `math` refuses it, NumPy gives an infinity or NaN.
                    return float(of_number(number))
        _refuse(machine, arguments.positional[:operands])
        library = machine.unknown_from(Library(dotted, dotted), ("name", dotted), data=True)
        if not isinstance(library, Unknown):
            return machine.call(library, arguments)  # The program has put something else in its place.
        return unknown_call(machine, library, arguments)

    return NativeFunction(dotted.rpartition(".")[2], call)


_DELEGATED = ("squeeze", "swapaxes")
"""Functions that call the method of the same name: of a tensor they give a tensor, with its graph."""


def _delegating(name: str) -> NativeFunction:
    def call(machine: Machine, arguments: Arguments) -> Value:
        method = machine.attribute(arguments.get(0, "a", None), name)
        return machine.call(method, Arguments(arguments.positional[1:], arguments.keywords))

    return NativeFunction(name, call)


NAMES: Names = {
    **{f"numpy.{name}": refusing(f"numpy.{name}") for name in _REFUSING.split()},
    **{f"numpy.{name}": _converting(name) for name in CONVERSIONS},
    **{f"numpy.{name}": _delegating(name) for name in _DELEGATED},
}

GENERAL = True
