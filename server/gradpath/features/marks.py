"""What an editor writes beside the code, in the order of the places."""

from __future__ import annotations

from gradpath.analysis.check import Analysis
from gradpath.analysis.marks import Kind
from gradpath.diagnostic import Position, Range
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hint:
    """A word after a piece of code."""

    position: Position
    text: str


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above a `backward()` or a `step()`, which stands at `range`."""

    range: Range
    text: str
    of_step: bool = False


def inlay_hints(analysis: Analysis, within: Range) -> tuple[Hint, ...]:
    """The words in a part of the document, one for each place."""
    found: dict[Position, str] = {}
    for mark in analysis.marks:
        if mark.kind is Kind.HINT and within.start <= mark.range.end <= within.end:
            found.setdefault(mark.range.end, mark.text)
    return tuple(Hint(position, text) for position, text in sorted(found.items()))


def lenses(analysis: Analysis) -> tuple[Lens, ...]:
    """What each `backward()` of the document gives gradients, and what each `step()` updates."""
    found: dict[Range, Lens] = {}
    for mark in analysis.marks:
        if mark.kind is not Kind.HINT:
            found.setdefault(mark.range, Lens(mark.range, mark.text, mark.kind is Kind.STEP))
    return tuple(found[place] for place in sorted(found))
