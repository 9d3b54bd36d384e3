"""The lessons of a path, in terms of places in the text, so that a program can be compared with itself after a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.findings.graphs import leaves, moved_leaves, nodes_of
from gradpath.findings.stories import short_operation
from gradpath.findings.value_numbers import ValueNumbers
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import (
    BackwardRan,
    Built,
    Cleared,
    Failed,
    Flagged,
    Mutated,
    Replaced,
    Site,
    Stepped,
    Trace,
)
from gradpath.repairs import Cost
from gradpath.support.fast_dataclasses import dataclass, field, replace

Place = tuple[str, int]
"""A file and a line in it."""

Parameter = tuple[str, int, int]
"""Where a parameter was made, and which of those that were made there it is."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A backward: the parameters that it gave gradients to, and those of the steps that came next, if any did."""

    place: Place
    given: frozenset[Parameter]
    stepped: frozenset[Parameter] | None = None


_UNDOING = frozenset({"div", "true_divide", "sub", "rsub"})
"""Operations that give a constant of a value and itself."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The gradient of one parameter at one step: the backwards that it is the sum of, and the values."""

    optimizer: int
    parameter: Parameter
    backwards: frozenset[Place]
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Taught:
    """The lessons of a path in order, and the parameters that got a gradient by any backward.

    `owned` are the parameters of each optimizer that stepped. `constant` counts where a value is divided by itself, or
    taken from itself. `left` are the gradients that no step has used, and `reached` the parameters of each backward.
    Where one has `failed`, `aims` are the parameters that it was on its way to. `stale` are the backwards that went
    through what was computed from parameters before these were updated. `terms` has the numbers of the terms of what
    each backward went back from, by the place and in order, that of the backward that `failed` included.
    `frozen` are the parameters that the program froze and that learnt nothing, `thawed` those that it set free, with
    the place of that. `recorded` are the places that added to a graph.
    """

    lessons: tuple[Lesson, ...]
    given: frozenset[Parameter]
    owned: Mapping[int, frozenset[Parameter]]
    constant: Mapping[Place, int]
    left: frozenset[tuple[Parameter, tuple[int, ...]]] = frozenset()
    failed: Place | None = None
    aims: frozenset[Parameter] = frozenset()
    reached: tuple[Reach, ...] = ()
    stale: frozenset[Place] = frozenset()
    terms: Mapping[Place, Sequence[frozenset[int]]] = field(default_factory=dict)
    frozen: frozenset[Parameter] = frozenset()
    thawed: Mapping[Parameter, Place] = field(default_factory=dict)
    recorded: frozenset[Place] = frozenset()


def taught(trace: Trace) -> Taught:
    """The lessons of a path."""
    account = _Account()
    for event in trace.events:
        account.follow(event)
    return account.closed()


