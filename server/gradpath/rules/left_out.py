"""Modules that no optimizer was given: made again in each forward, or left out when the optimizer was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.trace import BackwardRan, Flagged, Lent, Mutated, Named, Replaced, Site, Trace
from gradpath.records import dataclass
from gradpath.rules.gradient_flow import flow_of
from gradpath.rules.graphs import reached_leaves
from gradpath.rules.parameters import ways_of
from gradpath.rules.syntax import ancestry, statement_of


@dataclass(frozen=True, slots=True)
class Remade:
    """A layer that a `forward` makes, uses and forgets; `site` is where it is made."""

    tensors: tuple[Tensor, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A module in a variable that shares no parameter with any optimizer."""

    tensors: tuple[Tensor, ...]
    bound: Named

    @property
    def site(self) -> Site:
        """Where the variable was bound."""
        return self.bound.site


def remade(trace: Trace, held: Set[int]) -> Iterator[Remade]:
    """The built-in layers that are made in a `forward` and get gradients there."""
    found: dict[ast.AST, tuple[Site, list[Tensor]]] = {}
    for tensor in _strangers(trace, held):
        site = tensor.origin
        if isinstance(site, Site) and tensor.operation == "parameter":
            inside = next((frame for frame in site.frames() if _is_in_forward(trace, frame)), None)
            if inside is not None:
                found.setdefault(inside.node, (inside, []))[1].append(tensor)
    for site, tensors in found.values():
        yield Remade(tuple(tensors), site)


def _is_in_forward(trace: Trace, site: Site) -> bool:
    """Whether a place is in the `forward` of a class, in the body itself."""
    around = [each for each in ancestry(trace, site.node) if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    match around:
        case [*_, ast.ClassDef(), ast.FunctionDef(name="forward")]:
            return True
        case _:
            return False


def left_out(trace: Trace, held: Set[int]) -> Iterator[LeftOut]:
    """The modules of which no parameter is held, though all of them get gradients: made here, and never loaded.

    A module that is a part of one that is trained in part is none: somebody has chosen what to train.
    """
    if any(isinstance(entry.event, Lent) for entry in flow_of(trace)):
        return  # Whoever it was handed to may have loaded it, or may train it.
    of_modules = {each for event in trace.of(Named) for each in ways_of(event)}
    if of_modules.isdisjoint(held):
        return  # What is trained is no module: an image, for instance.
    strange = {id(tensor): tensor for tensor in _strangers(trace, held)}
    named = [(event, ways_of(event)) for event in trace.of(Named)] if strange else []
    for event, ways in sorted(named, key=lambda each: -len(each[1])):
        assigned = isinstance(statement_of(trace, event.site.node), ast.Assign | ast.AnnAssign)
        if ways and assigned and ways.keys() <= strange.keys():
            yield LeftOut(tuple(strange[each] for each in ways), event)
        for each in ways:  # What is a part of a larger module is that one's affair.
            strange.pop(each, None)


def _strangers(trace: Trace, held: Set[int]) -> list[Tensor]:
    """The parameters that get gradients, that no optimizer holds, and that nobody but an initialiser has written."""
    kept = held | trace.once(_touched)
    leaves = {id(leaf): leaf for run in trace.of(BackwardRan) if run.call.accumulates for leaf in reached_leaves(run)}
    return [leaf for number, leaf in leaves.items() if leaf.is_parameter and number not in kept]


def _touched(trace: Trace) -> frozenset[int]:
    """The tensors whose values or flags the program has set, by identity: through `.data` and `.detach()`, too."""
    found: set[int] = set()
    for event in trace.among(Flagged, Mutated, Replaced):
        match event:
            case Mutated(tensor=tensor, write=write):
                if not write.operation.startswith(_INITIALISING):
                    found.add(id(tensor))
                    if tensor.cut is not None and tensor.cut.source is not None:
                        found.add(id(tensor.cut.source))
            case Flagged(tensor=tensor) | Replaced(tensor=tensor):
                found.add(id(tensor))
            case _:
                pass
    return frozenset(found)


_INITIALISING = ("torch.nn.init.", "reset_parameters")
