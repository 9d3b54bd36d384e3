"""What a run has to say, before it is put into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gradpath.diagnostic import Diagnostic, Level


class SourceText(Protocol):
    """The lines of a file, as far as a picture of them needs them; `gradpath.source.document.Document` is one."""

    @property
    def line_count(self) -> int:
        """How many lines there are."""

    def line(self, number: int) -> str:
        """Line `number`, from 1, without its line ending."""


SourceLookup = Callable[[str], "SourceText | None"]
"""From the path in a diagnostic to the text it was made for, or None where the text is not to be had."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file, or a configuration, could not be used: one line, without the path."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that a run found.

    `diagnostics` are sorted by path and place. `files` counts the files that were read and checked.
    `unknowns` counts what could not be modelled, by cause, and `fixed` the fixes that were applied; each is None unless
    it was asked for.
    `descriptions` has a sentence for every rule, by id.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: int = 0
    unknowns: Mapping[str, int] | None = None
    fixed: int | None = None
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def count(self, level: Level) -> int:
        """How many diagnostics stand at a level."""
        return sum(diagnostic.level is level for diagnostic in self.diagnostics)
