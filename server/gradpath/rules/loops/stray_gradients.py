"""Gradients that a backward leaves in parameters that it was not run for, and that a step adds to its own.

The backward of a discriminator whose loss still depends on the generator gives the generator a gradient; that of an
attack on an input gives one to the network. Where nothing clears these before the loss of the network itself is
back-propagated, its step uses the sum of both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.gradient_flow import Effect, Entry, concerning, flow_of, moment_of
from gradpath.findings.graphs import is_of_terms, leading_to, leaves, reached_leaves, takers
from gradpath.findings.learning import learners
from gradpath.findings.parameters import named
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import following, short_operation, with_time
from gradpath.interpreter.events import BackwardRan, Site, Stepped, iterations_between
from gradpath.interpreter.trace import Trace, once
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable

_PUTTING = frozenset({"min", "minimum", "squeeze", "index", "select", "view", "reshape", "flatten", "gather"})
"""What leads from scores to a loss beside sums and multiples."""


@dataclass(frozen=True, slots=True, eq=False)
class Stray:
    """A backward for something else, `stray`, the one for `parameters`, `own`, and the step that uses both."""

    parameters: tuple[Tensor, ...]
    stray: BackwardRan
    own: BackwardRan
    step: Stepped

    def report(self, trace: Trace, source: Source) -> Report:
        """The finding in words."""
        backward, step = source.short(self.stray.site, limit=32), source.short(self.step.site, limit=32)
        what, _ = named(trace, source, self.parameters, "its parameters")
        return Report(
            self.stray.site,
            f"`{backward}` leaves gradients in {what}, and `{step}` adds them to its own",
            (
                Step(self.stray.site, f"gives {what} gradients, too"),
                Step(self.own.site, with_time(following(trace, self.own.site, self.stray.site), "adds to them")),
                Step(self.step.site, "uses the sum of both"),
            ),
            help=f"clear the gradients of {what} between the two backwards, or detach what the first one is not for",
        )


def stray_gradients(trace: Trace) -> Iterator[Stray]:
    """The first step that uses gradients of a backward whose own purpose was served before the next one ran."""
    found: dict[object, tuple[Stray, list[Tensor]]] = {}
    flow = flow_of(trace)
    runs = [entry for entry in flow if entry.effect is Effect.ARRIVES]
    if len(runs) < 2:
        return
    for learner in learners(trace).values():
        leaf = learner.tensor
        if leaf.is_weight:
            stray = _stray(trace, flow, leaf)
            if stray is not None:
                key = stray.stray.site.node, stray.step.site.node
                found.setdefault(key, (stray, []))[1].append(leaf)
    for first, tensors in found.values():
        yield Stray(tuple(tensors), first.stray, first.own, first.step)


def _stray(trace: Trace, flow: Sequence[Entry], leaf: Tensor) -> Stray | None:
    """The stray part of the gradient that the first step of a parameter uses, if that is of several backwards."""
    arrived: list[BackwardRan] = []
    for entry in concerning(trace, leaf):
        match entry.effect, entry.event:
            case Effect.ARRIVES, BackwardRan() as ran:
                arrived.append(ran)
            case Effect.USED, Stepped() as step if len(arrived) > 1:
                *earlier, own = arrived
                for number, each in enumerate(arrived):
                    mine = next((one for one in reversed(arrived) if one is not each), own)
                    if _is_of_score(trace, flow, leaf, each, mine, step, first=number == 0):
                        return Stray((leaf,), each, mine, step)
                for each in earlier:
                    if _is_of_judge(trace, flow, leaf, each, own, step) or _is_of_attack(
                        trace, flow, earlier, each, own
                    ):
                        return Stray((leaf,), each, own, step)
                arrived = []
            case _:
                arrived = []
    return None


def _is_of_judge(
    trace: Trace, flow: Sequence[Entry], leaf: Tensor, stray: BackwardRan, own: BackwardRan, step: Stepped
) -> bool:
    """True if a backward was for another network, which stepped by it, and which then judges again without learning.

    It judges the same, or something new that the parameter has made, and has compared the first with something else.
    What it learns from the later loss, if it gets a gradient of that at all, is cleared unused.
    """
    for judge in _judges_between(trace, stray, own, step):
        above = leading_to(trace, own, leaf)
        if above.isdisjoint(stray.executed) and not any(_uses(node, judge) for node in above):
            continue
        if _judges(trace, leaf, [stray, *_beside(flow, stray, judge)], own, judge):
            begun = moment_of(flow, own)
            later = (entry.effect for entry in flow[begun + 1 :] if entry.concerns_any(judge))
            taught = not judge.isdisjoint(map(id, reached_leaves(own)))
            if not taught or next(later, None) is Effect.CLEARED:
                return True
    return False


@once
def _judges_between(trace: Trace, stray: BackwardRan, own: BackwardRan, step: Stepped) -> list[set[int]]:
    """The weights of other networks that got a gradient from one backward, for each of their steps before another."""
    events = trace.among(BackwardRan, Stepped)
    between = events[events.index(stray) : events.index(own)]
    reached, mine = set(map(id, reached_leaves(stray))), set(map(id, step.updated))
    judges = ({id(each) for each in other.updated} & reached for other in between if isinstance(other, Stepped))
    return [judge for judge in judges if judge and judge.isdisjoint(mine)]


def _is_of_score(
    trace: Trace,
    flow: Sequence[Entry],
    leaf: Tensor,
    stray: BackwardRan,
    own: BackwardRan,
    step: Stepped,
    *,
    first: bool,
) -> bool:
    """True if a backward was for another network, which raises a score that this one gives of what that one makes.

    Or this one learns itself from the same, cut off: a discriminator from `fake.detach()`. It is an update of its own:
    the other network is cleared right before it, and stepped by it, before this one is.
    """
    made = _stepped_between(trace, stray, own, step, first=first)
    begun, mine = moment_of(flow, stray), {id(each) for each in step.updated}
    if not made:
        return _is_scored(trace, leaf, mine, stray, _stepped_beside(trace, flow[begun + 1 :], stray, mine))
    scored = _is_scored(trace, leaf, mine, stray, made)
    if not scored:
        apart = _judged_apart(leaf, own, made)
        if True not in apart or (False not in apart and _is_awaited(flow[:begun], leaf, stray)):
            return False
    before = [entry for entry in flow[:begun] if entry.event is own or entry.concerns_any(made)]
    return bool(before) and before[-1].effect is Effect.CLEARED and not before[-1].concerns(leaf)


@once
def _stepped_between(
    trace: Trace, stray: BackwardRan, own: BackwardRan, step: Stepped, *, first: bool
) -> frozenset[int]:
    """The weights that got a gradient from one backward, and were stepped before another that has none of them."""
    events = trace.among(BackwardRan, Stepped)
    between = events[events.index(stray) + 1 : events.index(own if first else step)]
    others = {id(each) for each in reached_leaves(stray)} - {id(each) for each in step.updated}
    stepped = {each for one in between if isinstance(one, Stepped) for each in map(id, one.updated)} & others
    shared = any(id(each) in stepped for each in reached_leaves(own))
    return frozenset(() if shared else stepped)


def _stepped_beside(trace: Trace, later: Sequence[Entry], stray: BackwardRan, mine: set[int]) -> frozenset[int]:
    """The weights that one backward alone gives gradients, which a step of theirs uses before they are cleared."""
    given = {id(each) for each in reached_leaves(stray)} - mine
    rest = {each for each in given if _givers(trace)[each] == {stray.site.node}}
    found: set[int] = set()
    for entry in later:
        if entry.effect is not Effect.ARRIVES and entry.concerns_any(rest):
            touched = entry.among(rest)
            found |= touched if entry.effect is Effect.USED else set()
            rest = rest - touched
    return frozenset(found)


@once
def _givers(trace: Trace) -> dict[int, set[ast.AST]]:
    """The backwards, by their places, that give each weight a gradient."""
    found: dict[int, set[ast.AST]] = {}
    for run in trace.of(BackwardRan):
        for each in reached_leaves(run):
            found.setdefault(id(each), set()).add(run.site.node)
    return found


def _is_scored(trace: Trace, leaf: Tensor, mine: set[int], ran: BackwardRan, made: frozenset[int]) -> bool:
    """True if a loss is a sum of what weights give, and these were used for nothing but what others have made."""
    using = takers(trace, ran).get(id(leaf))
    if not using or not all(any(id(each) in made for each in leaves([node])) for node in using):
        return False
    zone = (node for node in reachable(ran.call.starts, _added_to) if not node.is_open)
    given = (edge.accumulates for node in zone for edge in node.edges)
    return any(leaf is not None and id(leaf) in mine for leaf in given)


def _added_to(node: Node) -> Sequence[Node]:
    """What a node is a sum of, or is put together from."""
    together = is_of_terms(node) or short_operation(node.name) in _PUTTING
    return node.edges if together and not node.is_open else ()


def _judged_apart(leaf: Tensor, own: BackwardRan, made: frozenset[int]) -> set[bool]:
    """Whether each thing that a network judges for its own loss is what others have made, without a gradient for these.

    A discriminator compares what is so with what is not.
    """
    outputs = (each for node in own.executed for each in node.outputs if any(one is leaf for one in each.maker))
    given = ([each for one in output.maker if one is not leaf for each in one.lineage()] for output in outputs)
    return {any(each.cut is not None and _depends_on(each.cut.source or each, made) for each in one) for one in given}


def _is_awaited(before: Sequence[Entry], leaf: Tensor, ran: BackwardRan) -> bool:
    """True if a parameter was cleared in the same iteration as a backward, from which it is to learn as well.

    What is cleared right after a step is done with: `optimizer.step()`, `optimizer.zero_grad()`.
    """
    own: Iterator[Entry] = (entry for entry in reversed(before) if entry.concerns(leaf))
    last, used = next(own, None), next(own, None)
    if last is None or last.effect is not Effect.CLEARED or not _is_at_once(last, ran.site):
        return False
    return used is None or used.effect is not Effect.USED or not _is_at_once(used, last.event.site)


def _is_at_once(entry: Entry, later: Site) -> bool:
    """True if something happens in the same iteration as what comes later."""
    return iterations_between(entry.event.site.loops, later.loops) is None


def _depends_on(tensor: Tensor, weights: frozenset[int]) -> bool:
    return any(id(one) in weights for each in tensor.lineage() for one in (each, *each.maker))


def _beside(flow: Sequence[Entry], run: BackwardRan, weights: set[int]) -> Iterator[BackwardRan]:
    """The backwards before one whose gradients of some weights are still there, neither used nor cleared."""
    for entry in reversed(flow[: moment_of(flow, run)]):
        if entry.concerns_any(weights):
            match entry.effect, entry.event:
                case Effect.ARRIVES, BackwardRan() as before:
                    yield before
                case _:
                    return


def _judges(trace: Trace, leaf: Tensor, stray: Sequence[BackwardRan], own: BackwardRan, judge: set[int]) -> bool:
    """True if the weights of the judge were used for what the leaf made and for something else, and then again.

    An encoder that stands before the leaf's network does not judge it.
    """
    before = {node for each in stray for node in each.executed}
    made = (each for root in own.call.roots for each in root.ancestors() if each.node is None)
    used_again = any(_uses(node, judge) for node in own.executed if node not in before)
    if not used_again and not any(_is_made_with(each, judge) for each in made):
        return False
    judged = {node in leading_to(trace, each, leaf) for each in stray for node in each.executed if _uses(node, judge)}
    return len(judged) == 2


def _is_made_with(tensor: Tensor, weights: set[int]) -> bool:
    return len(tensor.maker) > 1 and any(id(each) in weights for each in tensor.maker)


def _uses(node: Node, weights: set[int]) -> bool:
    """True if something was computed with weights from something else as well."""
    return any(_is_made_with(each, weights) for each in node.outputs)


def _is_of_attack(
    trace: Trace, flow: Sequence[Entry], earlier: Sequence[BackwardRan], stray: BackwardRan, own: BackwardRan
) -> bool:
    """True if a loop went back again and again for a leaf of its own, whose gradient it has cleared each time."""
    same = [each for each in earlier if each.site.node is stray.site.node]
    if len(same) < 2 or any(iterations_between(one.site.loops, own.site.loops) is not None for one in same):
        return False
    if any(iterations_between(one.site.loops, two.site.loops) is None for one, two in pairwise(same)):
        return False
    stepped = {id(each) for event in trace.of(Stepped) for each in event.held}
    attacked = [[leaf for leaf in reached_leaves(each) if _is_attacked(leaf, stepped)] for each in same]
    last = {id(leaf) for leaf in reached_leaves(own)}
    if any(id(leaf) in last for leaves in attacked for leaf in leaves):
        return False
    return all(attacked) and all(
        any(_is_renewed(flow, leaf, one, two) for leaf in leaves)
        for leaves, (one, two) in zip(attacked, pairwise(same), strict=False)
    )


def _is_attacked(leaf: Tensor, stepped: set[int]) -> bool:
    return not leaf.is_weight and id(leaf) not in stepped


def _is_renewed(flow: Sequence[Entry], leaf: Tensor, one: BackwardRan, two: BackwardRan) -> bool:
    """True if a leaf is another one the next time, or its gradient was cleared by then."""
    if all(each is not leaf for each in reached_leaves(two)):
        return True
    first, second = (moment_of(flow, run) for run in (one, two))
    return any(entry.effect is Effect.CLEARED and entry.concerns(leaf) for entry in flow[first:second])
