"""Totals and lists that grow from iteration to iteration, and what they keep alive."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.findings.graphs import reach
from gradpath.findings.report import Source
from gradpath.findings.rewrapping import rewrappings
from gradpath.interpreter.trace import BackwardRan, Site, Trace
from gradpath.rules.loops.filled_lists import lists
from gradpath.rules.loops.kept_graphs import counts
from gradpath.rules.loops.outliving import Growing, outliving
from gradpath.rules.loops.sums import sums, unseen_sums


def growing(trace: Trace, source: Source) -> Iterator[Growing]:
    """The places that keep the graphs of several iterations, none of which is back-propagated from there.

    An `autograd.grad` with `create_graph` does not count: its result is a part of a loss that is back-propagated.
    """
    ends = [event for event in trace.of(BackwardRan) if event.call.accumulates or not event.call.create_graph]
    executed = {node for event in ends for node in event.executed}
    executed -= counts(trace)
    kept = [*sums(trace, executed), *unseen_sums(trace, executed)]
    if not any(rewrappings(trace)):  # A list of losses that were rebuilt as numbers is what `rewrapped-loss` is about.
        kept += [*lists(trace, executed, source), *outliving(trace, executed, source)]
    places = set[ast.AST]()
    for each in kept:
        below = reach([each.tensor.node]) if each.tensor.node is not None else {}
        nodes = {each.site.node, *(node.site.node for node in below if isinstance(node.site, Site))}
        if places.isdisjoint(nodes):
            places.add(each.site.node)
            yield each