class _Account:
    """The lessons of a path so far."""

    def __init__(self) -> None:
        self._names = _Names()
        self._numbers = ValueNumbers()
        self._places: dict[int, set[Place]] = {}
        self._values: dict[int, list[int]] = {}
        self._leaves: dict[int, Tensor] = {}
        self._given: set[Parameter] = set()
        self._lessons: list[Lesson] = []
        self._owned: dict[int, frozenset[Parameter]] = {}
        self._optimizers: dict[int, int] = {}
        self._reached: list[Reach] = []
        self._waiting, self._stepped = 0, False
        self._failure: Failed | None = None
        self._age = _Age()
        self._lasting = ValueNumbers(lasting=True)
        self._terms: dict[Place, list[frozenset[int]]] = {}
        self._constant = Counter[Place]()
        self._frozen: set[Parameter] = set()
        self._thawed: dict[Parameter, Place] = {}
        self._recorded: set[Place] = set()

    def follow(self, event: object) -> None:
        """Take note of an event, in the order of the trace."""
        if isinstance(event, Built):
            self._recorded.add(_place(event.site))
        match event:
            case BackwardRan():
                self._learn(event)
            case Cleared():
                for tensor in event.tensors:
                    self._places.pop(id(tensor), None)
                    self._values.pop(id(tensor), None)
            case Stepped():
                self._step(event)
            case Given():
                for tensor in event.parameters:  # In this order, whatever comes to be computed first.
                    self._names.of(tensor)
                    self._numbers.of(tensor)
                    self._lasting.of(tensor)
            case Flagged(value=False):
                self._frozen.add(self._names.of(event.tensor))
            case Flagged():
                self._thawed[self._names.of(event.tensor)] = _place(event.site)
            case Built() if self._is_undone(event):
                self._constant[_place(event.site)] += 1
            case Failed(caught=False):
                self._failure = event
        self._numbers.follow(event)
        self._lasting.follow(event)
        self._age.follow(event)

    def _is_undone(self, event: Built) -> bool:
        """True if an operation gives a constant, since its operands have one value and both have a graph."""
        operands = event.operands
        if len(operands) != 2 or short_operation(event.node.name).rstrip("_") not in _UNDOING:
            return False
        one, other = operands
        if not (one.requires_grad and other.requires_grad):
            return False
        return one is other or self._numbers.of(one) == self._numbers.of(other)

    def _go_back(self, call: BackwardCall) -> None:
        if isinstance(call.site, Site):
            starts = call.starts or nodes_of(call.roots)
            self._terms.setdefault(_place(call.site), []).append(self._lasting.terms(starts))

    def _learn(self, event: BackwardRan) -> None:
        self._go_back(event.call)
        place, come = _place(event.site), self._numbers.gradients(event.call, event.executed)
        moved = moved_leaves(event)
        for leaf in moved:
            self._leaves[id(leaf)] = leaf
            self._places.setdefault(id(leaf), set()).add(place)
            self._given.add(self._names.of(leaf))
            self._values.setdefault(id(leaf), []).append(
                come.get(leaf.accumulator, 0) if leaf.accumulator is not None else 0
            )
        if self._stepped:
            self._waiting, self._stepped = len(self._reached), False
        if event.call.accumulates:
            self._reached.append(Reach(place, frozenset(map(self._names.of, moved))))

    def _step(self, event: Stepped) -> None:
        number = self._optimizers.setdefault(id(event.optimizer), len(self._optimizers))
        owned = frozenset(map(self._names.of, (*event.parameters, *event.unseen, *event.updated)))
        self._owned[number] = owned
        for index in range(self._waiting, len(self._reached)):
            reach = self._reached[index]
            self._reached[index] = replace(reach, stepped=owned | (reach.stepped or frozenset()))
        self._stepped = True
        for tensor in dict.fromkeys(event.updated):
            backwards, values = self._places.get(id(tensor), ()), self._values.get(id(tensor), ())
            self._lessons.append(Lesson(number, self._names.of(tensor), frozenset(backwards), tuple(values)))

    def closed(self) -> Taught:
        """All of it, when the path has ended."""
        of = self._names.of
        call = self._failure.error.call if self._failure is not None and self._failure.error is not None else None
        roots = call.roots if call is not None and call.accumulates else ()
        if call is not None:
            self._go_back(call)
        return Taught(
            tuple(self._lessons),
            frozenset(self._given),
            self._owned,
            self._constant,
            frozenset((of(self._leaves[leaf]), tuple(found)) for leaf, found in self._values.items()),
            None if self._failure is None else _place(self._failure.site),
            frozenset(map(of, leaves(nodes_of(roots)))),
            tuple(self._reached),
            frozenset(self._age.stale),
            self._terms,
            frozenset(self._frozen - self._given),
            self._thawed,
            frozenset(self._recorded),
        )


class _Age:
    """When nodes were built and parameters got their values, by the number of the event."""

    def __init__(self) -> None:
        self.stale: set[Place] = set()
        self._now = 0
        self._graded: dict[int, None] = {}
        """The parameters that have a gradient: a step whose parameters are not seen changes no others."""
        self._built: dict[Node, int] = {}
        self._written: dict[int, int] = {}
        self._waiting: dict[int, Place] = {}
        """The backwards that have given parameters a gradient for what they were before, until that is used."""
        self._last: Mutated | None = None

    def follow(self, event: object) -> None:
        """Take note of an event, in the order of the trace."""
        self._now += 1
        last, self._last = self._last, None
        if last is not None and not (isinstance(event, Built) and event.site.node is last.site.node):
            self._write(last.tensor)  # No update is what an operation does to its own argument.
        match event:
            case Built(node=node):
                self._built[node] = self._now
            case Mutated():
                self._last = event
            case Replaced(tensor=tensor):
                self._write(tensor)
            case Stepped(updated=updated):
                for tensor in updated:
                    self._write(tensor)
                if not updated:
                    self._written |= dict.fromkeys(self._graded, self._now)
                    self.stale |= {*self._waiting.values()}
            case Cleared(tensors=tensors):
                for tensor in tensors:
                    for key in _keys(tensor):
                        self._waiting.pop(key, None)
                        self._graded.pop(key, None)
            case BackwardRan(executed=executed):
                moved = moved_leaves(event) if event.call.accumulates else []
                self._graded |= dict.fromkeys(key for leaf in moved for key in _keys(leaf))
                found = (leaf for node in executed for leaf in self._outdated(node))
                self._waiting |= {key: _place(event.site) for leaf in found for key in _keys(leaf)}

    def _write(self, tensor: Tensor) -> None:
        for key in _keys(tensor):
            self._written[key] = self._now
            self.stale |= {self._waiting.pop(key)} if key in self._waiting else set()

    def _outdated(self, node: Node) -> list[Tensor]:
        """The parameters that a node was computed from that have another value by now."""
        used = [edge.accumulates for edge in node.edges if edge.accumulates is not None]
        built = self._built.get(node, self._now)
        return [leaf for leaf in used if built < max(self._written.get(k, 0) for k in _keys(leaf))]


