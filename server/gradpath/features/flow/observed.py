"""The gradient flow of one path: the effect of each backward and each step on each parameter."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from gradpath.autograd.grounds import of_way
from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import PRESUMED, UNSEEN, Tensor
from gradpath.features.flow import Arrival, Cell, Reason, Use, Why
from gradpath.findings import cuts
from gradpath.findings.gradient_flow import is_harmless, updated_by_hand
from gradpath.findings.graphs import moved_leaves, reached_leaves
from gradpath.findings.learning import learners
from gradpath.findings.parameters import containers, holders
from gradpath.findings.report import Source
from gradpath.findings.stories import bindings, name_of, target_of
from gradpath.findings.syntax import statement_of
from gradpath.findings.unreached import Place, places_of
from gradpath.findings.ways import Severed, Ways, ways_in
from gradpath.interpreter.events import BackwardRan, Flagged, GradientSet, Lent, Mutated, Named, Replaced, Site, Stepped
from gradpath.interpreter.ownership import Attached, Given, Overlooked
from gradpath.interpreter.trace import Trace
from gradpath.interpreter.values import Unknown
from gradpath.support.fast_dataclasses import dataclass, field, replace

Key = tuple[ast.AST, ...]
"""The key of a call: its node and those of the calls that led there."""

MOST_CALLS = 60
"""The most backwards and steps of one path that are distinguished; the others are left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A parameter of a path, or what represents all those of an unseen model, as in `flow.Parameter`."""

    tensor: Tensor
    holder: str
    way: str
    bound: Named | None
    whole: bool
    names: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Its identity across paths."""
        return self.holder, self.way


@dataclass(slots=True, eq=False)
class Observed:
    """The parameters of a path by their keys, and the cells of each by the call; the calls in their order.

    `conditions` are what is presumed of the ways that gradients took.
    """

    known: dict[tuple[str, str], list[Known]] = field(default_factory=dict)
    backwards: dict[Key, Site] = field(default_factory=dict)
    steps: dict[Key, Site] = field(default_factory=dict)
    cells: dict[tuple[tuple[str, str], Key], list[Cell]] = field(default_factory=dict)
    reasons: dict[tuple[str, str], dict[Reason, dict[Key, None]]] = field(default_factory=dict)
    conditions: dict[str, None] = field(default_factory=dict)


def observe(trace: Trace, source: Source) -> Observed:
    """Read a path from its start to its end."""
    found = Observed()
    for each in _known(trace, source):
        found.known.setdefault(each.key, []).append(each)
    frozen = _Frozen(trace)
    zeros: set[int] = set()
    for event in trace.among(BackwardRan, Stepped, GradientSet, Mutated, Replaced, Flagged):
        match event:
            case Flagged():
                frozen.passes(event)
            case BackwardRan() if event.call.accumulates:
                _backward(trace, source, found, event, frozen)
                moved = set(map(id, moved_leaves(event)))
                zeros = (zeros | set(map(id, reached_leaves(event)))) - moved
            case GradientSet():
                zeros.discard(id(event.tensor))
            case Stepped():
                _step(found, event, zeros, sure=trace.is_complete)
            case Mutated() | Replaced():
                leaf = updated_by_hand(trace, event)
                if leaf is not None:
                    _by_hand(trace, found, event.site, leaf)
    _note_holding(trace, source, found)
    return found


def _known(trace: Trace, source: Source) -> Iterator[Known]:
    """The parameters of modules in the order in which those were made, then what else learns."""
    known = holders(trace, source)
    hidden = containers(trace, source)
    found: dict[int, Known] = {}
    names: dict[int, list[str]] = {}
    for holder in known:
        called = holder.names(source)
        for way, tensor in holder.tensors:
            names.setdefault(id(tensor), []).extend(f"{name}.{way}" for name in called)
            if holder.lasting or id(tensor) not in hidden:
                each = Known(tensor, holder.name, way, holder.named[0], holder.whole)
                found.setdefault(id(tensor), each)
    order = {id(event): number for number, event in enumerate(trace.of(Named))}
    for each in sorted(found.values(), key=lambda each: order[id(each.bound)]):
        yield replace(each, names=tuple(names[id(each.tensor)]))
    for number, tensor in enumerate(_others(trace)):
        if id(tensor) not in found:
            if id(tensor) in hidden:
                yield Known(tensor, hidden[id(tensor)], str(number), None, True)
            elif name := _name(trace, source, tensor):
                yield Known(tensor, name, "", None, True)


def _others(trace: Trace) -> list[Tensor]:
    """The tensors that learn, or could, in modules or not."""
    found = [each for event in trace.of(Overlooked) for each in event.tensors]
    for each in learners(trace).values():
        if each.stepped or any(run.call.accumulates for run in each.given):
            found.append(each.tensor)
    return list({id(each): each for each in found}.values())


