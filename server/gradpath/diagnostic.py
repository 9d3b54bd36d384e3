"""Diagnostics, gaps and fixes, as frozen data: no LSP types, no Python syntax trees, no rendering.

Lines and columns count from 1; columns count Unicode code points. Only `lsp/convert.py` knows other units.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from gradpath.repairs import Cost, Repair, Transformation, title_of
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.fast_enums import Enum

NO_WAY_OUT = "not a way out:"
"""How an alternative begins that was tried and does not help."""


class Level(str, Enum):
    """How certain and how grave a report is; the order of the members is the order of gravity."""

    HINT = "hint"
    WARNING = "warning"
    ERROR = "error"

    @property
    def gravity(self) -> int:
        """A number that is higher the graver the level is."""
        return list(Level).index(self)


class Safety(str, Enum):
    """The safety of a fix.

    `SAFE`: forward values and, wherever the original ran, gradients stay. `UNSAFE`: the meaning may change, so a
    person decides.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """A place between two code points: `line` and `column` count from 1."""

    line: int
    column: int


@dataclass(frozen=True, order=True, slots=True)
class Range:
    """A half-open stretch of text from `start` to `end`."""

    start: Position
    end: Position

    def moved(self, lines: int) -> Range:
        """The same stretch so many lines further down."""
        start, end = self.start, self.end
        return Range(Position(start.line + lines, start.column), Position(end.line + lines, end.column))


@dataclass(frozen=True, slots=True)
class Label:
    """One step of a diagnostic's story; labels stand in execution order.

    `primary` marks the label that lies on the squiggle. `path` may name another file than the diagnostic's; `cell` as
    in `Diagnostic`.
    """

    path: str
    range: Range
    message: str
    primary: bool = False
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of `range` in the file `path` by `new_text`; an empty range inserts.

    `cell` as in `Diagnostic`.
    """

    path: str
    range: Range
    new_text: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A way out: its edits are applied together or not at all, and never overlap.

    `rewrite` is true where the edits move code (`refactor.rewrite` in an editor).
    Of the fixes of a diagnostic that are `eligible`, the first safe one that holds is `preferred`, or else the first
    one: the one to recommend, which for a fault that raises nothing is bound to change what is computed. A trial makes
    a fix unsafe where it changes anything of what ran, and ineligible where it keeps a parameter from learning.
    `repairs` say what it does; a fix that is no repair of the program, such as one of a comment, has none.
    `costs` are what else it changes of what is learnt, as its trial has shown; a fix with any is not safe.
    `truncates` is true where a value goes on without its history, so that what only that is computed from gets no
    gradient any more.
    """

    title: str
    safety: Safety
    edits: tuple[Edit, ...] = ()
    preferred: bool = False
    rewrite: bool = False
    eligible: bool = False
    repairs: tuple[Repair, ...] = ()
    costs: tuple[Cost, ...] = ()
    truncates: bool = False

    @classmethod
    def by(
        cls,
        repairs: Repair | tuple[Repair, ...],
        safety: Safety,
        edits: tuple[Edit, ...],
        *,
        eligible: bool = True,
        rewrite: bool = False,
    ) -> Fix:
        """The fix that makes these repairs; they are its title."""
        done = (repairs,) if isinstance(repairs, Repair) else repairs
        return cls(title_of(done), safety, edits, rewrite=rewrite, eligible=eligible, repairs=done)

    @classmethod
    def of(
        cls,
        repairs: Repair | tuple[Repair, ...],
        safety: Safety,
        *edits: Edit | Sequence[Edit] | None,
        eligible: bool = True,
        rewrite: bool = False,
    ) -> tuple[Fix, ...]:
        """The fix that makes these repairs; none where one of its edits cannot be made."""
        if None in edits:
            return ()
        every = tuple(each for one in edits if one is not None for each in ((one,) if isinstance(one, Edit) else one))
        return (cls.by(repairs, safety, every, eligible=eligible, rewrite=rewrite),)

    @property
    def said(self) -> str:
        """The title in the middle of a sentence."""
        return self.title[:1].lower() + self.title[1:]

    def told_in(self, path: str) -> Fix:
        """The same fix for a report in the file `path`: one that changes another file names that."""
        [*files] = {edit.path for edit in self.edits}
        if len(files) != 1 or path in files or not self.repairs:
            return self
        name = PurePath(files[0]).name
        repairs = tuple(replace(each, file=name) for each in self.repairs)
        return replace(self, title=title_of(repairs, self.costs), repairs=repairs)

    def does(self, transformation: Transformation) -> bool:
        """True if the first of its repairs, which the others complete, is such a transformation."""
        return bool(self.repairs) and self.repairs[0].transformation is transformation