def _keys(tensor: Tensor) -> tuple[int, int]:
    """A parameter by itself and by its memory, which is written under other names, too."""
    return id(tensor), id(tensor.storage)


class _Names:
    """The names of parameters, the same for each run of the same text."""

    def __init__(self) -> None:
        self._known: dict[int, Parameter] = {}
        self._made: Counter[Place] = Counter()

    def of(self, tensor: Tensor) -> Parameter:
        if id(tensor) not in self._known:
            place = _place(tensor.origin) if isinstance(tensor.origin, Site) else ("", 0)
            self._known[id(tensor)] = (*place, self._made[place])
            self._made[place] += 1
        return self._known[id(tensor)]


def _place(site: Site) -> Place:
    return site.path, site.line


def costs(before: Taught, after: Taught, lines: Mapping[int, int], path: str) -> set[Cost]:
    """The changes in the lessons of a path that a fix makes besides the intended ones.

    `lines` of the file `path` stay, and are others after the fix; changed lines are not compared.
    """
    found: set[Cost] = set()
    stepped = frozenset[Parameter]().union(*after.owned.values())
    kept = {_moved(each, lines, path) for each in before.given} - after.frozen
    if any(each in stepped and each not in after.given for each in kept):
        found.add(Cost.UNTAUGHT)
    if _is_mixed(after) and not _is_mixed(before):
        found.add(Cost.MIXED)
    if len(after.stale) > len(before.stale):
        found.add(Cost.STALE)
    return found


def makes_constant(before: Taught, after: Taught, lines: Mapping[int, int], path: str) -> bool:
    """True if a value is divided by itself, or taken from itself, more often than before a fix, and more than once.

    `lines` as in `costs`. In its first iteration a program may compare a value with itself.
    """
    known = {_moved((*place, 0), lines, path): times for place, times in before.constant.items()}
    return any(times > max(known.get((*place, 0), 0), 1) for place, times in after.constant.items())


def is_kept(before: Taught, after: Taught, lines: Mapping[int, int], path: str) -> bool:
    """True if a fix keeps what ran, value by value and gradient by gradient.

    `lines` as in `costs`. Gradients that are zero, since a value was compared with itself, need not be kept.
    """
    known = [(each.optimizer, _moved(each.parameter, lines, path), each.values) for each in before.lessons]
    new = [(each.optimizer, each.parameter, each.values) for each in after.lessons]
    if before.failed is not None:
        if len(new) < len(known) or before.constant:
            return len(new) >= len(known)
        if new:
            return all(map(_is_alike, known, new))
        left = {_moved(parameter, lines, path): values for parameter, values in before.left}
        longer = ((left.get(each, ()), values) for each, values in after.left)
        return all(values[: len(old)] == old for old, values in longer if len(values) > len(old))
    sums = {(optimizer, parameter, len(values)) for optimizer, parameter, values in known}
    return sums == {(optimizer, parameter, len(values)) for optimizer, parameter, values in new} and (
        {_moved(parameter, lines, path) for parameter, _ in before.left} == {each for each, _ in after.left}
    )  # How often its loops are run may differ.


