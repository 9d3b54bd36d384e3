"""What a fix changes of what a path teaches: the lessons before it, compared with those after it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import count

from gradpath.fixes.lessons import Parameter, Place, Reach, Taught
from gradpath.repairs import Cost
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """The lessons of a path before a fix and after it.

    The `lines` of the file `path` that stay have other numbers after the fix; changed lines are not compared.
    """

    before: Taught
    after: Taught
    lines: Mapping[int, int]
    path: str

    def moved(self, parameter: Parameter) -> Parameter | None:
        """A parameter of before, as it is called after the fix; None where its line has changed."""
        file, line, number = parameter
        if file != self.path:
            return parameter
        return (file, self.lines[line], number) if line in self.lines else None

    def moved_place(self, place: Place) -> Place | None:
        """The same for a place."""
        found = self.moved((*place, 0))
        return None if found is None else found[:2]

    def optimizer(self, number: int) -> int:
        """The number after the fix of the optimizer that had one before: it is counted when it steps first."""
        owned = set(map(self.moved, self.before.owned[number]))
        same = [each for each, parameters in self.after.owned.items() if parameters == owned]
        return same[0] if len(same) == 1 else number


def costs(change: Change) -> set[Cost]:
    """The changes that a fix makes besides the intended ones."""
    before, after = change.before, change.after
    found: set[Cost] = set()
    stepped = frozenset[Parameter]().union(*after.owned.values())
    kept = set(map(change.moved, before.given)) - after.frozen
    if any(each in stepped and each not in after.given for each in kept):
        found.add(Cost.UNTAUGHT)
    if _is_mixed(after) and not _is_mixed(before):
        found.add(Cost.MIXED)
    if len(after.stale) > len(before.stale):
        found.add(Cost.STALE)
    return found


def makes_constant(change: Change) -> bool:
    """True if a value is divided by itself, or taken from itself, more often than before a fix, and more than once.

    In its first iteration a program may compare a value with itself.
    """
    known = {change.moved_place(place): times for place, times in change.before.constant.items()}
    return any(times > max(known.get(place, 0), 1) for place, times in change.after.constant.items())


def is_kept(change: Change) -> bool:
    """True if a fix keeps what ran, value by value and gradient by gradient.

    Gradients that are zero, since a value was compared with itself, need not be kept.
    """
    before, after = change.before, change.after
    numbers = {each: change.optimizer(each) for each in before.owned}
    known = [(numbers[each.optimizer], change.moved(each.parameter), each.values) for each in before.lessons]
    new = [(each.optimizer, each.parameter, each.values) for each in after.lessons]
    if before.failed is not None:
        if any(map(partial(_is_given_up, change), _wanted(before), count())):
            return False
        if len(new) < len(known) or before.constant:
            return len(new) >= len(known)
        if new:
            return all(one[1] is None or one == other for one, other in zip(known, new, strict=False))
        left = {change.moved(parameter): values for parameter, values in before.left}
        longer = ((left.get(each, ()), values) for each, values in after.left)
        return all(values[: len(old)] == old for old, values in longer if len(values) > len(old))
    sums = {(optimizer, parameter, len(values)) for optimizer, parameter, values in known}
    return sums == {(optimizer, parameter, len(values)) for optimizer, parameter, values in new} and (
        {change.moved(parameter) for parameter, _ in before.left} == {each for each, _ in after.left}
    )  # How often its loops are run may differ.


def still_learns(change: Change, *, truncated: bool = False) -> bool:
    """True if all parameters that learnt still do, and those that the loss which failed was to train do as well.

    That loss is still computed from the same values. Where its history is `truncated`, it need not train what only
    that was computed from.
    """
    before, after = change.before, change.after
    if before.failed is None:
        stepped = frozenset[Parameter]().union(*before.owned.values()) or before.given
        lost = set(map(change.moved, before.given & stepped)) - after.given - after.frozen
        return all(each is None or each[:2] in after.recorded for each in lost)  # What was a leaf by force, is none.
    frozen, kept = set(map(change.moved, before.frozen)), {*change.lines.values()}
    free = {each for each, (file, line) in after.thawed.items() if file != change.path or line in kept}
    if frozen and frozen <= after.given - free:
        return False  # All that the program keeps out is let in.
    if after.constant or _has_other_terms(change) or len(after.lessons) < len(before.lessons):
        return False
    if _steps_on_others(change) or _waits_in_vain(after):
        return False
    return not any(map(partial(_is_lost, change), _wanted(before, truncated=truncated), count()))


def _wanted(before: Taught, *, truncated: bool = False) -> list[Reach]:
    """The backwards of a path, with the one that failed for what it was to train."""
    failed = [] if before.failed is None or (truncated and before.reached) else [Reach(before.failed, _aims(before))]
    return [*before.reached, *failed]


def _is_given_up(change: Change, wanted: Reach, index: int) -> bool:
    """True if a step no longer uses the gradient that a backward gave a parameter, though it would be there."""
    lost, reach = _lost(change, wanted, index)
    return reach is not None and not lost <= reach.cleared


def _aims(before: Taught) -> frozenset[Parameter]:
    """The parameters that the loss which failed was to train.

    They are those of the steps that follow the same backward elsewhere in the path; else what has stepped just now is
    not what this loss is there for.
    """
    same = [each.stepped for each in before.reached if each.place == before.failed and each.stepped is not None]
    if same:
        return before.aims & same[-1]
    last = before.reached[-1].stepped if before.reached else None
    return before.aims - (last or frozenset()) or before.aims


def _steps_on_others(change: Change) -> bool:
    """True if an optimizer no longer steps on the gradients of any backward that it stepped on, which is still run."""
    run = {each.place for each in change.after.reached}
    for optimizer in change.before.owned:
        kept = set(map(change.moved_place, _backwards(change.before, optimizer))) - {None}
        if kept and kept <= run and not kept & _backwards(change.after, change.optimizer(optimizer)):
            return True
    return False


def _backwards(taught: Taught, optimizer: int) -> set[Place]:
    """The backwards of which the gradients came to the steps of an optimizer."""
    return {place for each in taught.lessons if each.optimizer == optimizer for place in each.backwards}


def _waits_in_vain(after: Taught) -> bool:
    """True if no step of a path that ran to its end found any of the gradients of its parameters."""
    owned = frozenset[Parameter]().union(*after.owned.values())
    return after.failed is None and not after.lessons and not owned.isdisjoint(after.given)


def _has_other_terms(change: Change) -> bool:
    """True if the backward that failed goes back from a term after the fix that no backward had before.

    A question for gradients may be asked of what is computed in another way, and so may a loss all of whose terms are
    those of an earlier one: a list that was not emptied.
    """
    before = change.before
    if before.failed is None or not before.aims:
        return False
    place = change.moved_place(before.failed)
    terms, now = before.terms.get(before.failed, ()), () if place is None else change.after.terms.get(place, ())
    known = frozenset[int]().union(*(each for found in before.terms.values() for each in found))
    fresh = bool(terms) and not terms[-1] <= frozenset[int]().union(*terms[:-1])
    return fresh and len(terms) <= len(now) and not now[len(terms) - 1] <= known


def _is_lost(change: Change, wanted: Reach, index: int) -> bool:
    """True if a backward no longer comes to a parameter, which no other loss is there for."""
    lost, reach = _lost(change, wanted, index)
    return not lost <= (frozenset() if reach is None else _taught_elsewhere(change.after, reach))


def _lost(change: Change, wanted: Reach, index: int) -> tuple[frozenset[Parameter], Reach | None]:
    """The parameters that a backward no longer comes to and that the next steps update, as it did or was to do."""
    after = change.after
    if not after.reached:
        return frozenset(), None
    reach = after.reached[min(index, len(after.reached) - 1)]
    given, stepped = reach.given, reach.stepped
    kept = {*change.lines.values()}
    if any(file == change.path and line not in kept for file, line, _ in given):
        return frozenset(), reach  # What the fix makes a leaf stands for another one.
    meant = wanted.given if wanted.stepped is None else wanted.given & wanted.stepped
    gone = set(map(change.moved, meant)) - given
    return frozenset(each for each in gone if each is not None and (stepped is None or each in stepped)), reach


def _taught_elsewhere(after: Taught, reach: Reach) -> frozenset[Parameter]:
    """The parameters of optimizers that have losses of their own, if a backward has others that it is there for.

    These are the ones that it gives gradients to and that the next step updates.
    """
    given = reach.given & (reach.stepped or frozenset())
    if not given:
        return frozenset()
    mine = frozenset[Parameter]().union(*(owned for owned in after.owned.values() if not owned.isdisjoint(given)))
    reached = frozenset[Parameter]().union(*(each.given for each in after.reached))
    return (reached & frozenset[Parameter]().union(*after.owned.values())) - mine


def _is_mixed(new: Taught) -> bool:
    """True if an optimizer that has a loss of its own steps with gradients of one that is there for another optimizer.

    Such as that of an actor, which goes back through the world model that it acts in.
    """
    trains: dict[Place, set[int]] = {}
    for lesson in new.lessons:
        for backward in lesson.backwards:
            trains.setdefault(backward, set()).add(lesson.optimizer)
    alone = {next(iter(each)) for each in trains.values() if len(each) == 1}
    return any(
        lesson.optimizer in alone and other not in alone and not new.owned[lesson.optimizer] & new.owned[other]
        for lesson in new.lessons
        for backward in lesson.backwards
        for other in trains[backward] - {lesson.optimizer}
    )
