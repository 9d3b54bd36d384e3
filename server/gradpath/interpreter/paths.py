"""Undecided branches: the way that a path takes, and the paths that are run.

A path is replayed from the start of its entry point with a prefix of decisions; beyond the prefix it takes the likelier
way. Each decision is then turned around once, so that the number of paths grows with the number of branches, not with
its power.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping

from gradpath.interpreter.events import Decision, OfTable, Site
from gradpath.interpreter.trace import Trace
from gradpath.source.nodes import nodes
from gradpath.support.fast_dataclasses import dataclass, field, replace

Going = Mapping[ast.AST, bool]
"""The way of some branches, by their nodes."""

NOWHERE: Going = {}

Run = Callable[[tuple[bool, ...], Going], Trace]
"""Run the path that begins with some decisions and then takes some ways."""

REMEMBERED = 48_000
"""Statements of the paths that are remembered."""


@dataclass(slots=True)
class Path:
    """The decisions of one run: those that it must take, and those that it took.

    Beyond the prefix it goes the ways of `going`. `home` is the checked file, and `speaking` says whether what is
    decided has to do with gradients, None where it is no `if`; `training` says that an arm of the `if` trains. It was
    `asked` so often for a way, and `unlikely` counts the answers that are not the likelier ones.
    """

    prefix: tuple[bool, ...] = ()
    going: Going = field(default_factory=dict)
    home: str = ""
    speaking: bool | None = None
    training: bool = False
    taken: list[Decision] = field(default_factory=list)
    outcomes: dict[object, bool] = field(default_factory=dict)
    asked: int = 0
    unlikely: int = 0
    _turned: set[object] = field(default_factory=set)
    _places: dict[object, int] = field(default_factory=dict)

    def decide(
        self,
        key: object,
        node: ast.AST,
        likely: bool,
        site: Callable[[], Site],
        idle: bool,
        negated: bool = False,
        about: object = None,
    ) -> bool:
        """The outcome for `key`: as before on this path, else as it must go, else the likelier."""
        self.asked += 1
        known = self.outcomes.get(key)
        if known is not None:
            self.unlikely += key in self._turned
            if not idle and (first := self._places.get(key)) is not None:
                self._reconsider(first, site)
            return known
        index = len(self.taken)
        outcome = self.prefix[index] if index < len(self.prefix) else self.going.get(node, likely)
        place = site()
        idle = idle or self._is_far(place)
        speaking = self.speaking is not False
        self.taken.append(Decision(key, node, outcome, place, idle, negated, speaking, about, self.training))
        self._places[key] = index
        self.outcomes[key] = outcome
        if outcome is not likely:
            self.unlikely += 1
            self._turned.add(key)
        return outcome

    def _is_far(self, place: Site) -> bool:
        """True if a place is in another file, and what is decided there has nothing to do with gradients."""
        return not (self.speaking or place.path == self.home)

    def _reconsider(self, index: int, site: Callable[[], Site]) -> None:
        """Let a decision be worth turning by which a later branch goes that is less idle than the first one."""
        before = self.taken[index]
        speaking, training = before.speaking or self.speaking is not False, before.training or self.training
        after = replace(before, idle=False, speaking=speaking, training=training)
        if after != before and not self._is_far(site()):
            self.taken[index] = after


class Paths:
    """The paths of one entry point: each is run when it is first asked for, and the first ones are remembered."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[object, Trace] = {}
        self.executed = 0
        """The statements that all paths so far have executed together."""

    def affords(self, steps: int) -> bool:
        """True if one more path of so many statements may be run to judge what was found on others."""
        return self.executed + steps <= REMEMBERED

    def trace(self, prefix: tuple[bool, ...], going: Going = NOWHERE) -> Trace:
        key = prefix, frozenset(going.items())
        known = self._known.get(key)
        if known is None:
            known = self._run(prefix, going)
            self.executed += known.steps
            if self.executed < REMEMBERED:
                self._known[key] = known
        return known


_OWN = "blind decisions events given_up interrupted laps left loops survived undefined unknowns visits"


