"""What a person calls parameters: the variable that holds the module, and the way from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.trace import Named, Trace
from gradpath.records import dataclass
from gradpath.rules.report import Source
from gradpath.rules.stories import name_of, target_of


class _Value(Protocol):
    tensor: Tensor


class _Module(Protocol):
    """A module of the program, as far as rules know modules."""

    @property
    def has_unknown_parts(self) -> bool: ...

    def parameters(self) -> list[tuple[str, _Value]]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Parameters that are told of together, by the name of the smallest module that has them and no others."""

    name: str
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class _Holder:
    """A module that a variable holds, and its parameters by the way from there; `whole` if these are all."""

    name: str
    ways: dict[int, str]
    whole: bool


def groups_of(trace: Trace, source: Source, tensors: Sequence[Tensor]) -> list[Group]:
    """The parameters in groups: whole modules where all of their parameters are among `tensors`."""
    left = {id(tensor): tensor for tensor in tensors}
    found: list[Group] = []
    for holder in _holders(trace, source):
        inside = {way: left[key] for key, way in holder.ways.items() if key in left}
        if not inside:
            continue
        others = [way for key, way in holder.ways.items() if key not in left]
        for prefix in dict.fromkeys(_widest(way, others) if holder.whole else way for way in inside):
            own = tuple(tensor for way, tensor in inside.items() if _is_below(way, prefix))
            found.append(Group(f"{holder.name}.{prefix}" if prefix else holder.name, own))
        left = {key: tensor for key, tensor in left.items() if key not in holder.ways}
    return found + [Group(name_of(trace, source, tensor), (tensor,)) for tensor in left.values()]


def _widest(way: str, others: Sequence[str]) -> str:
    """The shortest beginning of a way below which none of the `others` is: "" for the module as a whole."""
    steps = way.split(".")
    for count in range(len(steps)):
        prefix = ".".join(steps[:count])
        if not any(_is_below(other, prefix) for other in others):
            return prefix
    return way


def _is_below(way: str, prefix: str) -> bool:
    return not prefix or way == prefix or way.startswith(f"{prefix}.")


def _holders(trace: Trace, source: Source) -> list[_Holder]:
    """The modules that variables hold, those with the most parameters first, of the same one the last variable."""
    found = {id(event.module): _holder(source, event) for event in trace.of(Named)}
    return sorted(found.values(), key=lambda each: len(each.ways))[::-1]


def _holder(source: Source, event: Named) -> _Holder:
    whole = not cast("_Module", event.module).has_unknown_parts
    return _Holder(target_of(source, event), ways_of(event), whole)


def held(trace: Trace) -> set[int]:
    """The parameters, by identity, that modules in variables have when the path ends."""
    return {key for event in {id(event.module): event for event in trace.of(Named)}.values() for key in ways_of(event)}


def ways_of(event: Named) -> dict[int, str]:
    """The parameters, by identity, of a module that a variable holds, and the way to each from there."""
    return {id(value.tensor): name for name, value in cast("_Module", event.module).parameters()}