def _name(trace: Trace, source: Source, tensor: Tensor) -> str:
    """The name of a tensor: the first that an assignment gave it."""
    own = [each for each in bindings(trace, tensor) if each.tensor is tensor]
    assigned = [each for each in own if isinstance(statement_of(trace, each.site.node), (ast.Assign, ast.AnnAssign))]
    return target_of(source, assigned[0]) if assigned else name_of(trace, source, tensor)


class _Frozen:
    """Which parameters require no gradient, as of the events that have passed."""

    def __init__(self, trace: Trace) -> None:
        self._flags: dict[int, bool] = {}
        self._where: dict[int, Site] = {}
        for event in trace.of(Flagged):
            self._flags.setdefault(id(event.tensor), not event.value)

    def passes(self, event: Flagged) -> None:
        self._flags[id(event.tensor)] = event.value
        self._where[id(event.tensor)] = event.site

    def holds(self, tensor: Tensor) -> bool:
        return not self._flags.get(id(tensor), tensor.flag)

    def reason(self, source: Source, tensor: Tensor) -> Reason:
        site = self._where.get(id(tensor))
        if site is None:
            return Reason(Why.FROZEN, "it requires no gradient")
        return _reason(source, Why.FROZEN, f"frozen on line {site.line}", site)


def _reason(source: Source, why: Why, words: str, site: Site) -> Reason:
    return Reason(why, words, site.path, site.line, source.document(site).line(site.line).strip())


def _key(site: Site) -> Key:
    return tuple(frame.node for frame in site.frames())


def _note(found: Observed, known: Known, key: Key, cell: Cell) -> None:
    found.cells.setdefault((known.key, key), []).append(cell)


def _blame(found: Observed, known: Known, reason: Reason, key: Key) -> None:
    found.reasons.setdefault(known.key, {}).setdefault(reason, {})[key] = None


def _backward(trace: Trace, source: Source, found: Observed, run: BackwardRan, frozen: _Frozen) -> None:
    key = _key(run.site)
    if not _is_room(found.backwards, key, run.site):
        return
    reached, moved = (set(map(id, leaves)) for leaves in (reached_leaves(run), moved_leaves(run)))
    presuming = any(node.onward is not None for node in run.executed)
    ways: list[Callable[[Tensor], Ways | None]] = []
    for same in found.known.values():
        cells: list[Cell] = []
        for each in same:
            tensor = each.tensor
            if id(tensor) in reached:
                edge = tensor.accumulator
                grounds = of_way(run.call.starts, edge) if presuming and edge is not None else ()
                grounds = grounds if run.call.presumed is None else (*grounds, run.call.presumed)
                found.conditions.update((each.condition, None) for each in grounds)
                state = Arrival.GRADIENT if id(tensor) in moved else Arrival.ZEROS
                cells.append(Cell(state, presumed=bool(grounds) or _is_presumed(tensor)))
            elif frozen.holds(tensor):
                cells.append(Cell(Arrival.FROZEN))
                _blame(found, each, frozen.reason(source, tensor), key)
            elif run.call.targets is not None and tensor.accumulator not in run.call.targets:
                cells.append(Cell(Arrival.NONE))
                words = f"it is not among the `inputs` of the backward on line {run.site.line}"
                _blame(found, each, _reason(source, Why.LEFT_OUT, words, run.site), key)
            else:
                ways = ways or [ways_in(trace, run)]
                state, severed = _missed(trace, run, tensor, ways[0](tensor))
                cells.append(Cell(state, presumed=state is Arrival.CUT and _is_presumed(tensor)))
                for place in places_of(trace, source, severed).values():
                    _blame(found, each, _of_cut(trace, source, place), key)
        _note(found, same[0], key, best(cells))


def _of_cut(trace: Trace, source: Source, place: Place) -> Reason:
    """The cut in words; of a block without gradients, what is computed there first of all."""
    cause = place.severed.cause
    here = replace(cause, site=place.site)
    cause = cause if cuts.switch_of(trace, source, here) is None else here
    return _reason(source, Why.CUT, cuts.verdict(trace, source, cause, place.site), place.site)


def _missed(trace: Trace, run: BackwardRan, tensor: Tensor, ways: Ways | None) -> tuple[Arrival, tuple[Severed, ...]]:
    """Why a backward gave a parameter nothing, and the cuts that are the reason."""
    if ways is not None:
        return (Arrival.CUT, ways.cuts) if ways.sure and ways.cuts else (Arrival.UNKNOWN, ())
    nodes_open = any(node.name == PRESUMED or node.is_open for node in run.executed)
    if not nodes_open and not any(root.is_open for root in run.call.roots):
        return Arrival.NONE, ()
    lent = any(not is_harmless(event) for event in trace.of(Lent))
    return (Arrival.UNKNOWN if lent or tensor.operation == UNSEEN else Arrival.NONE), ()


