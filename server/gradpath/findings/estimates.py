"""Sums that lend one value the gradient of another, and lend none: straight-through estimates the wrong way round.

`x + (q - x).detach()` has the value of `q` and the gradient of `x`. The detached parts count in the value alone, and
what is added and subtracted again counts in neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from gradpath.autograd.tensor import Node, Tensor, together
from gradpath.findings.graphs import is_sum, moves_any, nodes_of, reach
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import name_of, short_operation
from gradpath.interpreter.events import BackwardRan, Built, CutOff, Site
from gradpath.interpreter.trace import Trace, once
from gradpath.support.fast_dataclasses import dataclass, field
from gradpath.support.fast_enums import Enum

_SIGNS = {"add": (1, 1), "add_": (1, 1), "sub": (1, -1), "sub_": (1, -1)}
"""The signs of the two operands of an operation."""

_DETACHING = ("detach", "data")

_DEPTH = 12
"""Sums of sums that are looked at."""


@dataclass(slots=True, eq=False)
class _Parts:
    """The values that a sum consists of, and how often each counts in its value and in its gradient."""

    of: dict[int, Tensor] = field(default_factory=dict)
    value: dict[int, int] = field(default_factory=dict)
    gradient: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Words:
    """What a fault gives, its label, and the way out."""

    outcome: str
    label: str
    help: str


_RIGHT_WAY = "the way round that works: `x + (q - x).detach()` has the value of `q` and the gradient of `x`"


class Fault(Enum):
    """What is wrong with a sum: what it hands on is lost, is that of a constant, or has the wrong sign."""

    CANCELLED = _Words(
        "no gradient",
        "what is added and subtracted again: the gradients cancel",
        "detach what is to count in the value alone: `x - q.detach()`, or `x + (q - x).detach()` to lend a gradient",
    )
    WHOLE = _Words("no gradient", "detaches what is to lend the gradient as well", _RIGHT_WAY)
    SWAPPED = _Words("no gradient", "has the gradient of the part that is constant", _RIGHT_WAY)
    CHOSEN = _Words("no gradient", "hands its gradient to what was looked up by it alone", _RIGHT_WAY)
    REVERSED = _Words("its gradient with the wrong sign", "what is subtracted counts in the gradient alone", _RIGHT_WAY)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A sum at `site` through which a backward gives `missed` nothing, or its gradient with the wrong sign.

    `made` is what it gives, and `rest` are its other parts.
    """

    site: Site
    made: Tensor
    missed: Tensor
    fault: Fault
    rest: tuple[Tensor, ...]
    ran: BackwardRan

    def report(self, trace: Trace, source: Source) -> Report:
        name = name_of(trace, source, self.missed, self.site)
        what = f"`{name}`" if name else "what it was computed from"
        words = self.fault.value
        steps = (Step(self.site, words.label), Step(self.ran.site, f"gives {what} {words.outcome} through it"))
        return Report(self.site, headline(source, self, what), steps, help=words.help)


@once
def estimates(trace: Trace, ran: BackwardRan) -> list[Estimate]:
    """The sums of one backward that were meant to hand a gradient on, and do not."""
    return list(_estimates(trace, ran))


def _estimates(trace: Trace, ran: BackwardRan) -> Iterator[Estimate]:
    executed = set(ran.executed)
    dead: set[Tensor] = set()
    for event in trace.of(Built):
        if event.node not in executed or not is_sum(event.node):
            continue
        for made in event.node.outputs:
            parts = _Parts()
            _take_apart(made, parts, 1, dead, live=True, depth=_DEPTH)
            added = made.maker if "add" in short_operation(made.operation) else ()
            found = _missed(parts, dead, added) if len(parts.of) > 1 else None
            if found is not None:
                dead.add(made)
                rest = tuple(each for each in parts.of.values() if each is not found[0])
                yield Estimate(event.site, made, *found, rest, ran)
    yield from _detached(trace, ran, executed)


def _detached(trace: Trace, ran: BackwardRan, executed: Set[Node]) -> Iterator[Estimate]:
    """The sums that were detached as a whole before the loss was computed from them: `(x + (q - x)).detach()`."""
    for event in trace.of(CutOff):
        given = event.cut.source
        if given is None or len(given.maker) != 2 or short_operation(event.cut.how) not in _DETACHING:
            continue
        parts = _Parts()
        _take_apart(given, parts, 1, set(), live=True, depth=_DEPTH)
        lost = next((each for each in given.maker if each.requires_grad and _adds_nothing(parts, each)), None)
        if lost is not None and _is_used(trace, event.tensor, executed):
            rest = tuple(each for each in parts.of.values() if each is not lost)
            yield Estimate(event.site, event.tensor, lost, Fault.WHOLE, rest, ran)


def _adds_nothing(parts: _Parts, tensor: Tensor) -> bool:
    """True if a sum of several values adds one and takes it away again, with its gradient."""
    return len(parts.of) > 1 and parts.value.get(id(tensor)) == parts.gradient.get(id(tensor)) == 0


