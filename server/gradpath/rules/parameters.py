"""What a person calls parameters: the variable that holds the module, and the way from there."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Protocol, cast

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.trace import Named, Trace
from gradpath.records import dataclass
from gradpath.rules.report import Source
from gradpath.rules.stories import name_of, target_of
from gradpath.rules.syntax import statement_of


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
class Holder:
    """A module that a variable holds, and its parameters by the way from there; `whole` if these are all.

    It was first `bound` there. `names` are all that the program calls it, as it writes them; `name` is the last that is
    not of a loop. It is `lasting` if there is such a name.
    """

    name: str
    ways: dict[int, str]
    whole: bool
    names: tuple[str, ...]
    bound: Named
    lasting: bool

    @property
    def tensors(self) -> list[tuple[str, Tensor]]:
        """The parameters themselves, with the ways to them."""
        return [(way, value.tensor) for way, value in cast("_Module", self.bound.module).parameters()]


def groups_of(trace: Trace, source: Source, tensors: Sequence[Tensor]) -> list[Group]:
    """The parameters in groups: whole modules where all of their parameters are among `tensors`."""
    left = {id(tensor): tensor for tensor in tensors}
    found: list[Group] = []
    for holder in holders(trace, source):
        inside = {way: left[key] for key, way in holder.ways.items() if key in left}
        if not inside:
            continue
        others = [way for key, way in holder.ways.items() if key not in left]
        for prefix in dict.fromkeys(widest(way, others) if holder.whole else way for way in inside):
            own = tuple(tensor for way, tensor in inside.items() if is_below(way, prefix))
            found.append(Group(f"{holder.name}.{prefix}" if prefix else holder.name, own))
        left = {key: tensor for key, tensor in left.items() if key not in holder.ways}
    return found + [Group(name_of(trace, source, tensor), (tensor,)) for tensor in left.values()]


def widest(way: str, others: Sequence[str]) -> str:
    """The shortest beginning of a way below which none of the `others` is: "" for the module as a whole."""
    steps = way.split(".")
    for count in range(len(steps)):
        prefix = ".".join(steps[:count])
        if not any(is_below(other, prefix) for other in others):
            return prefix
    return way


def is_below(way: str, prefix: str) -> bool:
    """Whether a way leads to a module, or to what is in it."""
    return not prefix or way == prefix or way.startswith(f"{prefix}.")


def holders(trace: Trace, source: Source) -> list[Holder]:
    """The modules that variables hold, those with the most parameters first, of the same one the last variable."""
    known = trace.once(_known)
    if not known:
        named: dict[int, list[Named]] = {}
        for event in trace.of(Named):
            named.setdefault(id(event.module), []).append(event)
        found = [_holder(trace, source, events) for events in named.values()]
        known.append(sorted(found, key=lambda each: len(each.ways))[::-1])
    return known[0]


def _known(trace: Trace) -> list[list[Holder]]:
    return []


def _holder(trace: Trace, source: Source, events: Sequence[Named]) -> Holder:
    whole = not cast("_Module", events[-1].module).has_unknown_parts
    names = dict.fromkeys(target_of(source, event) for event in events)
    lasting = [event for event in events if not _is_of_a_loop(trace, event)]
    bound = (lasting or events)[-1]
    return Holder(target_of(source, bound), ways_of(bound), whole, tuple(names), events[0], bool(lasting))


def _is_of_a_loop(trace: Trace, event: Named) -> bool:
    """Whether a loop or a comprehension gave the name, which means another module in the next iteration."""
    statement = statement_of(trace, event.site.node)
    if statement is None or isinstance(statement, (ast.For, ast.AsyncFor)):
        return statement is not None
    inside = () if hasattr(statement, "body") else ast.walk(statement)
    targets = [each.target for each in inside if isinstance(each, ast.comprehension)]
    return any(isinstance(each, ast.Name) and each.id == event.name for target in targets for each in ast.walk(target))


def held(trace: Trace) -> set[int]:
    """The parameters, by identity, that modules in variables have when the path ends."""
    return {key for event in {id(event.module): event for event in trace.of(Named)}.values() for key in ways_of(event)}


def ways_of(event: Named) -> dict[int, str]:
    """The parameters, by identity, of a module that a variable holds, and the way to each from there."""
    return {id(value.tensor): name for name, value in cast("_Module", event.module).parameters()}
