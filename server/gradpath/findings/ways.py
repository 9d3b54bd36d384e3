"""The ways from the value of a parameter to the losses that are back-propagated, and where they are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set

from gradpath.autograd.aliases import memory_of
from gradpath.autograd.gradients import is_step_function
from gradpath.autograd.shapes import is_differentiable
from gradpath.autograd.tensor import Creation, Tensor
from gradpath.findings.cuts import COPY, DRAW, STEP, WITHHELD, Cause, cause_of_tensor
from gradpath.findings.graphs import moves_any, reached_leaves
from gradpath.findings.stories import short_operation
from gradpath.interpreter.events import BackwardRan, Built, CutOff, Mixed, Mutated, Replaced, Site
from gradpath.interpreter.trace import Trace, once
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable
from gradpath.support.words import words

MOST_TENSORS = 20_000
"""Tensors that are looked at on the ways to all losses of a path; beyond that nothing is said of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Severed:
    """A cut on the way from the value of a parameter to a loss that is back-propagated."""

    cause: Cause
    site: Site
    ran: BackwardRan


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """All ways from the value of a parameter to the losses: the cuts on them in order, and whether they are `sure`.

    They are not if one without a cut contains a tensor that may or may not have a graph, or if there are more tensors
    than were examined.
    A cut after which the way is cut again, like that of a target, is left out if there are others.
    """

    cuts: tuple[Severed, ...]
    sure: bool


def ways_of(trace: Trace, tensor: Tensor) -> Ways:
    """The ways from the value of a parameter to all losses that are back-propagated."""
    return _ways(trace, _dependents(trace), tensor)


def ways_by_copies(trace: Trace, tensor: Tensor) -> Ways:
    """The same, with the ways through deep copies of models: what is made of a copy gives the original no gradient."""
    return _ways(trace, _dependents_by_copies(trace), tensor)


def ways_in(trace: Trace, run: BackwardRan) -> Callable[[Tensor], Ways | None]:
    """For parameters: the ways from their values to what one backward began at; None where that does not depend on it.

    The walk from there is done once, when this is called.
    """
    dependents = _Dependents(trace)
    dependents.follow(run.call.roots, run)

    def ways(parameter: Tensor) -> Ways | None:
        return _ways(trace, dependents, parameter) if id(parameter) in dependents.of else None

    return ways


def ways_to(
    trace: Trace, value: Tensor, run: BackwardRan, *, picked: bool = False, wanted: Set[int] | None = None
) -> Iterator[tuple[Tensor, Ways]]:
    """The parameters to which a backward gave a gradient and on which a value depends, and the ways to that value.

    Of these only the `wanted` ones, if some are. A value that is used as an index or a label only makes a way only if
    it was `picked` and there is no other: no gradient could come back through it.
    """
    dependents = _dependents_of(trace, value, run)
    for leaf in reached_leaves(run):
        if id(leaf) in dependents.of and (wanted is None or id(leaf) in wanted):
            ways = _ways(trace, dependents, leaf)
            zeros = value.node is not None and not moves_any(value.node)
            cuts = tuple(each for each in ways.cuts if zeros or each.cause.how != STEP)
            smooth = tuple(each for each in cuts if dependents.is_smooth(each.cause.tensor, value))
            yield leaf, Ways(smooth or (cuts if picked else ()), ways.sure)


@dataclass(frozen=True, slots=True, eq=False)
class _Dependent:
    """A tensor whose value was computed from another one's, and by which cut, where it took the value alone."""

    tensor: Tensor
    taken: Cause | None
    ran: BackwardRan


