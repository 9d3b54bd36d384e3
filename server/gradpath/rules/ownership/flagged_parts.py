"""Flags that are set on a part of a frozen parameter: a tensor of its own, which is gone after that."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.findings.report import Report, Source, Step
from gradpath.interpreter.trace import Flagged, Site, Trace
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class FlaggedPart:
    """`weight[rows].requires_grad = True`, where nothing else lets the `weight` that was `frozen` learn."""

    site: Site
    frozen: Site

    def report(self, trace: Trace, source: Source) -> Report:
        return Report(
            self.site,
            f"`{source.short(self.site, limit=40)}` thaws nothing: what an index gives is a tensor of its own",
            (
                Step(self.frozen, "freezes all of the parameter"),
                Step(self.site, "sets the flag of a tensor that nothing keeps"),
            ),
            help="let the whole parameter learn, and clear the gradient of the rest: "
            "`weight.register_hook(lambda grad: grad * mask)`",
        )


def flagged_parts(trace: Trace) -> Iterator[FlaggedPart]:
    """The flags of parts, set to True while the parameter is frozen, which stays so to the end of the path."""
    frozen: dict[int, Site] = {}
    for event in trace.of(Flagged):
        if event.tensor.is_parameter:
            frozen[id(event.tensor)] = event.site
        match event.site.node, event.tensor.maker:
            case ast.Attribute(value=ast.Subscript()), (whole, *_) if event.value and not whole.flag:
                if id(whole) in frozen:
                    yield FlaggedPart(event.site, frozen[id(whole)])
