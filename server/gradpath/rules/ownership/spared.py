"""Parameters that a loop leaves out when it freezes the others, and that are frozen already."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.findings.parameters import tensors_of, ways_of
from gradpath.findings.syntax import ancestry
from gradpath.interpreter.trace import Flagged, Named, Site, Stepped, Trace
from gradpath.source.index import methods_called
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Spared:
    """Parameters that the condition at `site` leaves out, `frozen` before; a `step` trains others of their module."""

    tensors: tuple[Tensor, ...]
    site: Site
    frozen: Site
    step: Site


def spared(trace: Trace) -> Iterator[Spared]:
    """What loops over named parameters leave out, where nothing that is left out can learn then or later."""
    steps, flags = trace.of(Stepped), trace.of(Flagged)
    last = {id(event.tensor): event for event in flags}
    places: dict[ast.AST, list[Flagged]] = {}
    for event in flags:
        places.setdefault(event.site.node, []).append(event)
    for node, events in places.items():
        condition = _condition(trace, node)
        if condition is None or any(event.value for event in events):
            continue
        own = {id(event.tensor) for event in events}
        before = {id(event.tensor): event for event in flags[: flags.index(events[0])]}
        whole = _around(trace, own)
        rest = [each for each in whole if id(each) not in own]
        frozen = [before.get(id(each)) for each in rest]
        first = next(iter(frozen), None)
        if first is None or any(each is None or each.value for each in frozen):
            continue
        others = set(map(id, whole))
        step = next((each for each in steps if not others.isdisjoint(map(id, each.updated))), None)
        if step is not None and not any(last[id(each)].value for each in rest):
            yield Spared(tuple(rest), replace(events[0].site, node=condition), first.site, step.site)


def _condition(trace: Trace, node: ast.AST) -> ast.expr | None:
    """The condition under which a loop over the named parameters of a model sets a flag."""
    condition: ast.expr | None = None
    for each in reversed(ancestry(trace, node)):
        match each:
            case ast.If(test=test, orelse=[]) if condition is None:
                condition = test
            case ast.For(iter=drawn):
                named = any(method == "named_parameters" for _, method, _ in methods_called(drawn))
                return condition if named else None
    return None


def _around(trace: Trace, own: set[int]) -> list[Tensor]:
    """The parameters of the smallest module that has all of these."""
    modules = [event for event in trace.of(Named) if own <= ways_of(trace, event).keys()]
    return tensors_of(min(modules, key=lambda event: len(ways_of(trace, event)))) if modules else []