class _Dependents:
    """For each tensor that some values depend on what was computed from it on the way to them."""

    def __init__(self, trace: Trace, *, copies: bool = False) -> None:
        self.of: dict[int, list[_Dependent]] = {}
        self._copies = copies
        self.complete = True
        self._ends: set[int] = set()
        self._live: set[int] | None = None
        self._seen: dict[int, int] = {}
        self._known: set[tuple[int, int, int]] = set()
        self._times = _times_of_events(trace)
        self._more = _besides(trace)
        self._saved = _saved(trace)

    def follow(self, values: Iterable[Tensor], run: BackwardRan) -> None:
        """Walk from values to all that they were computed from, as it was when it was read."""
        todo = [(self._times.of_event(run), each) for each in values]
        self._ends.update(id(each) for _, each in todo)
        while todo and self.complete:
            read, tensor = todo.pop()
            if self._seen.get(id(tensor), -1) >= read:
                continue
            self._seen[id(tensor)] = read
            self.complete = len(self._seen) <= MOST_TENSORS
            made = min(read, self._times.of_tensor(tensor, read))
            written = [each for each in self._more.get(id(tensor), ()) if each.time < read]
            sources = [(each.time, each.source, each.taken) for each in written]
            sources += ((made, source, taken) for source, taken in _sources(tensor))
            if tensor.operation == "gradient" and tensor.node is None:
                cause = Cause("gradient", tensor.origin, tensor)
                sources += ((made, source, cause) for source in self._saved.get(tensor.origin, ()))
            if self._copies and tensor.copied is not None and isinstance(tensor.origin, Site):
                sources.append((made, tensor.copied, Cause(COPY, tensor.origin, tensor)))
            for time, source, taken in sources:
                key = (id(source), id(tensor), id(taken))
                if key not in self._known:
                    self._known.add(key)
                    self.of.setdefault(id(source), []).append(_Dependent(tensor, taken, run))
                todo.append((time, source))

    def runs_on(self, start: Tensor) -> bool:
        """True if nothing cuts the way on from a tensor to what was asked for."""
        if self._live is None:
            self._live = self._reaching()
        return id(start) in self._live

    def _reaching(self) -> set[int]:
        """The tensors from which a way without a cut leads to what was asked for."""
        onto: dict[int, list[int]] = {}
        for source, dependents in self.of.items():
            for each in dependents:
                if (each.taken or _cut_at(each.tensor) or _zeros_at(each.tensor)) is None:
                    onto.setdefault(id(each.tensor), []).append(source)
        return set(reachable(self._ends, lambda end: onto.get(end, ())))

    def is_smooth(self, start: Tensor, end: Tensor) -> bool:
        """True if a value reaches another through floating point only."""

        def smooth(tensor: Tensor) -> list[Tensor]:
            onward = (each.tensor for each in self.of.get(id(tensor), ()))
            return [each for each in onward if is_differentiable(each.dtype) is not False]

        return is_differentiable(start.dtype) is not False and any(each is end for each in reachable([start], smooth))


@once
def _dependents(trace: Trace) -> _Dependents:
    """Walk from the losses to all that their values were computed from, with a graph or without."""
    return _walked(trace, _Dependents(trace))


@once
def _dependents_of(trace: Trace, value: Tensor, run: BackwardRan) -> _Dependents:
    """Walk from one value in the losses of a backward."""
    found = _Dependents(trace)
    found.follow([value], run)
    return found


@once
def _dependents_by_copies(trace: Trace) -> _Dependents:
    return _walked(trace, _Dependents(trace, copies=True))


def _walked(trace: Trace, found: _Dependents) -> _Dependents:
    """Walk from what is back-propagated, and then from gradients that are asked for on the way."""
    for run in sorted(trace.of(BackwardRan), key=lambda each: not each.call.accumulates):
        found.follow(run.call.roots, run)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """A value written into a tensor after it was made: when, and by which cut if only the value was taken."""

    time: int
    source: Tensor
    taken: Cause | None


@once
def _saved(trace: Trace) -> dict[object, list[Tensor]]:
    """What the gradients were computed from, beside others, that were asked for without a graph, by the places."""
    asked = (run for run in trace.of(BackwardRan) if not run.call.accumulates and not run.call.create_graph)
    return {run.site: [each.tensor for node in run.executed for each in node.saved] for run in asked}


@once
def _besides(trace: Trace) -> dict[int, list[_Written]]:
    """The values written into tensors in place, by numbers, by assignments to `data`: in the order of the events."""
    found: dict[int, list[_Written]] = {}

    def got(time: int, tensor: Tensor | None, source: Tensor, taken: Cause | None = None) -> None:
        if tensor is not None:
            found.setdefault(id(tensor), []).append(_Written(time, source, taken))

    for time, event in enumerate(trace.events):
        for weight, value, cause in _copied_into_weights(event):
            got(time, weight.member_of or weight, value, cause)
        match event:
            case Built():
                for output in event.node.outputs:
                    inputs = event.operands
                    if len(inputs) > len(output.maker):
                        for each in inputs:
                            if each is not output:
                                got(time, output, each)
            case Mutated() if not event.tensor.is_parameter:
                for each in event.sources:
                    taken = Cause("no_grad", event.site, event.tensor) if each.requires_grad else None
                    got(time, event.tensor, each, taken)
                    got(time, event.tensor.base, each, taken)
            case Mixed():
                read = event.read
                got(time, event.tensor, read.tensor, Cause(read.how, read.site, read.tensor, read.how))
            case Replaced(source=Tensor() as source):
                got(time, event.tensor, source, Cause("data", event.site, event.tensor))
    return found


def _copied_into_weights(event: object) -> Iterator[tuple[Tensor, Tensor, Cause]]:
    """The values with a graph that `weight.data.copy_(value)`, or the same under `no_grad`, leaves in a parameter.

    What another parameter is has no graph: a network that follows another one.
    """
    match event:
        case Built(node=node, site=site) if short_operation(node.name) == "copy_" and node.outputs:
            written, values = node.outputs[0], event.operands
        case Mutated(tensor=written, sources=values, site=site) if short_operation(event.write.operation) == "copy_":
            pass
        case _:
            return
    weight = memory_of(written)
    for value in values if weight.is_parameter else ():
        if value is not written and value is not weight and value.requires_grad and not value.is_parameter:
            yield weight, value, Cause("data", site, written)