def best_of(fixes: Sequence[Fix]) -> Fix | None:
    """The eligible fix that is preferred to the others: no graph is kept where the program can do without it."""
    eligible = [fix for fix in fixes if fix.eligible]
    without = any(fix.does(each) for fix in eligible for each in _WITHOUT_OLD_GRAPHS)
    return min(
        eligible,
        key=lambda fix: (
            without and fix.does(Transformation.RETAIN_GRAPH),
            fix.safety is Safety.UNSAFE,
            fix.does(Transformation.RECOMPUTE),
        ),
        default=None,
    )


_WITHOUT_OLD_GRAPHS = (Transformation.DETACH, Transformation.SUM_LOSSES, Transformation.DELETE)


@dataclass(frozen=True, slots=True)
class Advice:
    """A line of advice with its ground: the `fix` that it describes, which the trial has to show to hold.

    A "not a way out" line has the `refuted` fix instead, which the trial has to show to fail. The first line, the way
    out in general, has neither: it is told before the trial, and where there is nothing to try.
    """

    text: str
    fix: Fix | None = None
    refuted: Fix | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A fault at `range` of the file `path`, with its story and the ways out.

    `message` is the headline (one sentence, at most 120 characters); `pytorch` is the exact text that PyTorch raises,
    or None where nothing is raised; `help` is the preferred way out; `alternatives` are the others with their cost.
    `advice` says what these lines stand on, the help first: before the trial of the fixes `help` and `alternatives` are
    what needs none, after it what has held.
    `cell` is the number of a notebook's cell, from 1, in which the lines of `range` count; it is None in other files,
    and as long as a notebook is taken as one text (see `source.cells`).
    """

    path: str
    range: Range
    rule: str
    family: str
    level: Level
    message: str
    labels: tuple[Label, ...] = ()
    pytorch: str | None = None
    help: str = ""
    alternatives: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    cell: int | None = None
    advice: tuple[Advice, ...] = ()


class GapKind(str, Enum):
    """Why a part of a file was not fully checked.

    `SYNTAX`: it does not parse. `BUDGET`: it was too much to be followed to its end. `TIME`, `MEMORY`: it was given up
    because it took too much of that. `FAILURE`: gradpath itself failed there. `CRASH`: the process that checked it has
    died. `FIXES`: gradpath itself failed when it tried the fixes of what it had found.
    `SIZE`: it is too long to be taken on. `IMPORTS`: not all that it imports was read, because that is too long.
    """

    SYNTAX = "syntax"
    BUDGET = "budget"
    TIME = "time"
    MEMORY = "memory"
    FAILURE = "failure"
    CRASH = "crash"
    FIXES = "fixes"
    SIZE = "size"
    IMPORTS = "imports"


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of the file `path` that was not fully checked, so that nothing found there does not mean much.

    `range` is one line, where the part begins or where it could not be followed any further. `entry` is the function
    or method that is meant, such as `Trainer.fit`; it is empty for the code of the module, and None where the kind
    speaks of the whole file. `rule` is the id of a rule, where that alone failed. `detail` goes with the kind: what the
    parser says, or the exception of a failure in one line. `report` is the path of the crash report, where one was
    written. `cell` as in `Diagnostic`.
    """

    path: str
    kind: GapKind
    range: Range
    entry: str | None = None
    rule: str = ""
    detail: str = ""
    report: str = ""
    cell: int | None = None

    def moved(self, lines: int) -> Gap:
        """The gap so many lines further down."""
        return replace(self, range=self.range.moved(lines))


def whole(path: str, kind: GapKind, detail: str = "", report: str = "") -> Gap:
    """A file of which nothing was checked."""
    start = Position(1, 1)
    return Gap(path, kind, Range(start, start), None, "", detail, report)


class MarkKind(Enum):
    """Whether a mark is a word after a piece of code, or a line above a backward or a step."""

    HINT = "hint"
    BACKWARD = "backward"
    STEP = "step"


@dataclass(frozen=True, slots=True)
class Mark:
    """A text about the piece of code at `range`, which an editor may show beside it."""

    kind: MarkKind
    range: Range
    text: str

    def moved(self, lines: int) -> Mark:
        """The mark so many lines further down."""
        return Mark(self.kind, self.range.moved(lines), self.text)


class ActionKind(str, Enum):
    """The sort of an action; the values are those of the protocol."""

    QUICK_FIX = "quickfix"
    REWRITE = "refactor.rewrite"
    FIX_ALL = "source.fixAll.gradpath"


@dataclass(frozen=True, slots=True)
class Action:
    """Edits under a title, with the diagnostics they are about; or the page of a rule, to be opened."""

    title: str
    kind: ActionKind
    edits: tuple[Edit, ...]
    diagnostics: tuple[Diagnostic, ...]
    preferred: bool = False
    unsafe: bool = False
    page: str = ""
