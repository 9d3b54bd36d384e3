"""Samples whose own log-probability is all that a loss takes of them, and that are still on the graph.

The score function, `-log_prob(action) * reward`, holds the action still. Where that moves with its distribution, the
two gradients cancel in the mean of a normal distribution, and are no estimate of anything elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.graphs import built_of
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, name_of, short_operation
from gradpath.interpreter.events import BackwardRan, Built
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Way
from gradpath.rules.targets.collapsing import ends
from gradpath.rules.targets.operands import detached
from gradpath.support.words import words

_VIEWS = words("unsqueeze squeeze view reshape clone contiguous flatten to")


def scored_samples(trace: Trace, source: Source) -> Iterator[Report]:
    """The log-probabilities that a loss raises, and through which alone it comes to what they are of.

    With the other sign a loss raises the entropy, for which the sample has to move.
    """
    built = built_of(trace)
    for ran in trace.of(BackwardRan):
        for node, turned in ends(ran):
            event = built.get(node)
            if not turned or event is None or short_operation(node.name) != "log_prob":
                continue
            for sample in event.inputs["value"]:
                drawn = _drawn(built, sample)
                if drawn is None or drawn.operands != [*event.inputs["input"]] or not _is_alone(ran, drawn, node):
                    continue
                name = name_of(trace, source, sample, event.site) or "the sample"
                yield Report(
                    event.site,
                    f"`{name}` moves with the distribution: this is not the gradient of its log-probability",
                    (
                        Step(lifted(drawn.site, event.site), "draws it with a graph"),
                        Step(event.site, "asks how probable it is, by the same parameters"),
                        Step(ran.site, "goes through both, which cancels the gradient of the mean"),
                    ),
                    help="draw it by `sample()`, or score `.detach()` of it",
                    fixes=source.proposed(detached(source, event.site, 0, Way.DETACH_TARGET)),
                )


def _drawn(built: Mapping[Node, Built], sample: Tensor) -> Built | None:
    """Where a sample was drawn with its graph."""
    node = sample.node
    while node is not None and short_operation(node.name) in _VIEWS and len(node.edges) == 1:
        node = node.edges[0]
    return built.get(node) if node is not None and short_operation(node.name) == "rsample" else None


def _is_alone(ran: BackwardRan, drawn: Built, scored: Node) -> bool:
    """True if a backward comes to a sample from its log-probability alone."""
    inner = {drawn.node}
    for node in reversed(ran.executed):
        if node is not scored and not inner.isdisjoint(node.edges):
            if short_operation(node.name) not in _VIEWS:
                return False
            inner.add(node)
    return True