def _is_presumed(tensor: Tensor) -> bool:
    return tensor.operation == UNSEEN or isinstance(tensor.provenance, Presumption)


def _step(found: Observed, step: Stepped, zeros: set[int], *, sure: bool) -> None:
    """The effect of a step; unless it is `sure` that all before it was run, a gradient may have arrived unseen."""
    key = _key(step.site)
    if not _is_room(found.steps, key, step.site):
        return
    updated = set(map(id, step.updated))
    held = set(map(id, step.held))
    for same in found.known.values():
        cells = [_use(step, each.tensor, updated, held, zeros, sure=sure) for each in same]
        _note(found, same[0], key, best(cells))


def _use(step: Stepped, tensor: Tensor, updated: set[int], held: set[int], zeros: set[int], *, sure: bool) -> Cell:
    presumed = isinstance(step.optimizer, Unknown) or tensor.operation == UNSEEN
    if id(tensor) in updated:
        return Cell(Use.ZEROS if id(tensor) in zeros else Use.UPDATED, presumed=presumed)
    if id(tensor) in held:
        return Cell(Use.IDLE if sure else Use.UNKNOWN, presumed=presumed and sure)
    if step.known or step.models:
        return Cell(Use.ABSENT, presumed=tensor.operation == UNSEEN)
    return Cell(Use.UNKNOWN)


def _by_hand(trace: Trace, found: Observed, site: Site, leaf: Tensor) -> None:
    """A statement that moves a leaf by its gradient: each is a step of its own."""
    site = replace(site, node=statement_of(trace, site.node))
    key = _key(site)
    if not _is_room(found.steps, key, site):
        return
    for same in found.known.values():
        cell = Cell(Use.UPDATED if any(each.tensor is leaf for each in same) else Use.ABSENT)
        _note(found, same[0], key, cell)


def _is_room(calls: dict[Key, Site], key: Key, site: Site) -> bool:
    if len(calls) < MOST_CALLS:
        calls.setdefault(key, site)
    return key in calls


def best(cells: Sequence[Cell]) -> Cell:
    """The combined effect on several tensors of one name, or of several runs: the one that counts most."""
    state = min((each.state for each in cells), key=_ORDER.index)
    same = [each for each in cells if each.state is state]
    return Cell(state, len(same) == len(cells) and all(each.always for each in same), any(c.presumed for c in same))


_ORDER: tuple[Arrival | Use, ...] = (
    *(Arrival.GRADIENT, Arrival.ZEROS, Arrival.UNKNOWN, Arrival.CUT, Arrival.FROZEN, Arrival.NONE),
    *(Use.UPDATED, Use.ZEROS, Use.UNKNOWN, Use.IDLE, Use.ABSENT),
)


def _note_holding(trace: Trace, source: Source, found: Observed) -> None:
    """Why no step has a parameter, where that is seen."""
    if any(not (step.known or step.models) for step in trace.of(Stepped)) or not all(e.known for e in trace.of(Given)):
        return
    stepped = {known for (known, key), cells in found.cells.items() if key in found.steps and _has_any(cells)}
    held = {id(tensor) for given in trace.of(Given) for tensor in given.parameters}
    attached = {id(tensor): event for event in trace.of(Attached) for tensor in event.tensors}
    hidden = {id(tensor): event for event in trace.of(Overlooked) for tensor in event.tensors}
    for key, same in found.known.items():
        tensor = same[0].tensor
        if key in stepped or not tensor.is_parameter or not tensor.flag or tensor.operation == UNSEEN:
            continue
        if id(tensor) in hidden and id(tensor) not in held:
            event = hidden[id(tensor)]
            words = f"`parameters()` does not look into the plain {event.kind} on line {event.site.line}"
            reason = _reason(source, Why.CONTAINER, words, event.site)
        elif id(tensor) in attached and id(tensor) not in held:
            site = attached[id(tensor)].site
            words = f"it came into the model on line {site.line}, after the optimizer was made"
            reason = _reason(source, Why.LATE, words, site)
        elif _is_all_seen(trace, found):
            reason = Reason(Why.UNHELD, "its optimizer never steps" if id(tensor) in held else "no optimizer has it")
        else:
            continue
        found.reasons.setdefault(key, {})[reason] = {}


def _is_all_seen(trace: Trace, found: Observed) -> bool:
    """True if no other optimizer may step: the path is whole, and what is not seen was handed no model."""
    lent = any(not is_harmless(event) for event in trace.of(Lent))
    return trace.is_whole and not lent and (bool(found.steps) or isinstance(trace.entry, ast.Module))


def _has_any(cells: Sequence[Cell]) -> bool:
    return any(cell.state is not Use.ABSENT for cell in cells)
