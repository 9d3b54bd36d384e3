"""The facade: a document in, an analysis out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Range
from gradpath.source.document import Document
from gradpath.source.parse import Parsed, parse


@dataclass(frozen=True, slots=True)
class Story:
    """What is known of the value at `range`, for a hover: a title and the steps of its life so far."""

    range: Range
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """All that a check of one document found; `diagnostics` are sorted and suppressions are applied."""

    document: Document
    parsed: Parsed
    diagnostics: tuple[Diagnostic, ...]
    unknowns: Mapping[str, int] = field(default_factory=dict)
    stories: tuple[Story, ...] = ()


def never() -> bool:
    """The cancellation test of a check that nobody cancels."""
    return False


def check(
    document: Document,
    config: Config | None = None,
    *,
    last: Parsed | None = None,
    cancelled: Callable[[], bool] = never,
) -> Analysis:
    """Analyse one document; never raises. `last` is an earlier good parse of the same document."""
    parsed = parse(document, last)
    return Analysis(document, parsed, ())