def _is_used(trace: Trace, tensor: Tensor, executed: Set[Node]) -> bool:
    """True if what a backward went through was computed with a tensor."""
    operands = (each for event in trace.of(Built) if event.node in executed for each in event.operands)
    return any(each is tensor for each in together(operands))


def _take_apart(tensor: Tensor, parts: _Parts, sign: int, dead: Set[Tensor], *, live: bool, depth: int) -> None:
    cut = tensor.cut
    if cut is not None and cut.source is not None and short_operation(cut.how) in _DETACHING:
        _take_apart(cut.source, parts, sign, dead, live=False, depth=depth)
        return
    # A sum under `no_grad` is a constant of its own, such as the target that a value is compared with.
    whole = tensor in dead or (tensor.node is None and any(each.requires_grad for each in tensor.maker))
    signs = None if whole else _SIGNS.get(short_operation(tensor.operation))
    if signs is not None and len(tensor.maker) == 2 and depth:
        for operand, own in zip(tensor.maker, signs, strict=True):
            _take_apart(operand, parts, sign * own, dead, live=live, depth=depth - 1)
        return
    key = id(tensor)
    parts.of[key] = tensor
    parts.value[key] = parts.value.get(key, 0) + sign
    if live:
        parts.gradient[key] = parts.gradient.get(key, 0) + sign


def _moves(tensor: Tensor, dead: Set[Tensor]) -> bool:
    """True if a gradient at a tensor teaches something, as far as no sum before has kept it from all."""
    leaf = tensor.node is None and tensor.requires_grad
    return tensor not in dead and (tensor.is_open or leaf or any(map(moves_any, nodes_of([tensor]))))


def _missed(parts: _Parts, dead: Set[Tensor], added: Sequence[Tensor]) -> tuple[Tensor, Fault] | None:
    """The part that a gradient should reach and does not, or reaches with the wrong sign, if there is one.

    One of the two values that are `added` was meant to count: who subtracts a mean centres what was drawn around it.
    """
    moving = [key for key, each in parts.of.items() if _moves(each, dead)]
    taught = [key for key in moving if parts.gradient.get(key, 0) != 0]
    rest = [each for key, each in parts.of.items() if key not in moving]
    if not moving or any(each.is_open or each in dead for each in parts.of.values()):
        return None
    if not taught:
        if any(key in parts.gradient for key in moving):
            return parts.of[moving[0]], Fault.CANCELLED
        return (parts.of[moving[0]], Fault.SWAPPED) if 0 in parts.value.values() else None
    again = (key for key in map(id, added) if key in moving and parts.value[key] == 0 == parts.gradient.get(key))
    lost = next(again, None)
    if lost is not None:  # `x + (q - x)` is `q`.
        return parts.of[lost], Fault.CANCELLED
    chosen = _chosen_by(parts, moving, taught)
    if chosen is not None:
        return chosen, Fault.CHOSEN
    first = parts.of[taught[0]]
    lends = len(moving) == 1 and parts.value[taught[0]] == 0 and parts.gradient[taught[0]] < 0
    return (first, Fault.REVERSED) if lends and any(_is_made_of(each, first) for each in rest) else None


def _chosen_by(parts: _Parts, moving: Sequence[int], taught: Sequence[int]) -> Tensor | None:
    """The value of a sum that has the gradient of what was looked up by that value alone, such as the nearest code."""
    if len(parts.of) != 2 or len(moving) != 2 or len(taught) != 1:
        return None
    found = parts.of[taught[0]]
    (value,) = (parts.of[key] for key in moving if key not in taught)
    lends = parts.value[id(found)] == 0 and parts.value[id(value)] != 0
    apart = lends and value.node is not None and value.node not in reach([found])
    return value if apart and _is_made_of(found, value) else None


def estimate_with(trace: Trace, value: Tensor, ran: BackwardRan, *, steps: bool) -> Estimate | None:
    """The sum of one backward in which a value, or what was computed from it, takes the place of the gradient.

    That is so of a constant that `steps` from one value to the next, and of what was looked up by its choice.
    """
    lent = (
        each for each in estimates(trace, ran) if each.fault is Fault.CHOSEN or (steps and each.fault is Fault.SWAPPED)
    )
    return next((each for each in lent if _stands_in(each, value)), None)


def _stands_in(found: Estimate, value: Tensor) -> bool:
    """True if a value, or what was computed from it, is a part of an estimate."""
    return value in found.made.maker or any(part is value or _is_made_of(part, value) for part in found.rest)


def _is_made_of(tensor: Tensor, source: Tensor) -> bool:
    return source in tensor.ancestors()


def headline(source: Source, found: Estimate, what: str) -> str:
    """What a sum does to the gradient of `what`."""
    return f"`{source.short(found.site, limit=40)}` gives {what} {found.fault.value.outcome}"
