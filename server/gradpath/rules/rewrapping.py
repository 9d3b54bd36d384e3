"""Losses that were made leaves of their own, so that a backward runs and reaches nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.trace import BackwardRan, Flagged, Site, Stepped, Trace
from gradpath.records import dataclass
from gradpath.rules.graphs import nodes_of, reach


@dataclass(frozen=True, slots=True)
class Rewrapping:
    """A backward that reaches one leaf alone, the `loss` or the tensor of its parts, which was made one at `site`."""

    ran: BackwardRan
    loss: Tensor
    site: Site


def rewrappings(trace: Trace) -> list[Rewrapping]:
    """The backwards that give a gradient to their own loss alone, though it was computed, and something is to learn."""
    return trace.once(_rewrappings)


def _rewrappings(trace: Trace) -> list[Rewrapping]:
    return list(_rewrapped(trace))


def _rewrapped(trace: Trace) -> Iterator[Rewrapping]:
    trains = any(event.parameters for event in trace.of(Stepped))
    for event in trace.of(BackwardRan):
        if len(event.call.roots) != 1 or not event.call.accumulates:
            continue  # `autograd.grad` says itself what it wants the gradient of.
        root = _made_loss(event)
        if root is None:
            continue
        if (
            not root.flag
            or root.node is not None
            or root.is_parameter
            or not root.certain
            or not (_had_graph(root) or (root.maker and trains))
        ):
            continue
        site = _wrapped_at(trace, root)
        if site is not None:
            yield Rewrapping(event, root, site)


_LINEAR = frozenset(f"torch.{name}" for name in ("sum", "mean", "neg", "add", "sub", "mul", "div", "rsub"))
"""What a loss goes through on its way from its parts to the backward."""


def _made_loss(event: BackwardRan) -> Tensor | None:
    """The loss, or the tensor of its parts: the only leaf behind a root that merely adds them up."""
    if not event.executed:
        return event.call.roots[0]
    below = reach(nodes_of(event.call.roots))
    leaves = [node.accumulates for node in below if node.accumulates is not None]
    linear = all(node.name.replace("torch.Tensor.", "torch.") in _LINEAR for node in below if node.accumulates is None)
    rebuilt = len(leaves) == 1 and leaves[0].operation == "torch.tensor"
    return leaves[0] if linear and rebuilt else None


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
