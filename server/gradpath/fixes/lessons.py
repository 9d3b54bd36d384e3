"""The lessons of a path, in terms of places in the text, so that a program can be compared with itself after a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.findings.gradient_flow import updated_by_hand
from gradpath.findings.graphs import leaves, moved_leaves, nodes_of
from gradpath.findings.stories import short_operation
from gradpath.findings.value_numbers import ValueNumbers
from gradpath.interpreter.events import BackwardRan, Built, Cleared, Failed, Flagged, Mutated, Replaced, Site, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass, field, replace

Place = tuple[str, int]
"""A file and a line in it."""

Parameter = tuple[str, int, int]
"""Where a parameter was made, and which of those that were made there it is."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A backward: the parameters that it gave gradients to, and those of the steps that came next, if any did.

    The gradients of those that were `cleared` before their next step were of no use.
    """

    place: Place
    given: frozenset[Parameter]
    stepped: frozenset[Parameter] | None = None
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
    account = _Account(trace)
    for event in trace.events:
        account.follow(event)
    return account.closed()


class _Account:
    """The lessons of a path so far."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
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
        self._cleared: dict[Parameter, int] = {}
        self._age = _Age()
        self._lasting = ValueNumbers(lasting=True)
        self._terms: dict[Place, list[frozenset[int]]] = {}
        self._constant = Counter[Place]()

    def follow(self, event: object) -> None:
        """Take note of an event, in the order of the trace."""
        match event:
            case BackwardRan():
                self._learn(event)
            case Cleared():
                for tensor in event.tensors:
                    self._places.pop(id(tensor), None)
                    self._values.pop(id(tensor), None)
                self._cleared |= {self._names.of(each): len(self._reached) for each in event.tensors}
            case Stepped():
                self._step(event.optimizer, event.held, event.updated)
            case Mutated() | Replaced():
                leaf = updated_by_hand(self._trace, event)
                if leaf is not None:
                    self._step(leaf, (leaf,), (leaf,))
            case Given():
                for tensor in event.parameters:  # In this order, whatever comes to be computed first.
                    self._names.of(tensor)
                    self._numbers.of(tensor)
                    self._lasting.of(tensor)
            case Flagged():
                self._names.of(event.tensor)
            case Built() if self._is_undone(event):
                self._constant[_place(event.site)] += 1
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

    def _step(self, optimizer: object, held: Iterable[Tensor], updated: Iterable[Tensor]) -> None:
        number = self._optimizers.setdefault(id(optimizer), len(self._optimizers))
        owned = frozenset(map(self._names.of, held))
        self._owned[number] = owned
        for index in range(self._waiting, len(self._reached)):
            reach = self._reached[index]
            unused = frozenset(each for each in owned if self._cleared.get(each, 0) > index)
            stepped = owned | (reach.stepped or frozenset())
            self._reached[index] = replace(reach, stepped=stepped, cleared=reach.cleared | unused)
        self._stepped = True
        for tensor in dict.fromkeys(updated):
            backwards, values = self._places.get(id(tensor), ()), self._values.get(id(tensor), ())
            self._lessons.append(Lesson(number, self._names.of(tensor), frozenset(backwards), tuple(values)))

    def closed(self) -> Taught:
        """All of it, when the path has ended."""
        of, flags = self._names.of, self._trace.of(Flagged)
        failure = next((each for each in reversed(self._trace.of(Failed)) if not each.caught), None)
        call = None if failure is None or failure.error is None else failure.error.call
        roots = call.roots if call is not None and call.accumulates else ()
        if call is not None:
            self._go_back(call)
        return Taught(
            tuple(self._lessons),
            frozenset(self._given),
            self._owned,
            self._constant,
            frozenset((of(self._leaves[leaf]), tuple(found)) for leaf, found in self._values.items()),
            None if failure is None else _place(failure.site),
            frozenset(map(of, leaves(roots))),
            tuple(self._reached),
            frozenset(self._age.stale),
            self._terms,
            frozenset(of(each.tensor) for each in flags if not each.value) - self._given,
            {of(each.tensor): _place(each.site) for each in flags if each.value},
            frozenset(_place(each.site) for each in self._trace.of(Built)),
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
                found = (leaf for node in _surely_run(event.call, executed) for leaf in self._outdated(node))
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


def _surely_run(call: BackwardCall, executed: Sequence[Node]) -> list[Node]:
    """The nodes that a backward executed by a way on which no node may as well not be there."""
    sure = {id(node) for node in call.starts or nodes_of(call.roots)}
    found: list[Node] = []
    for node in executed:  # Each comes after all that lead to it.
        if id(node) in sure and not node.is_open:
            found.append(node)
            sure.update(id(edge) for edge in node.edges)
    return found


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
            place = _place(tensor.origin)
            self._known[id(tensor)] = (*place, self._made[place])
            self._made[place] += 1
        return self._known[id(tensor)]


def _place(site: Site) -> Place:
    return site.path, site.line
