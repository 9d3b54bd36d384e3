"""The fault of the program that a traceback is about."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from gradpath.diagnostic import Diagnostic, Level
from gradpath.features.tracebacks import Failure
from gradpath.rules import RULES
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where the program was: a line of a file that is here; in a notebook, of all its code as one text."""

    path: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A fault that explains a failure; `certain` says that one of its places is where the exception was raised."""

    diagnostic: Diagnostic
    certain: bool


def rules_for(failure: Failure) -> tuple[str, ...]:
    """The rules whose faults may end in such an exception; none where it is not one of autograd's."""
    return tuple(
        rule.id for rule in RULES.values() if any(re.search(pattern, failure.message) for pattern in rule.raises)
    )


def of_autograd(failures: Sequence[Failure]) -> Failure | None:
    """The failure to be explained: the last of a chain that is one of autograd's."""
    return next((failure for failure in reversed(failures) if rules_for(failure)), None)


def matching(
    failure: Failure, places: Sequence[Place], forward: Sequence[Place], diagnostics: Iterable[Diagnostic]
) -> Match | None:
    """The fault that fits best; None where none has a place on the stack. `places` are outermost first."""
    rules = rules_for(failure)
    best: tuple[tuple[int, ...], Match] | None = None
    for diagnostic in diagnostics:
        if diagnostic.rule not in rules or not places:
            continue
        raised = _touches(diagnostic, places[-1])
        others = sum(_touches(diagnostic, place) for place in places[:-1])
        if not raised and not others:
            continue
        made = sum(_touches(diagnostic, place) for place in forward)
        rank = (raised, made, others, diagnostic.level is Level.ERROR)
        if best is None or rank > best[0]:
            best = rank, Match(diagnostic, raised)
    return None if best is None else best[1]


def _touches(diagnostic: Diagnostic, place: Place) -> bool:
    """True if a place of the story is the line at `place`."""
    ranges = [(diagnostic.path, diagnostic.range), *((label.path, label.range) for label in diagnostic.labels)]
    return any(
        within.start.line <= place.line <= within.end.line and _same(path, place.path) for path, within in ranges
    )


def _same(path: str, other: str) -> bool:
    return path == other or os.path.realpath(path) == os.path.realpath(other)
