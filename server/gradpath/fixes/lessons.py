"""What a path teaches which parameters, and what a fix changes of that: the lessons before it and after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.findings.gradient_flow import updated_by_hand
from gradpath.findings.graphs import leaves, moved_leaves, nodes_of
from gradpath.findings.stories import short_operation
from gradpath.findings.value_numbers import ValueNumbers
from gradpath.interpreter.events import BackwardRan, Built, Cleared, Failed, Flagged, Mutated, Replaced, Site, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Cost
from gradpath.support.fast_dataclasses import dataclass, field, replace

Place = tuple[str, int]
"""A file and a line in it."""

Parameter = tuple[str, int, int]
"""Where a parameter was made, and which of those that were made there it is."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A backward: the parameters that it gave gradients to, and those of the steps that came next, if any did.

    `terms` are the numbers of the terms of what it went back from, whatever parameters have learnt by then. The
    gradients of those that were `cleared` before their next step were of no use.
    """

    place: Place
    given: frozenset[Parameter]
    stepped: frozenset[Parameter] | None = None
    terms: frozenset[int] = frozenset()
    cleared: frozenset[Parameter] = frozenset()


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
    Where the path has `failed` in a backward, that is `failing`, with what it was on its way to. `stale` are the
    backwards that went through what was computed from parameters before these were updated. `frozen` are the parameters
    that the program froze and that learnt nothing, `thawed` those that it set free, with the place of that. `recorded`
    are the places that added to a graph. An optimizer that is `unseen` may own any parameter that no other one owns.
    """

    lessons: tuple[Lesson, ...]
    given: frozenset[Parameter]
    owned: Mapping[int, frozenset[Parameter]]
    constant: Mapping[Place, int]
    left: frozenset[tuple[Parameter, tuple[int, ...]]] = frozenset()
    failed: bool = False
    failing: Reach | None = None
    reached: tuple[Reach, ...] = ()
    stale: frozenset[Place] = frozenset()
    frozen: frozenset[Parameter] = frozenset()
    thawed: Mapping[Parameter, Place] = field(default_factory=dict)
    recorded: frozenset[Place] = frozenset()
    unseen: bool = False


def taught(trace: Trace) -> Taught:
    """The lessons of a path."""
    return _Account(trace).closed()


@dataclass(frozen=True, slots=True)
class _Gradient:
    """The gradient that a leaf has: its values, the backwards that it is the sum of, and which of these were `late`.

    Those went through what was computed from parameters that have changed since.
    """

    leaf: Tensor
    values: list[int] = field(default_factory=list)
    places: set[Place] = field(default_factory=set)
    late: set[Place] = field(default_factory=set)


