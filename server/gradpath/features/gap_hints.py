"""Hints in an editor at the parts of a document that were not fully checked."""

from __future__ import annotations

from collections.abc import Iterable

from gradpath.diagnostic import Diagnostic, Gap, GapKind, Level
from gradpath.render.gaps import gap_sentence

INCOMPLETE = "incomplete"
"""The code of these hints, which is no rule: nothing selects it, and no comment suppresses it."""


def gap_hints(gaps: Iterable[Gap], *, parses: bool) -> list[Diagnostic]:
    """A hint at each gap; none at what does not parse, which every Python server reports.

    While a text does not parse only gaps of the whole are shown: the others may be there because it is half typed.
    """
    return [
        Diagnostic(gap.path, gap.range, INCOMPLETE, "", Level.HINT, gap_sentence(gap))
        for gap in gaps
        if gap.kind is not GapKind.SYNTAX and (parses or gap.entry is None)
    ]
