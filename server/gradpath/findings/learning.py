"""The ledger of learning: for each parameter the backwards that fill its gradient, the steps and the clears."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradpath.autograd.aliases import whole_of
from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.findings.graphs import moved_leaves, reached_leaves
from gradpath.interpreter.events import BackwardRan, Cleared, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace, once
from gradpath.support.fast_dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Learner:
    """A parameter that is stepped or gets a gradient; it may represent all parameters of an unseen model.

    `given` are the backwards that gave it a gradient other than zeros, `stepped` the steps of the optimizers that
    have it, `used` those that found a gradient, `cleared` the calls that dropped one. All are in the order in which
    they happened.
    """

    tensor: Tensor
    given: list[BackwardRan] = field(default_factory=list)
    stepped: list[Stepped] = field(default_factory=list)
    used: list[Stepped] = field(default_factory=list)
    cleared: list[Cleared] = field(default_factory=list)


@once
def learners(trace: Trace) -> dict[int, Learner]:
    """Every parameter of the path that an optimizer steps or that gets a gradient, by the identity of its tensor."""
    found: dict[int, Learner] = {}

    def of(tensors: Iterable[Tensor]) -> Iterator[Learner]:
        for tensor in tensors:
            learner = found.get(id(tensor))
            if learner is None:
                learner = found[id(tensor)] = Learner(tensor)
            yield learner

    for event in trace.among(BackwardRan, Stepped, Cleared):
        match event:
            case BackwardRan():
                for learner in of(moved_leaves(event)):
                    learner.given.append(event)
            case Stepped():
                for learner in of(event.held):
                    learner.stepped.append(event)
                for learner in of(dict.fromkeys(event.updated)):
                    learner.used.append(event)
            case Cleared():
                for learner in of(dict.fromkeys(event.tensors)):
                    learner.cleared.append(event)
    return found


def depends_on(ran: BackwardRan, parameter: Tensor) -> bool:
    """True if a loss was computed from a parameter, or from any of those that it represents, with a graph or not."""
    return any(whole_of(each) is parameter for root in ran.call.roots for each in root.ancestors())


def has_strangers(trace: Trace) -> bool:
    """True if a backward reaches parameters that no optimizer steps: those that were meant, as a rule."""
    return any(each.given and not each.stepped and each.tensor.is_parameter for each in learners(trace).values())


@once
def holdings(trace: Trace) -> dict[int, frozenset[int]]:
    """What each optimizer that steps has, by identities: what it is seen to have, else what its steps show.

    An optimizer that alone steps after a backward has what that gave a gradient to, but for what another one is seen,
    or has shown, to have. One that is not seen, and is presumed to have some unseen models, has seen parameters beside.
    """
    held: dict[int, set[int]] = {}
    made = {id(given.optimizer) for given in trace.of(Given)}
    known = made | {id(step.optimizer) for step in trace.of(Stepped) if step.known}
    for step in trace.of(Stepped):
        held.setdefault(id(step.optimizer), set()).update(map(id, step.held))
    seen = {number for number, each in learners(trace).items() if each.tensor.operation != UNSEEN}
    rounds = list(_rounds(trace))
    for reached, optimizer in sorted(rounds, key=lambda each: len(each[0])):
        others = [own for other, own in held.items() if other != optimizer]
        if not held[optimizer]:
            held[optimizer] |= reached.difference(*others)
        elif optimizer not in known:
            held[optimizer] |= (reached & seen).difference(*others)
    return {optimizer: frozenset(own) for optimizer, own in held.items()}


def _rounds(trace: Trace) -> Iterator[tuple[set[int], int]]:
    """What each backward reached, and the optimizer that alone steps between it and the next backward."""
    reached: set[int] = set()
    steppers: set[int] = set()
    for event in (*trace.among(BackwardRan, Stepped), None):
        if isinstance(event, Stepped):
            steppers.add(id(event.optimizer))
            continue
        if len(steppers) == 1:
            yield reached, steppers.pop()
        steppers = set()
        if isinstance(event, BackwardRan) and event.call.accumulates:
            reached = set(map(id, reached_leaves(event)))