class _Account:
    """The lessons of a path so far."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names: dict[int, Parameter] = {}
        self._made = Counter[Place]()
        self._numbers, self._lasting = ValueNumbers(), ValueNumbers(lasting=True)
        self._gradients: dict[int, _Gradient] = {}
        self._given: set[Parameter] = set()
        self._lessons: list[Lesson] = []
        self._owned: dict[int, frozenset[Parameter]] = {}
        self._optimizers: dict[int, int] = {}
        self._reached: list[Reach] = []
        self._cleared: dict[Parameter, int] = {}
        self._constant = Counter[Place]()
        self._stale: set[Place] = set()
        self._now, self._waiting, self._stepped = 0, 0, False
        self._last: Mutated | Replaced | None = None
        self._built: dict[Node, int] = {}
        self._written: dict[int, int] = {}

    def follow(self, event: object) -> None:
        """Take note of an event, in the order of the trace."""
        self._now += 1
        last, self._last = self._last, None
        if last is not None and not (isinstance(event, Built) and event.site.node is last.site.node):
            self._write([last.tensor])  # No update is what an operation does to its own argument.
        match event:
            case BackwardRan():
                self._learn(event)
            case Cleared():
                for tensor in event.tensors:
                    self._gradients.pop(id(tensor), None)
                    self._cleared[self._name(tensor)] = len(self._reached)
            case Stepped():
                self._step(event.optimizer, event.held, event.updated)
                self._write(event.updated or [each.leaf for each in self._gradients.values()])
            case Mutated() | Replaced():
                leaf = updated_by_hand(self._trace, event)
                if leaf is not None:
                    self._step(leaf, (leaf,), (leaf,))
                self._last = event
            case Given():
                for tensor in event.parameters:  # In this order, whatever comes to be computed first.
                    self._name(tensor)
                    self._numbers.of(tensor)
                    self._lasting.of(tensor)
            case Flagged():
                self._name(event.tensor)
            case Built():
                self._built[event.node] = self._now
                if self._is_undone(event):
                    self._constant[_place(event.site)] += 1
        self._numbers.follow(event)
        self._lasting.follow(event)

    def _name(self, tensor: Tensor) -> Parameter:
        """The name of a parameter, the same for each run of the same text."""
        if id(tensor) not in self._names:
            place = _place(tensor.origin)
            self._names[id(tensor)] = (*place, self._made[place])
            self._made[place] += 1
        return self._names[id(tensor)]

    def _is_undone(self, event: Built) -> bool:
        """True if an operation gives a constant, since its operands have one value and both have a graph."""
        operands = event.operands
        if len(operands) != 2 or short_operation(event.node.name).rstrip("_") not in _UNDOING:
            return False
        return all(each.requires_grad for each in operands) and len({*map(self._numbers.of, operands)}) == 1

    def _learn(self, event: BackwardRan) -> None:
        place, come = _place(event.site), self._numbers.gradients(event.call, event.executed)
        moved = moved_leaves(event)
        for leaf in moved:
            gradient = self._gradients.setdefault(id(leaf), _Gradient(leaf))
            gradient.places.add(place)
            gradient.values.append(come.get(leaf.accumulator, 0) if leaf.accumulator is not None else 0)
        self._given |= set(map(self._name, moved))
        if self._stepped:
            self._waiting, self._stepped = len(self._reached), False
        if event.call.accumulates:
            self._reached.append(self._reach(event.call, moved))
            for leaf in (leaf for node in _certainly_run(event.call, event.executed) for leaf in self._outdated(node)):
                if id(leaf) in self._gradients:
                    self._gradients[id(leaf)].late.add(place)

    def _reach(self, call: BackwardCall, given: Iterable[Tensor]) -> Reach:
        terms = self._lasting.terms(call.starts or nodes_of(call.roots))
        return Reach(_place(call.site), frozenset(map(self._name, given)), terms=terms)

    def _outdated(self, node: Node) -> list[Tensor]:
        """The parameters that a node was computed from that have another value by now."""
        used = [edge.accumulates for edge in node.edges if edge.accumulates is not None]
        built = self._built.get(node, self._now)
        return [leaf for leaf in used if built < self._written.get(id(leaf.storage), 0)]

    def _step(self, optimizer: object, held: Iterable[Tensor], updated: Iterable[Tensor]) -> None:
        number = self._optimizers.setdefault(id(optimizer), len(self._optimizers))
        owned = frozenset(map(self._name, held))
        self._owned[number] = owned
        for index in range(self._waiting, len(self._reached)):
            reach = self._reached[index]
            unused = reach.cleared.union(each for each in owned if self._cleared.get(each, 0) > index)
            self._reached[index] = replace(reach, stepped=owned | (reach.stepped or frozenset()), cleared=unused)
        self._stepped = True
        for tensor in dict.fromkeys(updated):
            had = self._gradients.get(id(tensor), _Gradient(tensor))
            self._lessons.append(Lesson(number, self._name(tensor), frozenset(had.places), tuple(had.values)))

    def _write(self, tensors: Iterable[Tensor]) -> None:
        """Parameters have other values from now on; a gradient of what they were before was used for that."""
        written = dict.fromkeys((id(each.storage) for each in tensors), self._now)
        self._written |= written
        for each in self._gradients.values():
            if id(each.leaf.storage) in written:
                self._stale |= each.late
                each.late.clear()

    def closed(self) -> Taught:
        """All of it, when the path has ended."""
        for event in self._trace.events:
            self.follow(event)
        of, flags = self._name, self._trace.of(Flagged)
        failure = next((each for each in reversed(self._trace.of(Failed)) if not each.caught), None)
        call = None if failure is None or failure.error is None else failure.error.call
        failing = self._reach(call, leaves(call.roots)) if call is not None and call.accumulates else None
        if failing is not None:  # What has stepped just now is not what it is there for.
            same = [each.stepped for each in self._reached if each.place == failing.place and each.stepped]
            last = self._reached[-1].stepped if self._reached else None
            given = failing.given & same[-1] if same else failing.given - (last or frozenset())
            failing = replace(failing, given=given or failing.given)
        return Taught(
            tuple(self._lessons),
            frozenset(self._given),
            self._owned,
            self._constant,
            frozenset((of(each.leaf), tuple(each.values)) for each in self._gradients.values()),
            failure is not None,
            failing,
            tuple(self._reached),
            frozenset(self._stale),
            frozenset(of(each.tensor) for each in flags if not each.value) - self._given,
            {of(each.tensor): _place(each.site) for each in flags if each.value},
            frozenset(_place(each.site) for each in self._trace.of(Built)),
            any(not each.known for each in self._trace.of(Stepped)),
        )


def _certainly_run(call: BackwardCall, executed: Sequence[Node]) -> list[Node]:
    """The nodes that a backward executed by a way on which no node may as well not be there."""
    sure = {id(node) for node in call.starts or nodes_of(call.roots)}
    found: list[Node] = []
    for node in executed:  # Each comes after all that lead to it.
        if id(node) in sure and not node.is_open:
            found.append(node)
            sure.update(id(edge) for edge in node.edges)
    return found


def _place(site: Site) -> Place:
    return site.path, site.line


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


def costs(change: Change) -> set[Cost]:
    """The changes that a fix makes besides the intended ones."""
    before, after = change.before, change.after
    stepped = frozenset[Parameter]().union(*after.owned.values())
    kept = set(map(change.moved, before.given)) - after.frozen
    untaught = any(each in stepped and each not in after.given for each in kept)
    mixed = _is_mixed(after) and not _is_mixed(before)
    found = {Cost.UNTAUGHT: untaught, Cost.MIXED: mixed, Cost.STALE: len(after.stale) > len(before.stale)}
    return {cost for cost, is_so in found.items() if is_so}


def makes_constant(change: Change) -> bool:
    """True if a value is divided by itself, or taken from itself, more often than before a fix, and more than once.

    In its first iteration a program may compare a value with itself.
    """
    known = {change.moved_place(place): times for place, times in change.before.constant.items()}
    return any(times > max(known.get(place, 0), 1) for place, times in change.after.constant.items())


def is_kept(change: Change) -> bool:
    """True if a fix keeps what ran, value by value and gradient by gradient."""
    before, after = change.before, change.after
    if before.failed and any(not lost <= reach.cleared for lost, reach in _losses(change)):
        return False  # A step no longer uses the gradient of a backward, though it would be there.
    known = [(each.optimizer, change.moved(each.parameter), each.values) for each in before.lessons]
    new = [(each.optimizer, each.parameter, each.values) for each in after.lessons]
    if before.failed and (new or known):
        pairs = zip(known, new, strict=False)
        return len(new) >= len(known) and all(one[1] is None or one == other for one, other in pairs)
    if before.failed:
        left = {change.moved(parameter): values for parameter, values in before.left}
        longer = ((left.get(each, ()), values) for each, values in after.left)
        return all(values[: len(old)] == old for old, values in longer if len(values) > len(old))
    same = {change.moved(parameter) for parameter, _ in before.left} == {each for each, _ in after.left}
    counts = [{(*each[:2], len(each[2])) for each in lessons} for lessons in (known, new)]
    return same and counts[0] == counts[1]  # How often its loops are run may differ.


def still_learns(change: Change, *, truncated: bool = False) -> bool:
    """True if all parameters that learnt still do, and those that the loss which failed was to train do as well.

    That loss is still computed from the same values. Where its history is `truncated`, it need not train what only
    that was computed from.
    """
    before, after = change.before, change.after
    if not before.failed:
        stepped = frozenset[Parameter]().union(*before.owned.values()) or before.given
        lost = set(map(change.moved, before.given & stepped)) - after.given - after.frozen
        return all(each is None or each[:2] in after.recorded for each in lost)  # What was a leaf by force, is none.
    frozen, kept = set(map(change.moved, before.frozen)), {*change.lines.values()}
    free = {each for each, (file, line) in after.thawed.items() if file != change.path or line in kept}
    if frozen and frozen <= after.given - free:
        return False  # All that the program keeps out is let in.
    failing = None if truncated or after.failed else before.failing
    meant = before.given if failing is None else before.given | failing.given
    unowned = meant.difference(*before.owned.values()) if before.unseen or after.unseen else frozenset()
    lost = set(map(change.moved, unowned)) - after.given - {None} if after.given else set()
    if after.constant or len(after.lessons) < len(before.lessons) or lost:
        return False
    owned = frozenset[Parameter]().union(*after.owned.values())
    if not after.failed and not after.lessons and not owned.isdisjoint(after.given):
        return False  # No step of a path that ran to its end found any of the gradients of its parameters.
    if any(not gone <= _taught_elsewhere(after, reach) for gone, reach in _losses(change, truncated=truncated)):
        return False
    return not (_steps_on_others(change) or _has_other_terms(change))


def _has_other_terms(change: Change) -> bool:
    """True if the backward that failed goes back from a term after the fix that no backward had before.

    A loss all of whose terms are those of an earlier one may: so does a list that was not emptied.
    """
    failing, reached = change.before.failing, change.before.reached
    if failing is None or not failing.given:
        return False
    old = [each.terms for each in reached if each.place == failing.place]
    new = [each.terms for each in change.after.reached if each.place == change.moved_place(failing.place)]
    fresh = len(new) > len(old) and not failing.terms <= frozenset[int]().union(*old)
    return fresh and not new[len(old)] <= failing.terms.union(*(each.terms for each in reached))


def _steps_on_others(change: Change) -> bool:
    """True if an optimizer no longer steps on the gradients of any backward that it stepped on, which is still run."""
    run = {each.place for each in change.after.reached}
    for optimizer in change.before.owned:
        known = {place for each in change.before.lessons if each.optimizer == optimizer for place in each.backwards}
        now = {place for each in change.after.lessons if each.optimizer == optimizer for place in each.backwards}
        kept = set(map(change.moved_place, known)) - {None}
        if kept and kept <= run and not kept & now:
            return True
    return False


def _losses(change: Change, *, truncated: bool = False) -> Iterator[tuple[set[Parameter], Reach]]:
    """What each backward no longer comes to of what the next steps update, as it did or was to do."""
    before, reached, kept = change.before, change.after.reached, {*change.lines.values()}
    cut = truncated and before.reached and reached and reached[min(len(before.reached), len(reached) - 1)].given
    failing = [] if before.failing is None or cut else [before.failing]
    for index, wanted in enumerate((*before.reached, *failing) if reached else ()):
        reach = reached[min(index, len(reached) - 1)]
        meant = wanted.given if wanted.stepped is None else wanted.given & wanted.stepped
        gone = [each for each in map(change.moved, meant) if each is not None]
        lost = {each for each in gone if each not in reach.given and (reach.stepped is None or each in reach.stepped)}
        made = any(file == change.path and line not in kept for file, line, _ in reach.given)
        yield set() if made else lost, reach  # What the fix makes a leaf stands for another one.


def _taught_elsewhere(after: Taught, reach: Reach) -> frozenset[Parameter]:
    """The parameters of optimizers that have losses of their own, if a backward is there for those of others."""
    mine = reach.given & (reach.stepped or frozenset())
    every = frozenset[Parameter]().union(*after.owned.values())
    own = frozenset[Parameter]().union(*(owned for owned in after.owned.values() if not owned.isdisjoint(mine)))
    return frozenset[Parameter]().union(*(each.given for each in after.reached)) & every - own if mine else mine


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
