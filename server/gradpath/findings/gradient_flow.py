"""Where gradients arrive, are used and are cleared along a path: what the rules about training loops look at."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain

from gradpath.autograd.errors import FaultKind
from gradpath.autograd.tensor import Tensor, together
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.report import Source
from gradpath.findings.stories import same_activation, short_operation
from gradpath.findings.syntax import ancestry, call_of, function_of, statement_of
from gradpath.interpreter.events import (
    BackwardRan,
    Built,
    Cleared,
    Event,
    GradientSet,
    Lent,
    Mutated,
    Replaced,
    Site,
    Stepped,
    Stored,
    parts_of,
    tensor_of,
)
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import contents, head_of, holds
from gradpath.source.nodes import noted
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum
from gradpath.support.traversal import reachable
from gradpath.support.words import words

HARMLESS = "torch."
"""The prefix of unknown callees that certainly leave gradients alone: what of PyTorch does not is modelled."""


_KEEPING = frozenset({"clip", "clamp", "clamp_", "div_"})
"""Operations on a gradient that keep its meaning."""


class Effect(Enum):
    """The effect of an event on the gradient of a tensor."""

    ARRIVES = "arrives"
    USED = "used"
    CLEARED = "cleared"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Entry:
    """An event that affects gradients: those of `tensors` (by identity), or all but the `spared` where that is None."""

    event: Event
    effect: Effect
    tensors: frozenset[int] | None
    spared: frozenset[int] = frozenset()

    def concerns(self, tensor: Tensor) -> bool:
        """True if the gradient of `tensor` is among them."""
        return id(tensor) not in self.spared if self.tensors is None else id(tensor) in self.tensors

    def concerns_any(self, tensors: Collection[int]) -> bool:
        """The same for any of several, given by identity."""
        return bool(self.among(tensors))

    def among(self, tensors: Collection[int]) -> Set[int]:
        """Those of several, given by identity, whose gradients it affects."""
        return set(tensors) - self.spared if self.tensors is None else self.tensors.intersection(tensors)


@once
def flow_of(trace: Trace) -> list[Entry]:
    """The events that affect gradients on a path, in order."""
    return [entry for event in trace.events if type(event) in _TELLING for entry in _entries(trace, event)]


def concerning(trace: Trace, tensor: Tensor) -> list[Entry]:
    """The entries of a path that concern the gradient of a tensor."""
    flow, places = flow_of(trace), _places(trace)
    found = sorted((*places.get(id(tensor), ()), *places.get(None, ())))
    return [flow[place] for place in found if flow[place].concerns(tensor)]


@once
def _places(trace: Trace) -> Mapping[int | None, list[int]]:
    """The places of entries in the flow, by what they concern, or by None where that is everything."""
    found: dict[int | None, list[int]] = {}
    for place, entry in enumerate(flow_of(trace)):
        for key in (None,) if entry.tensors is None else entry.tensors:
            found.setdefault(key, []).append(place)
    return found


def moment_of(flow: Sequence[Entry], event: Event) -> int:
    """The index of the first entry of an event."""
    return next(index for index, entry in enumerate(flow) if entry.event is event)


def place_in(events: Sequence[object], event: object) -> int:
    """The index of an event itself, and not of one that is equal to it."""
    return next(index for index, each in enumerate(events) if each is event)


_TELLING = frozenset({BackwardRan, Stepped, Cleared, GradientSet, Mutated, Replaced, Lent})


def _entries(trace: Trace, event: Event) -> Iterator[Entry]:
    match event:
        case BackwardRan() if event.call.accumulates:
            if all(not root.is_open for root in event.call.roots):
                yield Entry(event, Effect.ARRIVES, frozenset(id(leaf) for leaf in reached_leaves(event)))
            else:
                yield Entry(event, Effect.UNKNOWN, None)
        case Stepped():
            yield Entry(event, Effect.USED, frozenset(id(tensor) for tensor in event.updated))
        case Cleared():
            yield Entry(event, Effect.CLEARED, _with_models(event.tensors))
            if not event.known:
                yield Entry(event, Effect.UNKNOWN, None, frozenset(map(id, event.spared)))
        case GradientSet():
            yield Entry(event, Effect.UNKNOWN, _with_models([event.tensor]))
        case Mutated() if short_operation(event.write.operation) not in _KEEPING and is_gradient(event.tensor):
            owner = _zeroed(trace, event)
            known = None if owner is None else frozenset((id(owner),))
            yield Entry(event, Effect.UNKNOWN if owner is None else Effect.CLEARED, known)
        case Mutated() | Replaced():
            leaf = updated_by_hand(trace, event)
            if leaf is not None:
                yield Entry(event, Effect.USED, _with_models([leaf]))
        case Lent() if not is_harmless(event):
            yield Entry(event, Effect.UNKNOWN, None)
        case _:
            return


def _with_models(tensors: Sequence[Tensor]) -> frozenset[int]:
    """The identities of tensors, and of what represents the unseen models that they are parameters of."""
    wholes = (tensor.member_of for tensor in tensors if tensor.member_of is not None)
    return frozenset(id(each) for each in (*tensors, *wholes))


def is_harmless(event: Lent) -> bool:
    """True if the unseen callee certainly leaves gradients alone."""
    return event.name.startswith(HARMLESS)


def lent(trace: Trace) -> list[Lent]:
    """What unseen code got that need not leave gradients alone."""
    return [event for event in trace.of(Lent) if not is_harmless(event)]


@once
def updated_by_hand(trace: Trace, event: Mutated | Replaced) -> Tensor | None:
    """The leaf that a write moves by its gradient, as `w -= 0.1 * w.grad` and `w.data.sub_(0.1 * w.grad)` do."""
    tensor = event.tensor
    cut = tensor.cut
    if cut is not None and cut.source is not None and short_operation(cut.how) in ("data", "detach"):
        tensor = cut.source
    if not tensor.flag or tensor.node is not None:
        return None
    return tensor if gradient_read(trace, event) is not None or _is_of_gradient(trace, event, tensor) else None


def _is_of_gradient(trace: Trace, event: Mutated | Replaced, leaf: Tensor) -> bool:
    """True if a leaf gets what was computed from a gradient that a backward left in it, or in another leaf."""
    sources = [each for each in _written(trace, event) if each in from_gradients(trace)]
    made = {each.origin for each in together(sources) if each.operation == "gradient"}
    runs = (run for run in trace.of(BackwardRan) if run.call.accumulates and run.site in made) if made else ()
    return any(each is leaf for run in runs for each in reached_leaves(run))


@once
def from_gradients(trace: Trace) -> frozenset[Tensor]:
    """All gradients, and what was computed from one, among what a path writes or stores, and the lineage of that."""
    results: dict[Tensor, list[Tensor]] = {}
    gradients: list[Tensor] = []
    writes: tuple[Mutated | Replaced, ...] = (*trace.of(Mutated), *trace.of(Replaced))
    written = (each for event in writes for each in _written(trace, event))
    stored = (each for event in trace.of(Stored) for each in kept_in(event))
    for tensor in together(chain(written, stored)):
        gradients += [tensor] if tensor.operation == "gradient" else []
        for source in tensor.maker:
            results.setdefault(source, []).append(tensor)
    return frozenset(reachable(gradients, lambda each: results.get(each, ())))


def kept_in(event: Stored) -> list[Tensor]:
    """The tensors in what was put into a container, or the one that the number was read out of."""
    kept = (event.value, *parts_of(event.value)) if event.read is None else (event.read.tensor,)
    return [tensor for each in kept if (tensor := tensor_of(each)) is not None]


def _written(trace: Trace, event: Mutated | Replaced) -> Sequence[Tensor]:
    """What was written, also where what it is written into got the graph of that: `w.data[mask] = (w + step)[mask]`."""
    if isinstance(event, Replaced):
        return () if event.source is None else (event.source,)
    return event.sources or _built_at(trace).get(event.site, ())


@once
def _built_at(trace: Trace) -> Mapping[Site, Sequence[Tensor]]:
    """The operands of the last node of each place."""
    return {event.site: event.operands for event in trace.of(Built)}


@once
def gradient_read(trace: Trace, event: Mutated | Replaced) -> ast.Attribute | None:
    """Where the statement of a write reads a `.grad`."""
    written = statement_of(trace, event.site.node) if isinstance(event, Replaced) else event.site.node
    return next((each for each in contents(written).attributes if each.attr == "grad"), None)


def is_gradient(tensor: Tensor) -> bool:
    """True if a tensor is a gradient, or `.data` or a view of one."""
    return _gradient_of(tensor).operation == "gradient"


def _gradient_of(tensor: Tensor) -> Tensor:
    seen = 0
    while tensor.operation != "gradient" and len(tensor.maker) == 1 and seen < 4:
        tensor, seen = tensor.maker[0], seen + 1
    return tensor


def _zeroed(trace: Trace, event: Mutated) -> Tensor | None:
    """The leaf whose whole gradient a write makes zeros: `w.grad.zero_()`, `w.grad.data.zero_()`."""
    gradient = event.tensor
    if short_operation(event.write.operation) != "zero_":
        return None
    while short_operation(gradient.operation) in ("data", "detach") and gradient.maker:
        gradient = gradient.maker[0]
    leaves = (leaf for run in trace.of(BackwardRan) for leaf in reached_leaves(run))
    return next((leaf for leaf in leaves if leaf.grad is gradient), None)


def has_run_loops(trace: Trace) -> bool:
    """True if a path ran its loops to their end: it is whole, or what it raises after them is not about its graphs."""
    return trace.is_complete and all(
        not failure.site.loops and (failure.error is None or failure.error.kind is FaultKind.NUMPY)
        for failure in trace.failures()
    )


def optimizer_name(trace: Trace, source: Source, step: Site, near: Site) -> str | None:
    """The optimizer of `optimizer.step()`, `scaler.step(optimizer)`, `scaler(loss, optimizer)`, as `near` calls it."""
    call = call_of(trace, step.node)
    around = ancestry(trace, near.node)
    owner = function_of(trace, step.node)
    closure = function_of(trace, near.node) is not None and (owner is None or owner in around)
    if call is None or not (same_activation(step, near) or closure):
        return None
    if closure and not same_activation(step, near):
        return source.text(step, call.func.value) if isinstance(call.func, ast.Attribute) else None
    steps = isinstance(call.func, ast.Attribute) and call.func.attr == "step"
    given = next(iter(call.args if steps else call.args[1:]), None)
    if isinstance(given, (ast.Name, ast.Attribute)) and not _is_closure(trace, given):
        return source.text(step, given)
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, (ast.Name, ast.Attribute)):
        return source.text(step, call.func.value)
    return None


def _is_closure(trace: Trace, argument: ast.expr) -> bool:
    """True if the argument of `step` is a function of the program, as in `optimizer.step(closure)`."""
    return isinstance(argument, ast.Name) and any(
        isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and each.name == argument.id for each in trace.visits
    )


def looks_at_gradients(trace: Trace, outside: Sequence[ast.AST] = ()) -> bool:
    """True if something that ran reads gradients, or is called when they arrive: for that they may be computed.

    What stands in a statement of `outside` is left out.
    """
    return any(_reads_gradients(each) and not any(holds(block, each) for block in outside) for each in trace.visits)


@noted
def _reads_gradients(statement: ast.AST) -> bool:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    inner = list(map(contents, head_of(statement) if hasattr(statement, "body") else [statement]))
    called = {id(call.func) for part in inner for call in part.calls}
    attributes = (each for part in inner for each in part.attributes if each.attr in _READING)
    return any(each.attr != "grad" or id(each) not in called for each in attributes)  # `autograd.grad(...)` is none.


_READING = words(
    """grad register_hook register_post_accumulate_grad_hook register_full_backward_hook register_backward_hook
    register_full_backward_pre_hook"""
)


def trains(trace: Trace) -> bool:
    """True if gradients are on for who runs the program: a function alone may be called without them."""
    if isinstance(trace.entry, ast.Module) or trace.goes_back or trace.of(BackwardRan):
        return True
    return any(map(_runs_backward, contents(trace.entry).calls))


def trains_nobody(trace: Trace) -> bool:
    """True if no backward of a path reaches a parameter, or no optimizer has any: no training is meant to take it."""
    runs, steps = trace.of(BackwardRan), trace.of(Stepped)
    if steps and all(each.known and not each.held for each in steps):
        return True  # A branch has left out every parameter, as `if p.requires_grad` does.
    return bool(runs) and not any(leaf.is_parameter for run in runs for leaf in reached_leaves(run))


def _runs_backward(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "manual_backward", "grad")


def is_left(trace: Trace, sites: Iterable[Site]) -> bool:
    """True if a place is in a function that a path has left before its end: what becomes of it there is not seen."""
    return bool(trace.left) and any(function_of(trace, site.node) in trace.left for site in sites)
