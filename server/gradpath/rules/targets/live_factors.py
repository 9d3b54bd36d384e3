"""Factors and targets in losses that are constants of the method, and still have a graph.

The old probability of a ratio, the value that a multiplier is fitted to, and the teacher that a student follows are
known by what the graphs of all backwards show of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from gradpath.autograd.tensor import PRESUMED, Node, Tensor
from gradpath.findings.graphs import built_of, leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, name_of, short_operation
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace, once
from gradpath.repairs import Way
from gradpath.rules.targets.advantages import is_live, is_used, products, values
from gradpath.rules.targets.operands import detached
from gradpath.rules.terms.self_comparisons import cancelled
from gradpath.support.fast_dataclasses import dataclass

_LOGARITHMS = frozenset({"log_prob", "log_softmax", "log"})
_PROBABILITIES = frozenset({"softmax", "sigmoid", "exp"})
_SCALES = frozenset({"div", "mul", "log_softmax", "softmax", "logsigmoid", "sigmoid", "log", "clamp"})
"""What leads from the outputs of a network to probabilities and their logarithms."""
_BY_LABELS = frozenset({"cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss"})
_BY_PROBABILITIES = frozenset({"kl_div", "KLDivLoss", "cross_entropy", "CrossEntropyLoss"})


@dataclass(frozen=True, slots=True, eq=False)
class Live:
    """A `tensor` at `site`, argument `index` of what it is used in, that `should` be a constant there."""

    tensor: Tensor
    site: Site
    index: int
    should: str
    because: Step
    ran: BackwardRan

    def report(self, trace: Trace, source: Source) -> Report:
        made = self.tensor.made_at
        name = name_of(trace, source, self.tensor, self.site) or source.short(made, limit=30)
        at = lifted(self.site, made)
        return Report(
            at,
            f"`{name}` has a graph here: {self.should}",
            (
                Step(lifted(made, at), "comes with a graph"),
                Step(at, "lets a gradient through to it"),
                self.because,
                Step(self.ran.site, "moves what it was computed from"),
            ),
            help=f"use `{name}.detach()` here",
            fixes=source.proposed(detached(source, self.site, self.index, Way.DETACH_WEIGHT))
            if at is self.site
            else (),
        )


def live_factors(trace: Trace, trained: set[int]) -> Iterator[Live]:
    """All of them on a path."""
    runs = trace.of(BackwardRan)
    for ran in runs:
        zero = {each.site.node for each in cancelled(trace, ran)}
        for find in (_old_probabilities, _multiplied, _teachers):
            for found in find(trace, ran, runs):
                own = _known(found.tensor)
                if found.site.node not in zero and own & trained and is_used(trace, ran, own & trained):
                    yield found


def _known(tensor: Tensor) -> set[int]:
    return set(map(id, leaves([tensor])))


def _old_probabilities(trace: Trace, ran: BackwardRan, runs: list[BackwardRan]) -> Iterator[Live]:
    """`exp(new - old) * advantage`: the earlier of two log-probabilities that one network gives."""
    built = built_of(trace)
    for node in ran.executed:
        event = built.get(node)
        given = [] if event is None or short_operation(node.name) != "mul" else event.operands
        live = [each for each in given if each.node is not None and not each.node.is_open]
        ratio = _ratio(built, live[0].node) if len(given) == 2 and len(live) == 1 and live[0].node else None
        sides = [] if ratio is None else ratio.operands
        if ratio is None or len(sides) != 2 or not all(map(_known, sides)) or _known(sides[0]) != _known(sides[1]):
            continue
        starts = [each.node for each in sides if each.node is not None]
        if sides[0].node is sides[1].node or not all(_is_logarithm(built, each) for each in starts):
            continue
        old = min(range(2), key=lambda index: starts[index].number)
        because = Step(
            event.site if event is not None else ratio.site, "is weighed by it: its gradients cancel at first"
        )
        yield Live(sides[old], ratio.site, old, "an old probability is a constant", because, ran)


def _ratio(built: Mapping[Node, Built], start: Node) -> Built | None:
    """The difference that a ratio is the exponential of."""
    node, exponential = start, False
    while node in built:
        name = short_operation(node.name)
        if name in ("sub", "rsub") and exponential:
            return built[node]
        live = [edge for edge in node.edges if not edge.is_open]
        if name == "exp":
            exponential = True
        elif name not in ("clamp", "mul", "sum", "float") or not live:
            return None
        if len(live) != 1:
            return None
        (node,) = live
    return None


def _is_logarithm(built: Mapping[Node, Built], start: Node) -> bool:
    """True if something is put together from log-probabilities."""
    ends = list(values(built, start, differs=False, through=_summed))
    return bool(ends) and all(short_operation(each.name) in _LOGARITHMS or _gives_logarithm(each) for each in ends)


def _summed(name: str) -> bool:
    return name in ("sum", "mean")


def _gives_logarithm(node: Node) -> bool:
    """True if the method of an unseen distribution is called that gives log-probabilities."""
    call = node.site.node
    return node.name == PRESUMED and isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "log_prob"


def _multiplied(trace: Trace, ran: BackwardRan, runs: list[BackwardRan]) -> Iterator[Live]:
    """`multiplier * value`, where another loss has `multiplier.detach() * value`: the two take turns."""
    built = built_of(trace)
    for event in products(built, ran, leaves_too=True):
        given = event.operands
        for index, (multiplier, value) in enumerate((given, given[::-1])):
            of = _leaf_of(multiplier)
            if of is None or value.node is None:
                continue
            parts = set(values(built, value.node, differs=False))
            for other in runs:
                for constant, same, site in _weighed(trace, other):
                    fits = of in constant.ancestors()
                    if fits and not parts.isdisjoint(values(built, same, differs=False)):
                        because = Step(site, "trains the value with the multiplier as a constant")
                        yield Live(value, event.site, 1 - index, "it is a constant for the multiplier", because, ran)
                        return


def _leaf_of(tensor: Tensor) -> Tensor | None:
    """The one leaf that a multiplier is computed from, which is no weight of a network."""
    if tensor.node is None:
        return tensor if tensor.flag else None
    found = leaves([tensor.node])
    return found[0] if len(found) == 1 and not tensor.node.is_open else None


@once
def _weighed(trace: Trace, ran: BackwardRan) -> list[tuple[Tensor, Node, Site]]:
    """The products of a constant with something that has a graph."""
    built = built_of(trace)
    products = (built[node] for node in ran.executed if node in built and short_operation(node.name) == "mul")
    pairs = ((event, event.operands) for event in products)
    return [
        (constant, value.node, event.site)
        for event, given in pairs
        if len(given) == 2
        for constant, value in (given, given[::-1])
        if value.node is not None and not constant.requires_grad and not constant.is_open
    ]


def _teachers(trace: Trace, ran: BackwardRan, runs: list[BackwardRan]) -> Iterator[Live]:
    """A distribution that another is drawn to, and that is drawn to nothing itself: labels teach one of the two."""
    built = built_of(trace)
    pairs = list(_drawn_to(built, ran))
    if not pairs:
        return
    taught = {end for each in runs for end in _taught(built, each)}
    for site, student, teacher, index in pairs:
        follows, leads = set(_outputs(built, student)), set(_outputs(built, teacher))
        mutual = any(
            not leads.isdisjoint(_outputs(built, one)) and not follows.isdisjoint(_outputs(built, other))
            for each in runs
            for _, one, other, _ in _drawn_to(built, each)
        )
        own, others = _known(teacher), _known(student)
        if not mutual and (leads | follows) & taught and own - others and others - own and not follows & leads:
            because = Step(site, "draws the student to the teacher, and the teacher to the student")
            given = next(
                (one for node in leads for one in node.outputs if lifted(site, node.site) is not site), teacher
            )
            yield Live(given, site, index, "a teacher is a constant for its student", because, ran)


def _drawn_to(built: Mapping[Node, Built], ran: BackwardRan) -> Iterator[tuple[Site, Tensor, Tensor, int]]:
    """Where, by which of two tensors, and to which: losses between two distributions that both have a graph."""
    for node in ran.executed:
        event, name = built.get(node), short_operation(node.name)
        if event is None:
            continue
        if name in _BY_PROBABILITIES:
            one, other = (event.inputs.get(each, ()) for each in ("input", "target"))
            if len(one) == len(other) == 1 and all(map(is_live, (*one, *other))):
                yield event.site, one[0], other[0], 1
        given = event.operands if name == "mul" else []
        if len(given) == 2 and all(map(is_live, given)):
            for index, (weight, logarithm) in enumerate((given, given[::-1])):
                ends = [_named(each, _SCALES - _PROBABILITIES - _LOGARITHMS) for each in (weight, logarithm)]
                if ends[0] in _PROBABILITIES and ends[1] in _LOGARITHMS | {"logsigmoid"}:
                    yield event.site, logarithm, weight, index


def _named(tensor: Tensor, through: frozenset[str]) -> str:
    """The operation that gave a tensor, multiples left aside."""
    node = tensor.node
    while node is not None and short_operation(node.name) in through:
        live = [edge for edge in node.edges if not edge.is_open]
        node = live[0] if len(live) == 1 else None
    return "" if node is None else short_operation(node.name)


def _outputs(built: Mapping[Node, Built], tensor: Tensor) -> Iterator[Node]:
    """The outputs of networks that a distribution is computed from."""
    scaled: Callable[[str], bool] = _SCALES.__contains__
    yield from values(built, tensor.node, differs=False, through=scaled)


def _taught(built: Mapping[Node, Built], ran: BackwardRan) -> Iterator[Node]:
    """The outputs that a loss compares with labels."""
    for node in ran.executed:
        event = built.get(node) if short_operation(node.name) in _BY_LABELS else None
        given = [] if event is None else event.operands
        for tensor in given:
            if tensor.node is not None and sum(map(is_live, given)) == 1:
                yield from _outputs(built, tensor)
