"""What an editor writes beside the code: where a graph is freed, kept or cut, and what a `backward()` reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Node, Tensor
from gradpath.check import Analysis
from gradpath.diagnostic import Position, Range
from gradpath.interpreter.trace import BackwardRan, CutOff, Site
from gradpath.records import dataclass

FREED = "freed here"
KEPT = "graph kept"
DETACHED = "detached"

_SWITCHED_OFF = ("no_grad", "inference_mode", "like")
"""Ways to cut a graph that every line of a block shares; a mark at each would only repeat the block's head."""

_NAMED = 3
"""How many of the tensors that a backward reaches are named."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A word behind a piece of code."""

    position: Position
    text: str


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above a `backward()`, which stands at `range`."""

    range: Range
    text: str


def inlay_hints(analysis: Analysis, within: Range) -> tuple[Hint, ...]:
    """The marks in a part of the document, in the order of their places."""
    found: dict[Position, str] = {}
    for trace in analysis.traces:
        for event in trace.events:
            if not isinstance(event, (BackwardRan, CutOff)):
                continue
            text = _mark(event)
            place = None if text is None else _place(analysis, event.site)
            if text is not None and place is not None and within.start <= place.end <= within.end:
                found.setdefault(place.end, text)
    return tuple(Hint(position, text) for position, text in sorted(found.items()))


def _mark(event: BackwardRan | CutOff) -> str | None:
    if isinstance(event, CutOff):
        return None if event.cut.how.startswith(_SWITCHED_OFF) else DETACHED
    if not any(node.holds or node.saved for node in event.executed):
        return None
    return KEPT if event.call.retain else FREED


def lenses(analysis: Analysis) -> tuple[Lens, ...]:
    """What each `backward()` of the document reaches, as of the first time that it runs."""
    found: dict[ast.AST, Lens] = {}
    for trace in analysis.traces:
        for event in trace.events:
            if not isinstance(event, BackwardRan) or not event.call.accumulates or event.site.node in found:
                continue  # `autograd.grad` reaches what it is told to.
            place = _place(analysis, event.site)
            if place is not None:
                found[event.site.node] = Lens(place, _reached(event))
    return tuple(sorted(found.values(), key=lambda lens: lens.range))


def _reached(event: BackwardRan) -> str:
    leaves = list(_leaves(event.executed))
    parameters = sum(leaf.is_parameter for leaf in leaves)
    others = [leaf.label for leaf in leaves if not leaf.is_parameter and leaf.label]
    names = [f"`{name}`" for name in dict.fromkeys(others)]
    parts = [f"{parameters} parameter{'' if parameters == 1 else 's'}"] if parameters else []
    parts += names if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more tensors"]
    if not parts:
        return "reaches no tensor that is known"
    return "reaches " + (f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0])


def _leaves(executed: tuple[Node, ...]) -> Iterator[Tensor]:
    nodes = dict.fromkeys(each for node in executed for each in (node, *node.edges))
    for node in nodes:
        if node.accumulates is not None:
            yield node.accumulates


def _place(analysis: Analysis, site: Site) -> Range | None:
    """Where something happened, if that is in the document."""
    if site.path != analysis.document.path or getattr(site.node, "lineno", None) is None:
        return None
    return analysis.document.range_of(site.node)
