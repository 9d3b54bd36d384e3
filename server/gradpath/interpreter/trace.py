"""The trace of a path: its events in execution order, and what they answer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

from gradpath.interpreter.events import Event, Failed
from gradpath.interpreter.idle import leaves_gradients_out
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.sites import Decision
from gradpath.support.fast_dataclasses import dataclass, field

Wanted = TypeVar("Wanted")
Asked = ParamSpec("Asked")


class _OfAKind(Protocol):
    """An unknown value; its kind may be found out after it came up."""

    kind: Kind


@dataclass(slots=True)
class Trace:
    """The events of one path, the decisions that it took, and how often it reached each statement.

    `loops` has the syntax of each activation of a loop, and `laps` the most iterations that an activation had.
    `unknowns` counts what was unknown by its first cause, and `blind` has an unknown value that came up at a place.
    `given_up` are the statements and expressions that took more than their part of the budget, after which the path
    went on, and `interrupted` the functions that had been called by then. `left` are the functions of other files that
    were not followed to their end. `given` has the arguments of the function that was entered, and `returned` what it
    returned; `begun` events had happened while its object was made.
    `survived` are the places of exceptions that are not certain, and `fell_through` says that a function that gives a
    value went past a `raise` to its end: no run of it comes further. `goes_back` says that gradients are on, as each
    call of what was entered comes to a backward.
    `undefined` are the names, and the `.attributes`, that were read though nothing had bound them.
    `set_elsewhere` says that an attribute was None where the program needs something: code that is not seen sets it.
    """

    entry: ast.AST
    events: list[Event] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    visits: dict[ast.AST, int] = field(default_factory=dict)
    loops: dict[int, ast.AST] = field(default_factory=dict)
    laps: dict[ast.AST, int] = field(default_factory=dict)
    unknowns: dict[str, int] = field(default_factory=dict)
    blind: dict[ast.AST, _OfAKind] = field(default_factory=dict)
    truncated: bool = False
    given_up: list[ast.AST] = field(default_factory=list)
    interrupted: set[ast.AST] = field(default_factory=set)
    left: set[ast.AST] = field(default_factory=set)
    survived: set[ast.AST] = field(default_factory=set)
    fell_through: bool = False
    goes_back: bool = False
    undefined: set[str] = field(default_factory=set)
    set_elsewhere: bool = False
    given: Mapping[str, object] = field(default_factory=dict)
    returned: object = None
    begun: int = 0
    steps: int = 0
    _sorted: dict[type, list[Event]] = field(default_factory=dict)
    _found: dict[object, object] = field(default_factory=dict)
    _count: int = 0
    _counted: list[Event] | None = None

    def came_up(self, node: ast.AST, value: _OfAKind) -> None:
        """Note that a value that is no plain data was unknown at a place."""
        before = self.blind.get(node)
        if before is None or before.kind is not Kind.ANYTHING:
            self.blind[node] = value

    def unclear(self) -> Iterator[ast.AST]:
        """The places where a value came up of which it is not known whether it has a graph."""
        return (node for node, value in self.blind.items() if value.kind is Kind.ANYTHING)

    def of(self, kind: type[Wanted]) -> list[Wanted]:
        """The events of one kind, in order; they are sorted once for all who ask."""
        self._sort_new()
        return cast("list[Wanted]", self._sorted.get(kind, []))

    def own(self, kind: type[Wanted]) -> list[Wanted]:
        """The events of one kind since the function that was entered was called: its object had been made by then."""
        return [event for event in self.events[self.begun :] if isinstance(event, kind)]

    def among(self, *kinds: type[Event]) -> list[Event]:
        """The events of several kinds, in the order in which they happened; found once for all who ask."""
        self._sort_new()
        if kinds not in self._found:
            there = [kind for kind in kinds if kind in self._sorted]
            some = self.events if len(there) > 1 else self.of(there[0]) if there else []
            self._found[kinds] = [event for event in some if type(event) in kinds]
        return cast("list[Event]", self._found[kinds])

    def answer(self, work: Callable[..., Wanted], *arguments: object, **options: object) -> Wanted:
        """The answer to a question, worked out once for the same arguments as long as nothing more happens."""
        self._sort_new()
        asked = (*arguments, *options.values())
        key = (work, *map(id, asked))
        if key not in self._found:
            self._found[key] = work(self, *arguments, **options), asked  # Which so keep their identities.
        return cast("tuple[Wanted, object]", self._found[key])[0]

    def place_of(self, event: Event) -> int:
        """The place of an event among all: of itself, and not of one that is equal to it."""
        return _places(self)[id(event)]

    def _sort_new(self) -> None:
        if self._counted is not self.events:
            self._counted, self._count, self._sorted, self._found = self.events, 0, {}, {}
        if self._count < len(self.events):
            for event in islice(self.events, self._count, None):
                self._sorted.setdefault(type(event), []).append(event)
            self._count, self._found = len(self.events), {}

    @property
    def is_complete(self) -> bool:
        """True if the trace has every event about gradients before its end: no such code was given up."""
        return not (self.truncated or (self.given_up and _leaves_out(self)))

    def failures(self) -> list[Failed]:
        """The exceptions that nothing caught."""
        return [event for event in self.of(Failed) if not event.caught]

    @property
    def has_failed(self) -> bool:
        """True if an exception ended it; `sys.exit(main())` is how a program ends, where it is in no loop."""
        return any(each.exception != "SystemExit" or each.site.loops for each in self.failures())

    @property
    def is_whole(self) -> bool:
        """True if it is complete, and ran to the end of the program: what it does not show does not happen on it."""
        return self.is_complete and not self.has_failed


def once(work: Callable[Concatenate[Trace, Asked], Wanted]) -> Callable[Concatenate[Trace, Asked], Wanted]:
    """Make a question to a trace one that is worked out once for the same arguments, told apart by identity."""

    def asked(trace: Trace, /, *arguments: Asked.args, **options: Asked.kwargs) -> Wanted:
        return trace.answer(work, *arguments, **options)

    return asked


@once
def _places(trace: Trace) -> Mapping[int, int]:
    """The places of all events, by their identities."""
    return {id(event): place for place, event in enumerate(trace.events)}


@once
def _leaves_out(trace: Trace) -> bool:
    """True if there is more about gradients in what was given up, or in what it may have called, than was come to."""
    return leaves_gradients_out({*trace.given_up, *trace.interrupted}, trace.visits)