class _Times:
    """When things happened on a path: the places of the events in it."""

    def __init__(self, trace: Trace) -> None:
        self._events = {id(event): time for time, event in enumerate(trace.events)}
        self._nodes = {id(event.node): self._events[id(event)] for event in trace.of(Built)}

    def of_event(self, event: BackwardRan) -> int:
        """When an event of the path happened."""
        return self._events[id(event)]

    def of_tensor(self, tensor: Tensor, otherwise: int) -> int:
        """When a tensor got its node; where it has none, it may have been made at any time."""
        return otherwise if tensor.node is None else self._nodes.get(id(tensor.node), otherwise)


@once
def _times_of_events(trace: Trace) -> _Times:
    return _Times(trace)


def _sources(tensor: Tensor) -> Iterator[tuple[Tensor, Cause | None]]:
    """The inputs of a tensor's value; a parameter has none, unless it was made from a live value.

    One of a model that is not seen is what represents all of its parameters.
    """
    if tensor.member_of is not None:
        yield tensor.member_of, None
    cut = tensor.cut
    shaped = _is_shaped_like(tensor)
    if (shaped and tensor.base is None) or (tensor.is_parameter and not _is_rewrapped(tensor)):
        return
    for source in tensor.maker:
        yield source, _withheld(tensor, source)
    if (
        cut is not None
        and not shaped
        and cut.source is not None
        and all(each is not cut.source for each in tensor.maker)
    ):
        yield cut.source, None


def _withheld(tensor: Tensor, source: Tensor) -> Cause | None:
    """Why no gradient runs from a result of a custom Function to one of its inputs: `backward` returned None for it."""
    node = tensor.node
    if node is None or not node.withheld:
        return None
    edge = source.node or source.accumulator
    places = [index for index, each in enumerate(node.edges) if each is edge]
    if not places or any(each not in node.withheld for each in places):
        return None
    return Cause(WITHHELD, node.withheld[places[0]], tensor, node.name)


def _is_shaped_like(tensor: Tensor) -> bool:
    """True if a tensor has only the shape of another, as `zeros_like(x)` has, or is a view of such a one.

    Whether numbers are numbers is no value that could be learned, either.
    """
    return (tensor.cut is not None and tensor.cut.how == "like") or short_operation(tensor.operation) in _VALIDITY


_VALIDITY = words("isfinite isinf isnan isneginf isposinf")


def _is_rewrapped(parameter: Tensor) -> bool:
    """True if a parameter was made from what others were computed to: `nn.Parameter(self.weight * self.mask)`."""
    cut = parameter.cut
    return cut is not None and cut.source is not None and cut.source.node is not None


def _ways(trace: Trace, dependents: _Dependents, parameter: Tensor) -> Ways:
    """Walk from a parameter along what has a graph, up to where the graph ends."""
    cuts: dict[int, Severed] = {}
    alone: set[int] = set()
    sure = dependents.complete
    todo, seen = [parameter], {id(parameter)}
    while todo:
        source = todo.pop()
        for each in dependents.of.get(id(source), ()):
            tensor = each.tensor
            cause = each.taken or _cut_at(tensor)
            if cause is not None and cause.site is not None:
                cuts.setdefault(id(cause.site), Severed(cause, cause.site, each.ran))
                if dependents.runs_on(tensor):
                    alone.add(id(cause.site))
            elif cause is not None:
                sure = False
            elif (tensor.requires_grad or tensor.is_open) and id(tensor) not in seen:
                if tensor.is_open and not tensor.aliasing_unsure and dependents.runs_on(tensor):
                    sure = False  # Of a tensor that was moved it is open only whether it is a copy.
                zeros = _zeros_at(tensor)
                if zeros is not None and zeros.site is not None:
                    cuts.setdefault(id(zeros.site), Severed(zeros, zeros.site, each.ran))
                    if dependents.runs_on(tensor):
                        alone.add(id(zeros.site))
                seen.add(id(tensor))
                todo.append(tensor)
    times = _times(trace)
    counted = [each for key, each in cuts.items() if key in alone or not alone]
    ordered = sorted(counted, key=lambda each: times.get(id(each.cause.tensor), len(times)))
    return Ways(tuple(ordered), sure)


@once
def _times(trace: Trace) -> dict[int, int]:
    """When tensors were cut off, by their identity."""
    return {id(event.tensor): number for number, event in enumerate(trace.of(CutOff))}


def _zeros_at(tensor: Tensor) -> Cause | None:
    """Why all that runs through a tensor to what it was computed from is zeros, where that is so."""
    node = tensor.node
    if node is None or not is_step_function(node):
        return None
    return Cause(DRAW if node.function == "torch.normal" else STEP, node.site, tensor, node.name)


def _cut_at(tensor: Tensor) -> Cause | None:
    """Why no gradient runs through a tensor to what it was computed from, where that is so; the place may be None."""
    if tensor.cut is not None and not _is_shaped_like(tensor) and not (tensor.node is not None and tensor.node.edges):
        return cause_of_tensor(tensor)
    if tensor.creation in (Creation.NO_GRAD, Creation.INFERENCE):
        return Cause("no_grad", tensor.origin, tensor)
    return None
