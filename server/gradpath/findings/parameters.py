"""Names of parameters: the variable that holds the module, and the way from there."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set

from gradpath.autograd.tensor import Tensor
from gradpath.findings.report import Source
from gradpath.findings.stories import name_of, target_of
from gradpath.findings.syntax import statement_of
from gradpath.interpreter.events import Named
from gradpath.interpreter.ownership import Overlooked
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import inside, names_of
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Parameters that are reported together, by the name of the smallest module that has them and no others."""

    name: str
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Holder:
    """A module that a variable holds, and its parameters by the way from there; `whole` if these are all.

    `named` are the times that it got a name; `name` is the last that is not of a loop. It is `lasting` if there is such
    a name.
    """

    name: str
    ways: Mapping[int, str]
    whole: bool
    named: tuple[Named, ...]
    lasting: bool

    @property
    def tensors(self) -> list[tuple[str, Tensor]]:
        """The parameters themselves, with the ways to them."""
        return self.named[-1].parameters()

    def names(self, source: Source) -> list[str]:
        """All names that the program uses for it, as written."""
        return list(dict.fromkeys(target_of(source, event) for event in self.named))


def named(trace: Trace, source: Source, tensors: Sequence[Tensor], otherwise: str = "it") -> tuple[str, str]:
    """Parameters in words: the first group, and how many more there are; `otherwise` where none has a name."""
    names = list(dict.fromkeys(f"`{group.name}`" for group in groups_of(trace, source, tensors) if group.name))
    return names[0] if names else otherwise, f" and {len(names) - 1} more" if len(names) > 1 else ""


def groups_of(trace: Trace, source: Source, tensors: Sequence[Tensor]) -> list[Group]:
    """The parameters in groups: whole modules where all of their parameters are among `tensors`."""
    left = {id(tensor): tensor for tensor in tensors}
    hidden = containers(trace, source)
    found: list[Group] = []
    for holder in holders(trace, source):
        own = holder.ways if holder.lasting else {key: way for key, way in holder.ways.items() if key not in hidden}
        inside = {way: left[key] for key, way in own.items() if key in left}
        if not inside:
            continue
        others = [way for key, way in holder.ways.items() if key not in left]
        for prefix in dict.fromkeys(widest(way, others) if holder.whole else way for way in inside):
            below = tuple(tensor for way, tensor in inside.items() if is_below(way, prefix))
            found.append(Group(f"{holder.name}.{prefix}" if prefix else holder.name, below))
        left = {key: tensor for key, tensor in left.items() if key not in own}
    for name in dict.fromkeys(hidden[key] for key in left if key in hidden):
        found.append(Group(name, tuple(tensor for key, tensor in left.items() if hidden.get(key) == name)))
    rest = (tensor for key, tensor in left.items() if key not in hidden)
    return found + [Group(name_of(trace, source, tensor), (tensor,)) for tensor in rest]


def leaves_named(trace: Trace, source: Source, tensors: Sequence[Tensor]) -> set[str]:
    """The names of single parameters, not of the modules that have them."""
    known = {id(each) for each in tensors}
    ways = ((holder.name, key, way) for holder in holders(trace, source) for key, way in holder.ways.items())
    return {f"{name}.{way}" for name, key, way in ways if key in known}


def containers(trace: Trace, source: Source) -> dict[int, str]:
    """The program's names for the plain containers of modules, by the identities of the parameters in them."""
    return {id(tensor): _container(trace, source, event) for event in trace.of(Overlooked) for tensor in event.tensors}


def _container(trace: Trace, source: Source, event: Overlooked) -> str:
    match statement_of(trace, event.site.node):
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return source.short(event.site, target)
    return source.short(event.site)


def widest(way: str, others: Sequence[str]) -> str:
    """The shortest beginning of a way below which none of the `others` is: "" for the module as a whole."""
    steps = way.split(".")
    for count in range(len(steps)):
        prefix = ".".join(steps[:count])
        if not any(is_below(other, prefix) for other in others):
            return prefix
    return way


def is_below(way: str, prefix: str) -> bool:
    """True if a way leads to a module, or to what is in it."""
    return not prefix or way == prefix or way.startswith(f"{prefix}.")


@once
def holders(trace: Trace, source: Source) -> list[Holder]:
    """The modules that variables hold, those with the most parameters first, of the same one the last variable."""
    named: dict[int, list[Named]] = {}
    for event in trace.of(Named):
        named.setdefault(id(event.module), []).append(event)
    found = [_holder(trace, source, events) for events in named.values()]
    return sorted(found, key=lambda each: len(each.ways))[::-1]


def _holder(trace: Trace, source: Source, events: Sequence[Named]) -> Holder:
    whole = not events[-1].module.has_unknown_parts
    lasting = next((event for event in reversed(events) if not _is_of_a_loop(trace, event)), None)
    name = target_of(source, lasting or events[-1])
    return Holder(name, ways_of(trace, events[-1]), whole, tuple(events), lasting is not None)


def _is_of_a_loop(trace: Trace, event: Named) -> bool:
    """True if a loop or a comprehension gave the name, which means another module in the next iteration."""
    node = event.site.node
    if isinstance(node, ast.Attribute):
        return False  # `self.head = ...`
    statement = node if isinstance(node, ast.stmt) else statement_of(trace, node)
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return True
    if hasattr(statement, "body"):
        return False
    return any(event.name in names_of(each.target) for each in inside(statement, ast.comprehension))


def tensors_of(event: Named) -> list[Tensor]:
    """The parameters of a module that a variable holds."""
    return [tensor for _, tensor in event.parameters()]


@once
def ways_of(trace: Trace, event: Named) -> Mapping[int, str]:
    """The parameters, by identity, of a module that a variable holds, and the way to each from there."""
    return {id(tensor): way for way, tensor in event.parameters()}


@once
def in_modules(trace: Trace) -> Set[int]:
    """The parameters, by identity, of all modules that variables hold."""
    return frozenset(key for event in trace.of(Named) for key in ways_of(trace, event))