def continued(trace: Trace) -> Trace:
    """A trace of the same path as far as another goes, to which more can be added."""
    return replace(trace, **{name: getattr(trace, name).copy() for name in _OWN.split()}, _counted=None)


def turned(trace: Trace, index: int) -> tuple[bool, ...]:
    """The prefix that repeats `trace` up to its decision `index` and then goes the other way."""
    return (*(decision.outcome for decision in trace.decisions[:index]), not trace.decisions[index].outcome)


def explore(paths: Paths, limit: int, budget: int, *, combined: bool = False) -> Iterator[Trace]:
    """Run the likeliest path, then each with one more decision turned around.

    At most `limit` paths, and none that, as long as the one before, would bring the statements executed together
    above `budget`, but for the first `LEAST` that a branch of what is entered asks for, of longer ones the first
    `LEAST_LONG` that a branch asks for of which an arm trains. Branches of which an arm trains
    are turned first, with the entries of a table, then those of what is entered itself, and last those whose arms do
    not speak of gradients. Each is turned at most twice for each outcome (two occurrences in loops), so that every arm
    is entered. Where decisions are
    to be `combined`, other ways to take them follow, until there are `COMBINED` paths. As long as all paths were
    refused, as by `if target is None: raise ValueError`, branches that no gradient depends on are turned as well, the
    last one first.
    """
    queues = tuple(deque[tuple[bool, ...]]() for _ in range(4))
    others: deque[tuple[bool, ...]] = deque()
    refused: deque[tuple[bool, ...]] | None = deque(maxlen=REFUSED)
    seen: dict[tuple[int, str, bool], int] = {}
    count = cost = 0
    inside: set[int] | None = None
    queues[0].append(())
    effort = budget

    def is_due() -> bool:
        least = LEAST if cost < effort else LEAST_LONG
        return budget > cost or (count < least and any(queues[: 2 if cost < effort else 1]))

    while (any(queues) or refused or (others and count < COMBINED)) and count < limit and is_due():
        prefix = next(filter(None, (*queues, refused, others))).popleft()
        trace = paths.trace(prefix)
        count += 1
        if refused is not None and (count > REFUSED or not _is_refused(trace)):
            refused = None
        cost = trace.steps
        budget -= cost
        yield trace
        inside = inside or set(map(id, nodes(trace.entry)))
        for decision in trace.decisions:
            taken = (*_what(decision), decision.outcome)
            seen[taken] = seen.get(taken, 0) + 1
        for index in range(len(prefix), min(len(trace.decisions), DEEP)):
            decision = trace.decisions[index]
            other = (*_what(decision), not decision.outcome)
            if decision.idle:
                if refused is not None:
                    refused.appendleft(turned(trace, index))
            elif seen.get(other, 0) < 2:
                seen[other] = seen.get(other, 0) + 1
                queues[_rank(decision, inside)].append(turned(trace, index))
            elif combined:
                others.append(turned(trace, index))


def _what(decision: Decision) -> tuple[int, str]:
    """What a decision decides: a branch, or whether something is a certain entry of a table."""
    return id(decision.node), decision.key.name if isinstance(decision.key, OfTable) else ""


def _rank(decision: Decision, inside: Container[int]) -> int:
    """The place of a branch among those to be turned; `inside` are the nodes of what is entered."""
    if decision.training or isinstance(decision.key, OfTable):
        return 0
    return 3 if not decision.speaking else 1 if id(decision.node) in inside else 2


def _is_refused(trace: Trace) -> bool:
    """True if a path ended by an exception of the program's own, or of Python's."""
    return any(failure.error is None for failure in trace.failures())


LEAST = 4
"""Paths that are run even if they are long: a program that is entered at its top has its branches in the end."""

LEAST_LONG = 3
"""The same of paths that alone exceed the budget, where an arm of a branch trains: what trains is entered once."""

REFUSED = 8
"""Paths that may be refused before no way around that is looked for any more."""

COMBINED = 8
"""Paths that are enough for every combination of three branches."""

DEEP = 200
"""Decisions of a path that are considered for turning."""
