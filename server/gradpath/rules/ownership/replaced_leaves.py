"""Leaves that an optimizer has, while the program goes on with others made of their values."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import partial
from itertools import islice

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.findings.report import Source, Step
from gradpath.findings.stories import target_of
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Bound, Site, Trace
from gradpath.rules.ownership.lacking import Lacking, Words, is_of_layer
from gradpath.support.traversal import reachable


def replaced_leaves(trace: Trace, held: Set[int]) -> Iterator[Lacking]:
    """Variables of optimized leaves that are bound to new ones: `x = x.clamp(0, 1).detach().requires_grad_()`."""
    owners: dict[int, Given] = {}
    optimized: dict[tuple[str, Site | None], Tensor] = {}
    names: dict[int, list[tuple[str, Site | None]]] = {}
    for event in trace.among(Given, Bound):
        match event:
            case Given(parameters=parameters):
                for each in parameters:
                    if each.operation != UNSEEN and not is_of_layer(each):
                        owners[id(each)] = event
                        optimized |= dict.fromkeys(names.get(id(each), ()), each)
            case Bound(tensor=Tensor() as tensor) if event.is_leaf:
                variable = event.name, event.site.caller
                names.setdefault(id(tensor), []).append(variable)
                before = optimized.get(variable)
                if before is not None and id(tensor) not in held and _is_made_of(tensor, before):
                    given = owners[id(before)]
                    yield Lacking((tensor,), event.site, [given], partial(_is_new, event))


def _is_made_of(tensor: Tensor, leaf: Tensor) -> bool:
    """True if a tensor has its value from a leaf, also by a cut."""

    def sources(each: Tensor) -> list[Tensor]:
        return [*each.maker, *([] if each.cut is None or each.cut.source is None else [each.cut.source])]

    return any(each is leaf for each in islice(reachable([tensor], sources), 1, None))


def _is_new(bound: Bound, source: Source, given: Given) -> Words:
    name = target_of(source, bound)
    return Words(
        f"`{name}` is never trained from here on: its optimizer has the old tensor",
        (Step(given.site, "takes the tensor"), Step(bound.site, "another tensor, of the same name")),
        f"write into `{name}` under `torch.no_grad()`, or through `{name}.data`",
        arrives="gives the new one a gradient",
        last="changes the old one at most",
    )
