"""Parameters that were frozen when an optimizer was made, and that require gradients again later."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.findings.parameters import ways_of
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Flagged, Named, Site, Trace
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thawed:
    """Parameters that were `frozen` when an optimizer was `given` others, and were thawed at `site`."""

    tensors: tuple[Tensor, ...]
    site: Site
    frozen: Site
    given: Given


def thawed(trace: Trace) -> Iterator[Thawed]:
    """Parameters that were thawed after an optimizer of a module was made, even if an optimizer gets them later."""
    frozen: dict[int, Flagged] = {}
    left: dict[int, Given] = {}
    found: dict[ast.AST, tuple[Thawed, list[Tensor]]] = {}
    of_modules = {each for event in trace.of(Named) for each in ways_of(event)}
    for event in trace.among(Flagged, Given):
        match event:
            case Given(parameters=parameters) if event.models or not of_modules.isdisjoint(map(id, parameters)):
                left |= dict.fromkeys(frozen, event)
            case Flagged(tensor=tensor, value=False):
                frozen[id(tensor)] = event
            case Flagged(tensor=tensor, whole=whole) if tensor.is_parameter:
                before, given = frozen.pop(id(tensor), None), left.get(id(tensor))
                if whole is not None:
                    before, given = frozen.get(id(whole)), left.get(id(whole))
                if before is not None and given is not None:
                    site, freezing = _apart(event.site, before.site)
                    found.setdefault(site.node, (Thawed((), site, freezing, given), []))[1].append(tensor)
            case _:
                pass
    for first, tensors in found.values():
        yield Thawed(tuple(tensors), first.site, first.frozen, first.given)


def _apart(thawing: Site, freezing: Site) -> tuple[Site, Site]:
    """The innermost places that are not the same: a function that sets any flag does both."""
    for one, other in zip(thawing.frames(), freezing.frames(), strict=False):
        if one.node is not other.node:
            return one, other
    return thawing, freezing
