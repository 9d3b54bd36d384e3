"""The values that events carry, as the readers of a trace see them: tensors, numbers read from tensors, records."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.origins import Call, Item
from gradpath.interpreter.sites import Site
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ReadOut:
    """A number that was read out of a tensor, with how (`item`, `float`, ...) and where.

    `presumed` are the conditions under which what was computed with it is still a number.
    """

    tensor: Tensor
    how: str
    site: Site
    presumed: tuple[Presumption, ...] = ()


def read_of(value: object) -> ReadOut | None:
    """The read by which the program got a number from a tensor; None for any other value."""
    read = getattr(value, "read", None)
    return read if isinstance(read, ReadOut) else None


def tensor_of(value: object) -> Tensor | None:
    """The tensor that a value is, also one that a presumption has made of an unknown since; None for a number."""
    if type(value) is Tensor:
        return value
    if isinstance(value, ReadOut) or read_of(value) is not None:
        return None
    made = value if isinstance(value, Tensor) else getattr(value, "tensor", None)
    made = made if isinstance(made, Tensor) else getattr(made, "tensor", None)
    return made if isinstance(made, Tensor) else None


def gotten_from(value: object) -> tuple[object, str] | None:
    """The unseen object and its method whose result an unknown value is an item of, or the second part of an item.

    A loop over `model.named_parameters()` or `state.items()` gives such parts, with their names before them.
    """
    match getattr(value, "origin", None):
        case Item(of=whole, key=1):
            match getattr(whole, "origin", None):
                case Item(of=pairs, key=None):
                    return _method_of(pairs)
        case Item(of=whole, key=None):
            return _method_of(whole)
    return None


def _method_of(value: object) -> tuple[object, str] | None:
    """The object and the method of it of which an unknown value is the result."""
    match getattr(value, "origin", None):
        case Call(of=method, name=name):
            return getattr(method, "owner", None), name
    return None


def in_record(value: object, depth: int = 2) -> Iterator[object]:
    """The parts of a tuple or a dict, and of those in it, also of one that is not seen; any other value alone."""
    parts = parts_of(value) if depth and (isinstance(value, tuple) or hasattr(value, "entries")) else ()
    named = getattr(value, "named", None) if depth else None
    parts = tuple(named.values()) if named else parts
    for part in parts:
        yield from in_record(part, depth - 1)
    if not parts:
        yield value


def parts_of(value: object) -> tuple[object, ...]:
    """The values that a tuple or a container holds."""
    parts = getattr(value, "parts", None)
    return value if isinstance(value, tuple) else tuple(parts()) if parts is not None else ()
