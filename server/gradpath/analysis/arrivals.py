"""By which calls a path comes to the places of a story."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace, once


def comes_the_same_way(sites: Iterable[Site], other: Trace) -> bool:
    """True if another path comes to some places by the same calls, as far as its events show.

    What a function does for one caller says nothing of what it does for another: it might stand there in full.
    """
    ways = _ways(other)
    return all(_way(site) in ways.get(site.node, (_way(site),)) for site in sites)


@once
def _ways(trace: Trace) -> Mapping[ast.AST, set[tuple[ast.AST, ...]]]:
    """The calls by which a path has come to each place that has an event."""
    found: dict[ast.AST, set[tuple[ast.AST, ...]]] = {}
    for event in trace.events:
        found.setdefault(event.site.node, set()).add(_way(event.site))
    return found


def _way(site: Site) -> tuple[ast.AST, ...]:
    return tuple(frame.node for frame in site.frames())
