"""Losses that were made leaves of their own, so that a backward runs and reaches nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.trace import BackwardRan, Flagged, Site, Trace


@dataclass(frozen=True, slots=True)
class Rewrapping:
    """A backward whose root is itself the only leaf; `site` is where the root was made a leaf that requires grad."""

    ran: BackwardRan
    loss: Tensor
    site: Site


def rewrappings(trace: Trace) -> Iterator[Rewrapping]:
    """The backwards that give a gradient to their own loss alone, though it came from values with a graph."""
    for event in trace.events:
        if not isinstance(event, BackwardRan) or event.executed or len(event.call.roots) != 1:
            continue
        root = event.call.roots[0]
        if not root.flag or root.node is not None or root.is_parameter or not root.certain or not _had_graph(root):
            continue
        site = _wrapped_at(trace, root)
        if site is not None:
            yield Rewrapping(event, root, site)


def _had_graph(root: Tensor) -> bool:
    """Whether the loss was computed from something that requires a gradient, or from what was cut off from it."""
    if root.cut is not None:
        return True
    return any(each.cut is not None or each.requires_grad or each.is_parameter for each in root.ancestors())


def _wrapped_at(trace: Trace, root: Tensor) -> Site | None:
    for event in reversed(trace.events):
        if isinstance(event, Flagged) and event.tensor is root and event.value:
            return event.site
    return root.origin if isinstance(root.origin, Site) else None
