"""Losses that were made leaves of their own, so that a backward runs and reaches nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.provenance import OBSERVED
from gradpath.autograd.tensor import Tensor
from gradpath.findings.graphs import leaves, nodes_of, reach, reached_leaves, terms_of
from gradpath.interpreter.events import BackwardRan, Flagged, Site, Stepped
from gradpath.interpreter.trace import Trace, once
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable
from gradpath.support.words import words


@dataclass(frozen=True, slots=True)
class Rewrapping:
    """A backward that reaches one leaf alone, the `loss` or what it is computed from, which was made one at `site`.

    Where it `is_term`, the leaf is one of several terms, and the others are back-propagated.
    """

    ran: BackwardRan
    loss: Tensor
    site: Site
    is_term: bool = False

    @property
    def is_whole(self) -> bool:
        """True if the leaf is the loss, or a tensor of which the loss is a sum."""
        below = reach(self.ran.call.roots)
        return not self.is_term and all(
            node.function in _LINEAR for node in below if node.accumulates is None and self.ran.executed
        )


@once
def rewrappings(trace: Trace) -> list[Rewrapping]:
    """The backwards that give a gradient to their own loss alone, though it was computed, and something is to learn."""
    return list(_rewrapped(trace))


def _rewrapped(trace: Trace) -> Iterator[Rewrapping]:
    trains = bool(trace.of(Stepped))
    for event in trace.of(BackwardRan):
        if len(event.call.roots) != 1 or not event.call.accumulates:
            continue  # `autograd.grad` says itself what it wants the gradient of.
        losses = _made_losses(event, trains=trains)
        if not all(_is_made(loss) and (_had_graph(loss) or (loss.maker and trains)) for loss in losses):
            continue
        site = _wrapped_at(trace, losses[0]) if losses else None
        if site is not None:
            yield Rewrapping(event, losses[0], site)


def _is_made(loss: Tensor) -> bool:
    """True if a tensor is a leaf that the program has made of something, without a graph that it would keep."""
    certain = loss.provenance is OBSERVED or _is_cut(loss)  # Else it may have a graph: then the flag changes nothing.
    return certain and loss.flag and loss.node is None and not loss.is_parameter and not loss.is_open


_LINEAR = frozenset(
    f"torch.{name}"
    for name in words(
        """sum mean neg add sub mul div rsub squeeze unsqueeze view reshape flatten to float double cuda clone select
        cat stack"""
    )
)
"""Operations between the parts of a loss and the backward."""


def _made_losses(event: BackwardRan, *, trains: bool) -> list[Tensor]:
    """The loss, or the tensors of its parts, made at one place: the only leaves of a root that merely adds them.

    Where something is to learn it may compute anything of what was cut off from a graph, such as logits.
    """
    if not event.executed:
        return [event.call.roots[0]]
    below = reach(event.call.roots)
    leaves = [node.accumulates for node in below if node.accumulates is not None]
    linear = all(node.function in _LINEAR for node in below if node.accumulates is None)
    places = {leaf.origin.node for leaf in leaves if leaf.operation in _REBUILT}
    if len(places) != 1 or any(leaf.operation not in _REBUILT for leaf in leaves):
        return []
    return leaves if linear or (trains and all(map(_is_of_graph, leaves))) else []


def _is_of_graph(leaf: Tensor) -> bool:
    """True if a leaf takes its value from a tensor that had a graph."""
    source = _cut_from(leaf)
    while source is not None and source.node is None:
        source = None if source.cut is None else source.cut.source
    return source is not None and not source.is_open


_REBUILT = ("torch.tensor", "Variable", "numpy")
"""Calls that make a new leaf of a value, and where one is made of an array."""


def rewrapped_terms(trace: Trace) -> Iterator[Rewrapping]:
    """The terms of back-propagated sums that were made leaves: what they were computed from learns nothing by them.

    Where it is not seen what a step trains, that may be anything.
    """
    unseen = any(not step.known for step in trace.of(Stepped))
    trained = {id(tensor) for event in trace.of(Stepped) for tensor in event.parameters}
    runs = trace.of(BackwardRan)
    for event in runs:
        if not event.call.accumulates:
            continue
        learners = trained | {id(leaf) for leaf in reached_leaves(event)}
        for term in (edge.accumulates for node in terms_of(nodes_of(event.call.roots)) for edge in node.edges):
            if term is None or term.is_open or term.is_parameter:
                continue
            source = _cut_from(term)
            if (
                source is None
                or source.node is None
                or source.is_open
                or True not in (term.one_element, source.one_element)
                or id(term) in trained
                or not (unseen or any(id(leaf) in learners for leaf in leaves([source.node])))
                or any(source.node in reach(run.call.starts) for run in runs)
            ):
                continue
            site = _wrapped_at(trace, term)
            if site.loops == event.site.loops[: len(site.loops)]:
                yield Rewrapping(event, term, site, is_term=True)


def _cut_from(leaf: Tensor) -> Tensor | None:
    """The tensor that a leaf takes its value from, if that had a graph."""
    cut = next((each.cut for each in leaf.lineage() if each.cut is not None), None)
    return cut.source if cut is not None else None


def _is_cut(root: Tensor) -> bool:
    """True if the loss, or something that it was computed from, was cut off from what has no other way to the loss."""
    kept = set(reachable([root], lambda each: each.maker if each.cut is None else ()))
    return any(each.cut is not None and each.cut.source not in kept for each in root.lineage())


def _had_graph(root: Tensor) -> bool:
    """True if the loss was computed from something that requires a gradient, or from what was cut off from it."""
    return _is_cut(root) or any(each.requires_grad or each.is_parameter for each in root.ancestors())


def _wrapped_at(trace: Trace, root: Tensor) -> Site:
    wrapped = (each.site for each in reversed(trace.of(Flagged)) if each.tensor is root and each.value)
    return next(wrapped, root.origin)
