"""What an analysis examined, and how far it got: the answer to why nothing is reported.

`find` reads it off an explored analysis, with `events` and `values` for the words and `unreached` for what was not
executed; `as_text` and `as_json` write it.
"""

from __future__ import annotations

from gradpath.diagnostic import Gap
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum


class End(Enum):
    """How a path ended."""

    END = "end"
    """It ran to the end of its entry point."""
    EXCEPTION = "exception"
    BUDGET = "budget"
    """It took more statements, or more work, than a path may take."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line (from 1) in the file `path`."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A branch that the source does not settle, and how it went on a path."""

    at: Place
    text: str
    outcome: bool


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened along a path: the name of its type in the trace, and what is known of it in words."""

    at: Place
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Route:
    """A path: its number in its entry point, how it ended, the choices it made and what happened on it.

    `condition` says how the entry point was used, and is empty where it was called once. `given_up` are the lines of
    loops and calls that took too much, after which the path went on. `events` are those of the wanted line, or all.
    """

    number: int
    condition: str
    steps: int
    end: End
    words: str
    at: Place | None
    choices: tuple[Choice, ...] = ()
    given_up: tuple[int, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A fault that a rule found on some paths, by their numbers; `reason` says why it is not reported, if it is not."""

    rule: str
    at: Place
    headline: str
    routes: tuple[int, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Blind:
    """An unknown value that may have a graph or none: where it came up, and what it came from."""

    at: Place
    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class Presumed:
    """A presumption that lines depend on: its row in the table, in words, and the lines."""

    row: str
    words: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Lines of the document that no path reached, and why; `name` is that of the function, if it is a whole one."""

    first: int
    last: int
    reason: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Entered:
    """An entry point that was run; `name` and `line` are empty for the code of the module.

    `given` says with what the function was called, by parameter.
    """

    name: str
    line: int | None
    given: tuple[tuple[str, str], ...]
    routes: tuple[Route, ...]
    seen: tuple[Seen, ...]
    skipped: tuple[Skipped, ...]
    unknowns: tuple[Blind, ...]
    presumed: tuple[Presumed, ...]
    passes: bool = True
    """Whether a path comes to the wanted line."""


@dataclass(frozen=True, slots=True)
class Debug:
    """The report on a document; `line` is the wanted one. `skipped` are whole functions, and the module."""

    path: str
    line: int | None
    entered: tuple[Entered, ...]
    skipped: tuple[Skipped, ...]
    incomplete: tuple[Gap, ...]
