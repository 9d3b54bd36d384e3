"""Parameters that were frozen when an optimizer was made, and that require gradients again later."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from functools import partial

from gradpath.autograd.tensor import Tensor
from gradpath.findings.parameters import groups_of, in_modules, leaves_named
from gradpath.findings.report import Source, Step
from gradpath.fixes.requirement import given_too
from gradpath.interpreter.events import Flagged, Site
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.lacking import Lacking, Words


def thawed(trace: Trace, held: Set[int]) -> Iterator[Lacking]:
    """Parameters that were thawed after an optimizer of a module was made, even if an optimizer gets them later."""
    frozen: dict[int, Flagged] = {}
    left: dict[int, Given] = {}
    found: dict[ast.AST, tuple[Given, Site, Site, list[Tensor]]] = {}
    of_modules = in_modules(trace)
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
                    found.setdefault(site.node, (given, site, freezing, []))[3].append(tensor)
    for given, site, freezing, tensors in found.values():
        missing = tuple(each for each in tensors if id(each) not in held)
        yield Lacking(missing, site, [given], partial(_was_frozen, trace, missing, site, freezing))


def _was_frozen(
    trace: Trace, missing: Sequence[Tensor], thawing: Site, freezing: Site, source: Source, given: Given
) -> Words:
    name = groups_of(trace, source, missing)[0].name
    return Words(
        f"`{name}` is never trained: its optimizer was made without it, while it was frozen",
        (
            Step(freezing, "no longer requires gradients"),
            Step(given.site, "takes other parameters"),
            Step(thawing, "requires gradients again, and the optimizer does not know"),
        ),
        "give it to the optimizer with `add_param_group` here, or from the start",
        given_too(trace, source, given, thawing, name, is_leaf=name in leaves_named(trace, source, missing)),
    )


def _apart(thawing: Site, freezing: Site) -> tuple[Site, Site]:
    """The innermost places that are not the same: a function that sets any flag does both."""
    for one, other in zip(thawing.frames(), freezing.frames(), strict=False):
        if one.node is not other.node:
            return one, other
    return thawing, freezing
