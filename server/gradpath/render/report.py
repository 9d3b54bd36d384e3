"""The result of a run, independent of output formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

from gradpath.diagnostic import Diagnostic, Gap, Level
from gradpath.support.fast_dataclasses import dataclass, field


class SourceText(Protocol):
    """The lines of a file, as far as a picture of them needs them; `gradpath.source.document.Document` is one."""

    @property
    def line_count(self) -> int:
        """The number of lines."""

    def line(self, number: int) -> str:
        """Line `number`, from 1, without its line ending."""


SourceLookup = Callable[[str, "int | None"], "SourceText | None"]
"""From the path (and the cell) in a diagnostic to the text it was made for; None where the text is not to be had."""


def place_name(path: str, cell: int | None) -> str:
    """A file, or a cell of a notebook, as output names it."""
    return path if cell is None else f"{path}:cell {cell}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file, or a configuration, could not be used: one line, without the path."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Understood:
    """How much of a file was understood: of the `reached` statements, those in `clear` met no unknown value.

    `causes` counts unknown values by their cause.
    """

    reached: int
    clear: int
    causes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of a run.

    `diagnostics` are sorted by path and place. `files` counts the files that were read and checked, those of which
    parts are `incomplete` among them. `understood` says by path how much of each file was understood, and `fixed`
    counts the fixes that were applied; each is None unless it was asked for.
    `fixable` counts those that have a safe fix, where no fixes were asked for.
    `descriptions` has a sentence for every rule, by id.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: int = 0
    incomplete: tuple[Gap, ...] = ()
    understood: Mapping[str, Understood] | None = None
    fixed: int | None = None
    fixable: int = 0
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def causes(self) -> Counter[str]:
        """The unknown values of all files, counted by cause."""
        causes: Counter[str] = Counter()
        for each in (self.understood or {}).values():
            causes.update(each.causes)
        return causes

    def count(self, level: Level) -> int:
        """The number of diagnostics at a level."""
        return sum(diagnostic.level is level for diagnostic in self.diagnostics)
