"""What an editor may write beside code: where graphs are freed, kept or cut, and what a `backward()` reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Range
from gradpath.interpreter.trace import BackwardRan, CutOff, Site, Trace
from gradpath.records import dataclass
from gradpath.source.document import Document

FREED = "freed here"
KEPT = "graph kept"
DETACHED = "detached"

_SWITCHED_OFF = ("no_grad", "inference_mode", "like")
"""Ways to cut a graph that every line of a block shares; a mark at each would only repeat the block's head."""

_NAMED = 3
"""How many of the tensors that a backward reaches are named."""


class Kind(Enum):
    """Whether a mark is a word behind a piece of code, or a line above it."""

    HINT = "hint"
    LENS = "lens"


@dataclass(frozen=True, slots=True)
class Mark:
    """A text about the piece of code at `range`."""

    kind: Kind
    range: Range
    text: str

    def moved(self, lines: int) -> Mark:
        """The mark so many lines further down."""
        return Mark(self.kind, self.range.moved(lines), self.text)


def marks_of(trace: Trace, document: Document) -> tuple[Mark, ...]:
    """The marks of a path in a document, as of the first time that it comes by."""
    found: dict[tuple[Kind, ast.AST], Mark] = {}
    for event in trace.among(BackwardRan, CutOff):
        assert isinstance(event, (BackwardRan, CutOff))
        node = event.site.node
        is_shown = (Kind.HINT, node) in found
        # `autograd.grad` reaches what it is told to.
        is_told = (Kind.LENS, node) in found or not (isinstance(event, BackwardRan) and event.call.accumulates)
        place = None if is_shown and is_told else _place(document, event.site)
        if place is None:
            continue
        word = None if is_shown else _word(event)
        if word is not None:
            found[Kind.HINT, node] = Mark(Kind.HINT, place, word)
        if not is_told and isinstance(event, BackwardRan):
            found[Kind.LENS, node] = Mark(Kind.LENS, place, _reached(event))
    return tuple(found.values())


def _word(event: BackwardRan | CutOff) -> str | None:
    if isinstance(event, CutOff):
        return None if event.cut.how.startswith(_SWITCHED_OFF) else DETACHED
    if not any(node.holds or node.saved for node in event.executed):
        return None
    return KEPT if event.call.retain else FREED


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


def _place(document: Document, site: Site) -> Range | None:
    """Where something happened, if that is in the document."""
    if site.path != document.path or getattr(site.node, "lineno", None) is None:
        return None
    return document.range_of(site.node)
