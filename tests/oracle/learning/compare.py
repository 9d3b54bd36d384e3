"""gradpath's ledger beside PyTorch's: where they differ, which reports a run disproves, and what nobody reports."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import ledger
from .ledger import Told, Word, word
from .programs import Program
from .truth import Clear, Ran, Step, Truth, run

MUCH = 1e-5
TELLING = frozenset(
    (
        *("unreached-parameter", "step-without-backward", "detached-loss", "rewrapped-loss", "backward-on-number"),
        *("discarded-result", "untrained-parameter", "zero-grad-before-step"),
    )
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one program: the differences by kind, what gradpath does not know, and the words of both."""

    program: Program
    truth: Truth
    word: Word
    differences: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    disproved: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether gradpath says nothing else than PyTorch, and leaves nothing open."""
        return not self.differences and not self.unknown


def compare(program: Program, seen: Truth) -> Outcome:
    """Compare what both say of a program that has run."""
    said = word(program.text, seen)
    if said.raised:
        return Outcome(program, seen, said, (f"raises: {said.raised}"[:70],))
    if said.unknown:
        return Outcome(program, seen, said, (), (said.unknown,))
    unknown = [*_unknown(said)]
    differences = tuple(dict.fromkeys(_differences(program.text, seen, said)))
    disproved = tuple(dict.fromkeys(_disproved(program, seen, said)))
    missed = tuple(dict.fromkeys(_missed(program, seen, said)))
    return Outcome(program, seen, said, differences, tuple(dict.fromkeys(unknown)), disproved, missed)


def _unknown(said: Word) -> Iterator[str]:
    for event in said.events:
        if event.unknown:
            yield "an open backward" if isinstance(event, ledger.Ran) else "an optimizer with unseen parameters"
    if said.lost:
        yield "a parameter that is not seen"


def _differences(text: str, seen: Truth, said: Word) -> Iterator[str]:
    theirs = [each for each in seen.events if not isinstance(each, Clear)]
    if [_kind(each) for each in theirs] != [_kind(each) for each in said.events]:
        if "DataLoader" not in text:
            yield "other events"
            return
        # A loop whose length gradpath does not know runs a few times there.
        pairs = zip(theirs, said.events, strict=False)
        same = sum(1 for _ in itertools.takewhile(lambda pair: _kind(pair[0]) == _kind(pair[1]), pairs))
        theirs, ours_too = theirs[:same], said.events[:same]
    else:
        ours_too = said.events
    known = frozenset((*seen.opened, *seen.closed)) - said.lost
    for real, ours in zip(theirs, ours_too, strict=True):
        if isinstance(real, Ran) and isinstance(ours, ledger.Ran):
            if real.accumulates and not ours.unknown:
                yield from _sets("reached", real.reached & known, ours.reached & known)
                if real.moved & known - ours.moved:
                    yield "moved: PyTorch alone"
        elif isinstance(real, Step) and isinstance(ours, ledger.Step) and not ours.unknown:
            yield from _sets("held", real.held & known, ours.held & known)
            yield from _sets("used", real.used & known, ours.used & known)
            if real.changed & known - ours.used:
                yield "changed: PyTorch alone"
    yield from _sets("has a gradient at the end", seen.graded & known, said.graded & known)


def _kind(event: Ran | Step | ledger.Ran | ledger.Step) -> tuple[str, int]:
    return type(event).__name__, event.line


def _sets(what: str, theirs: frozenset[str], ours: frozenset[str]) -> Iterator[str]:
    if theirs - ours:
        yield f"{what}: PyTorch alone"
    if ours - theirs:
        yield f"{what}: gradpath alone"


def _disproved(program: Program, seen: Truth, said: Word) -> Iterator[str]:
    """The reports that the run shows to be wrong."""
    rules = {each.rule for each in said.told}
    moved = frozenset(name for each in _backwards(seen) for name in each.moved)
    reached = frozenset(name for each in _backwards(seen) for name in each.reached)
    held = frozenset(name for each in seen.events if isinstance(each, Step) for name in each.held)
    if "unreached-parameter" in rules and said.unreached & moved:
        yield "unreached-parameter: a gradient arrives"
    if "untrained-parameter" in rules and said.untrained & held:
        yield "untrained-parameter: an optimizer holds it"
    if "untrained-parameter" in rules and said.untrained and not said.untrained & reached:
        yield "untrained-parameter: no gradient arrives"
    for each in said.told:
        if each.level == "error":
            yield f"{each.rule}: runs clean"
        elif each.rule == "step-without-backward" and any(_at(each, Step, seen, lambda e: bool(e.used))):
            yield "step-without-backward: finds gradients"
        elif each.rule == "missing-zero-grad" and not any(_at(each, Ran, seen, lambda e: bool(e.stale))):
            yield "missing-zero-grad: adds to nothing"
        elif (
            each.rule == "zero-grad-before-step"
            and "zero_grad" in each.text
            and not any(_at(each, Clear, seen, lambda e: bool(e.unused)))
        ):
            yield "zero-grad-before-step: clears nothing"
        elif each.rule == "detached-term" and not _is_cut(program):
            yield "detached-term: nothing is cut off"


def _at(told: Told, kind, seen: Truth, test) -> Iterator[bool]:  # type: ignore[no-untyped-def]
    return (test(each) for each in seen.events if isinstance(each, kind) and each.line == told.line)


def _backwards(seen: Truth) -> Iterator[Ran]:
    return (each for each in seen.events if isinstance(each, Ran) and each.accumulates)


def _is_cut(program: Program) -> bool:
    """Whether some loss depends on a parameter in another way than its gradient says.

    It may, where a loss is computed only after the first step.
    """
    seen = run(program.text, exact=True)
    early = [index for index, each in enumerate(seen.events) if isinstance(each, Ran) and each.early]
    if {seen.events[index].line for index in early} != {each.line for each in seen.events if isinstance(each, Ran)}:
        return True
    depends = bool(seen.problem)
    for name in seen.opened:
        up, down = run(program.text, (name, MUCH), exact=True), run(program.text, (name, -MUCH), exact=True)
        if up.problem or down.problem or len(up.events) != len(seen.events) or len(down.events) != len(seen.events):
            return True
        for index in early:
            real, more, less = seen.events[index], up.events[index], down.events[index]
            assert isinstance(real, Ran)
            if isinstance(more, Ran) and isinstance(less, Ran):
                slope = (more.value - less.value) / (2 * MUCH)
                told = real.slopes.get(name, 0.0)
                depends = depends or abs(slope) > MUCH
                if abs(slope - told) > 1e-4 * max(1.0, abs(slope)):
                    return True
    return not depends


def _missed(program: Program, seen: Truth, said: Word) -> Iterator[str]:
    """Parameters that an optimizer holds, that losses depend on, and that get no gradient, of which nobody tells."""
    losses = list(_backwards(seen))
    steps = [each for each in seen.events if isinstance(each, Step)]
    held = frozenset(name for each in steps for name in each.held)
    reached = frozenset(name for each in losses for name in each.reached)
    idle = {each.line for each in said.told if each.rule == "step-without-backward"}
    told = frozenset(name for each in steps if each.line in idle for name in each.held)
    others = {each.rule for each in said.told} & TELLING - {"unreached-parameter", "step-without-backward"}
    for name in sorted((held & frozenset(seen.opened)) - reached - seen.frozen - said.unreached - told):
        if others or not losses or not _depends(program, name):
            continue
        yield name


def _depends(program: Program, name: str) -> bool:
    """Whether a loss has another value where a parameter has."""
    for much in (0.01, 0.5):
        seen, other = run(program.text, exact=True), run(program.text, (name, much), exact=True)
        if seen.problem or other.problem:
            continue
        values = zip(_backwards(seen), _backwards(other), strict=False)
        if any(not math.isclose(a.value, b.value, rel_tol=1e-9, abs_tol=1e-12) for a, b in values):
            return True
    return False


@dataclass(slots=True)
class Tally:
    """Counts over a run."""

    programs: int = 0
    agreed: int = 0
    differing: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    disproved: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    events: int = 0
    examples: dict[str, list[Outcome]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count one program."""
        self.programs += 1
        self.agreed += outcome.agrees
        self.differing += bool(outcome.differences)
        self.events += len(outcome.word.events)
        self.told.update({each.rule for each in outcome.word.told})
        self.disproved.update(outcome.disproved)
        self.missed += bool(outcome.missed)
        labels = [f"differs, {each}" for each in outcome.differences]
        labels += [f"unknown, {each}" for each in outcome.unknown]
        labels += [f"disproved, {each}" for each in outcome.disproved]
        labels += ["missed"] if outcome.missed else []
        for label in labels:
            self.kinds[label] += 1
            self.examples.setdefault(label, []).append(outcome)

    @property
    def agreement(self) -> float:
        """The share of programs on which nothing differs and nothing is unknown."""
        return self.agreed / max(1, self.programs)

    def seeds(self, kind: str) -> dict[str, list[str]]:
        """The seeds of the programs of one kind (`differs`, `unknown`, `disproved`, `missed`), by what it is about."""
        found = {label: outcomes for label, outcomes in self.examples.items() if label.startswith(kind)}
        return {label: [each.program.seed for each in outcomes] for label, outcomes in found.items()}