def still_learns(
    before: Taught, after: Taught, lines: Mapping[int, int], path: str, *, truncated: bool = False
) -> bool:
    """True if all parameters that learnt still do, and those that the loss which failed was to train do as well.

    `lines` as in `costs`. That loss is still computed from the same values. Where its history is `truncated`, it need
    not train what only that was computed from.
    """
    if before.failed is None:
        lost = {_moved(each, lines, path) for each in before.given} - after.given - after.frozen
        return all(each is None or each[:2] in after.recorded for each in lost)  # What was a leaf by force, is none.
    frozen, kept = {_moved(each, lines, path) for each in before.frozen}, {*lines.values()}
    free = {each for each, (file, line) in after.thawed.items() if file != path or line in kept}
    if frozen and frozen <= after.given - free:
        return False  # All that the program keeps out is let in.
    if after.constant or _has_other_terms(before, after, lines, path) or len(after.lessons) < len(before.lessons):
        return False
    if _steps_on_others(before, after, lines, path) or _waits_in_vain(after):
        return False
    wanted = [*before.reached, *([] if truncated and before.reached else [Reach(before.failed, _aims(before))])]
    return not any(_is_lost(each, after, index, lines, path) for index, each in enumerate(wanted))


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


def _steps_on_others(before: Taught, after: Taught, lines: Mapping[int, int], path: str) -> bool:
    """True if an optimizer no longer steps on the gradients of any backward that it stepped on, which is still run."""
    for optimizer in before.owned:
        old = {_moved((*place, 0), lines, path) for place in _backwards(before, optimizer)}
        now, run = _backwards(after, optimizer), {each.place for each in after.reached}
        kept = {place[:2] for place in old if place is not None}
        if kept and kept <= run and not kept & now:
            return True
    return False


def _backwards(taught: Taught, optimizer: int) -> set[Place]:
    """The backwards of which the gradients came to the steps of an optimizer."""
    return {place for each in taught.lessons if each.optimizer == optimizer for place in each.backwards}


def _waits_in_vain(after: Taught) -> bool:
    """True if no step of a path that ran to its end found any of the gradients of its parameters."""
    owned = frozenset[Parameter]().union(*after.owned.values())
    return after.failed is None and not after.lessons and not owned.isdisjoint(after.given)


def _has_other_terms(before: Taught, after: Taught, lines: Mapping[int, int], path: str) -> bool:
    """True if the backward that failed goes back from a term after the fix that no backward had before.

    A question for gradients may be asked of what is computed in another way, and so may a loss all of whose terms are
    those of an earlier one: a list that was not emptied.
    """
    if before.failed is None or not before.aims:
        return False
    place = _moved((*before.failed, 0), lines, path)
    terms, now = before.terms.get(before.failed, ()), after.terms.get(place[:2], ()) if place is not None else ()
    known = frozenset[int]().union(*(each for found in before.terms.values() for each in found))
    fresh = bool(terms) and not terms[-1] <= frozenset[int]().union(*terms[:-1])
    return fresh and len(terms) <= len(now) and not now[len(terms) - 1] <= known


def _is_lost(wanted: Reach, after: Taught, index: int, lines: Mapping[int, int], path: str) -> bool:
    """True if a backward no longer comes to a parameter that the next steps update, as it did or was to do."""
    if not after.reached:
        return False
    reach = after.reached[min(index, len(after.reached) - 1)]
    given, stepped = reach.given, reach.stepped
    kept = {*lines.values()}
    if any(file == path and line not in kept for file, line, _ in given):
        return False  # What the fix makes a leaf stands for another one.
    meant = wanted.given if wanted.stepped is None else wanted.given & wanted.stepped
    gone = {_moved(each, lines, path) for each in meant} - given
    lost = {each for each in gone if each is not None and (stepped is None or each in stepped)}
    return not lost <= (_taught_elsewhere(after, given & stepped) if stepped is not None else frozenset())


def _taught_elsewhere(after: Taught, given: frozenset[Parameter]) -> frozenset[Parameter]:
    """The parameters of optimizers that have losses of their own, if a backward has others that it is there for.

    These are the `given` ones that it gives gradients to and that the next step updates.
    """
    if not given:
        return frozenset()
    mine = frozenset[Parameter]().union(*(owned for owned in after.owned.values() if not owned.isdisjoint(given)))
    reached = frozenset[Parameter]().union(*(each.given for each in after.reached))
    return (reached & frozenset[Parameter]().union(*after.owned.values())) - mine


def _is_alike(
    one: tuple[int, Parameter | None, tuple[int, ...]], other: tuple[int, Parameter, tuple[int, ...]]
) -> bool:
    return one[1] is None or one == other


def _moved(parameter: Parameter, lines: Mapping[int, int], path: str) -> Parameter | None:
    file, line, number = parameter
    if file != path:
        return parameter
    return (file, lines[line], number) if line in lines else None


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
