"""The facade: a document in, an analysis out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Range
from gradpath.interpreter.run import make_machine, run_module
from gradpath.overlays import Overlays
from gradpath.source.document import Document
from gradpath.source.parse import Parsed, parse

log = logging.getLogger(__name__)

STEPS = 20_000
"""Statements that one path may execute."""


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


@dataclass(frozen=True, slots=True)
class Fault:
    """The exception that ends a program: autograd's kind or the class name, and the innermost line (from 1)."""

    kind: str
    line: int


def never() -> bool:
    """The cancellation test of a check that nobody cancels."""
    return False


def first_fault(document: Document) -> Fault | None:
    """The first exception that nothing catches when the document runs as a script, on its likeliest path."""
    tree = parse(document).tree
    machine = make_machine(Overlays(), (), tree, document.path, STEPS)
    run_module(machine, tree)
    for failure in machine.trace.failures():
        kind = failure.exception if failure.error is None else failure.error.kind.value
        return Fault(kind, failure.site.line)
    return None


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


