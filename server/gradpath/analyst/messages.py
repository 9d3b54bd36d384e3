"""The messages between the server and its analysis process, as frozen data that loads nothing of the analysis.

The server sends the state of its documents and one `Work` at a time; the process answers each with one `Done`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradpath.diagnostic import Action, Diagnostic, Gap, Mark, Position, Range
from gradpath.support.fast_dataclasses import dataclass, field
from gradpath.support.fast_enums import Enum

if TYPE_CHECKING:
    from gradpath.features.graph import Picture
    from gradpath.source.cells import Cell, CellsDocument

Lines = Mapping[str, Mapping[int, str]]
"""Lines of files, by path and number (from 1), that answers refer to."""

# Messages of the server, in the order in which they occur.


@dataclass(frozen=True, slots=True)
class Settings:
    """The editor's settings: everywhere, and by the path of a workspace folder, where they count instead.

    `level` is the least one of the log records that are wanted.
    """

    everywhere: Mapping[str, Any]
    by_folder: Mapping[str, Mapping[str, Any]]
    level: int


@dataclass(frozen=True, slots=True)
class ConfigurationChanged:
    """Configuration files may have changed: they are to be read again."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The newest state of an open document; `cells` replace the text of a notebook."""

    uri: str
    path: str
    text: str
    cells: tuple[Cell, ...] | None = None

    @property
    def size(self) -> int:
        """The number of characters to check."""
        return len(self.text) if self.cells is None else sum(len(cell.text) for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Closed:
    """A document is no longer open."""

    uri: str


@dataclass(frozen=True, slots=True)
class Work:
    """A request, whose number is higher than those of all before it; it is to take so many seconds at most."""

    number: int
    request: Request
    seconds: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """The work of that number is to be put off, or is not wanted any more."""

    number: int


# What it can ask.


@dataclass(frozen=True, slots=True)
class Check:
    """Check an open document: an `Outcome`."""

    uri: str
    path: str


@dataclass(frozen=True, slots=True)
class CheckFile:
    """Check a file as the disk has it: an `Outcome`, or None where it cannot be read."""

    path: str


@dataclass(frozen=True, slots=True)
class Callers:
    """The findings of files that are not open in an open document whose functions they call: a tuple of `Outcome`."""

    uri: str
    path: str


@dataclass(frozen=True, slots=True)
class AskHover:
    """The hover at a place in an open document, with the `diagnostics` there: a `Told` or None.

    The fixes of those are put on trial first, as for `AskActions`.
    """

    uri: str
    path: str
    place: Position
    diagnostics: tuple[Diagnostic, ...]
    state: str
    markdown: bool
    whole: bool = True


@dataclass(frozen=True, slots=True)
class AskPicture:
    """The graph of the loss on a line (from 1) of an open document: a `features.graph.Picture` or None."""

    uri: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class AskFlow:
    """The gradient flow at a line (from 1) of an open document, or in all of it: a `Drawn` or None."""

    uri: str
    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class AskName:
    """The name at a place, where it is that of a module, a parameter or an optimizer: a text, which may be empty."""

    uri: str
    path: str
    place: Position


@dataclass(frozen=True, slots=True)
class AskWhy:
    """The answer for a name at a place: what trains it, and what cuts it off: a text or None."""

    uri: str
    path: str
    place: Position


@dataclass(frozen=True, slots=True)
class AskActions:
    """The code actions at a place of an open document for its `diagnostics`: `Actions`.

    The fixes are put on trial first, once for each `state`, which names what is known of the document. Other forms of
    the loops around the place are looked for only where a person asks for `rewrites`.
    """

    uri: str
    path: str
    place: Range
    diagnostics: tuple[Diagnostic, ...]
    state: str
    rewrites: bool = False


@dataclass(frozen=True, slots=True)
class Prove:
    """The `diagnostics` of an open document with the fixes and the advice that hold: a tuple, as for `AskActions`."""

    uri: str
    path: str
    diagnostics: tuple[Diagnostic, ...]
    state: str


@dataclass(frozen=True, slots=True)
class ListFiles:
    """The paths of the files of a project in some folders, sorted, at `most` so many: a tuple."""

    folders: tuple[str, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Explain:
    """The explanation of a traceback, whose files are looked for in one folder after the other."""

    traceback: str
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListRules:
    """The rules, each with its summary, its page as Markdown and what PyTorch says of its faults: a tuple of tuples."""


Request = (
    Check
    | CheckFile
    | Callers
    | AskHover
    | AskPicture
    | AskFlow
    | AskName
    | AskWhy
    | AskActions
    | Prove
    | ListFiles
    | Explain
    | ListRules
)
_TITLES: Mapping[type, str] = {
    Check: "The check of {0.path}",
    CheckFile: "The check of {0.path}",
    Callers: "The look at the callers of {0.path}",
    AskHover: "The hover in {0.path}",
    AskPicture: "The graph in {0.path}",
    AskFlow: "The flow in {0.path}",
    AskName: "The look at a name in {0.path}",
    AskWhy: "The answer for a name in {0.path}",
    AskActions: "The search for fixes of {0.path}",
    Prove: "The trial of the fixes of {0.path}",
    ListFiles: "The look for files in {0.folders}",
    Explain: "The explanation of a traceback",
    ListRules: "The list of the rules",
}


def title_of(request: Request) -> str:
    """A description of the work, for the log."""
    return _TITLES[type(request)].format(request)


Message = Settings | ConfigurationChanged | Opened | Closed | Work | Cancel

# What the process answers.


@dataclass(frozen=True, slots=True)
class Outcome:
    """The findings of the check of a document, without its traces and trees; see `check.Analysis`.

    `notebook` is the document where it has cells. `lines` are those that the diagnostics refer to in other files, and
    in the document itself where that is not open. `seconds` is what the check took, `unknowns` says what it did not
    follow.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()
    dependencies: frozenset[Path] = frozenset()
    used: frozenset[tuple[str, Range]] = frozenset()
    marks: tuple[Mark, ...] = ()
    notebook: CellsDocument | None = None
    lines: Lines = field(default_factory=dict)
    incomplete: tuple[Gap, ...] = ()
    parses: bool = True
    unknowns: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Told:
    """A hover for a range of text, in a cell of a notebook or in the whole of another document."""

    range: Range
    text: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """A flow as the table that `gradpath flow` writes, and as a picture."""

    text: str
    picture: Picture


@dataclass(frozen=True, slots=True)
class Actions:
    """The actions for a place, and the lines of other files that they speak of."""

    actions: tuple[Action, ...]
    lines: Lines


class Ending(Enum):
    """The way in which work ended: by itself, because it was cancelled, or because it took too much."""

    FINISHED = "finished"
    CANCELLED = "cancelled"
    OUT_OF_TIME = "out of time"
    OUT_OF_MEMORY = "out of memory"


@dataclass(frozen=True, slots=True)
class Ready:
    """The process has loaded what it needs."""


@dataclass(frozen=True, slots=True)
class Done:
    """The answer to the work of a number; a partial one if its time was over, None if it was cancelled.

    It is None, too, if the work has failed, which is logged.
    """

    number: int
    ending: Ending
    answer: Any = None


@dataclass(frozen=True, slots=True)
class Found:
    """An import of a file was found that the check of the file has not known."""

    importer: Path


@dataclass(frozen=True, slots=True)
class Complained:
    """Something is wrong with a configuration, of which its writer should hear: one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Logged:
    """A log record, with the traceback of its exception as text."""

    name: str
    level: int
    text: str
    traceback: str | None = None


@dataclass(frozen=True, slots=True)
class Grown:
    """The process holds more memory than it should, and cannot let go of it: another one is to replace it."""


News = Found | Complained | Logged
Answer = Ready | Done | Grown | News
