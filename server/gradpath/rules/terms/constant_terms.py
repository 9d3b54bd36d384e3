"""Terms of a loss that are constants: what they came from was cut off on the way, and learns nothing from them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from gradpath.autograd.provenance import OBSERVED, OPEN, Presumption
from gradpath.autograd.tensor import LOSSES, PRESUMED, PRESUMED_LOSS, SWITCHED_OFF, BackwardCall, Node, Tensor
from gradpath.findings import cuts
from gradpath.findings.graphs import leaves, moves_any, nodes_of, of_one_element, reach, reached_leaves, terms_of
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, name_of, same_activation, short_operation
from gradpath.findings.syntax import Definition, ancestry, call_of
from gradpath.findings.unreached import coming_back, is_carried, is_of_another_time, is_on_purpose, places_of
from gradpath.findings.ways import Severed, ways_to
from gradpath.fixes.cut_fixes import undone
from gradpath.interpreter.events import BackwardRan, Mixed, Mutated, Site, Stepped, iterations_between
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.terms.constant_gradients import asked_beside, asked_for, constant_gradients
from gradpath.rules.terms.summands import SCALING, constants, is_shown, on_the_way, terms, unscaled
from gradpath.source.index import holds, inside
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable
from gradpath.support.words import words

_MEASURES = frozenset({"norm", "vector_norm", "pow", "square", "abs", "clamp", "relu"})
"""Operations that make a penalty of a gradient; a scaled one may be a step, as in first-order meta-learning."""

_VALUES_ALONE = SWITCHED_OFF | {"not differentiable"}
"""Cuts after which one number, such as a count, has nothing in a loss that anything could learn from."""

_DISTANCES = words("norm vector_norm pow square abs cosine_similarity pairwise_distance cdist")
"""Operations that compute a loss by hand: what is cut off before them was meant for the loss alone."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term without a graph: where it was cut, from which tensor, where it is added, and the backward.

    `measured` says that what is cut off was measured by a loss, of which nothing is left. `value` is the term itself,
    before a factor that is not seen `scaled` it. A number was `computed` at some places from what was cut off.
    """

    cause: cuts.Cause
    source: Tensor
    added: Site
    ran: BackwardRan
    measured: bool = False
    value: Tensor | None = None
    scaled: bool = False
    computed: tuple[Site, ...] = ()

    @property
    def site(self) -> Site:
        """Where the graph ends."""
        assert self.cause.site is not None
        return self.cause.site

    @property
    def made(self) -> tuple[Site, ...]:
        """Where the term was computed from what was cut off, which a path that leaves it out does not come to."""
        onward = () if self.value is None else _onward(self.value)
        return (*self.computed, *(each.origin for each in onward))

    def report(self, trace: Trace, source: Source) -> Report:
        site = self.site
        if self.cause.how in SWITCHED_OFF:
            return self._blind(trace, source)
        cut = source.short(site, limit=40)
        name = name_of(trace, source, self.source, site) or ""
        what = (
            f"`{name}`" if name.strip("_") and len(name) <= 24 and self.cause.how != "gradient" else "what it came from"
        )
        added = lifted(self.added, self.ran.site)
        steps = [Step(site, "takes the value and leaves the graph")]
        if self.added.node is not site.node:
            steps.append(Step(added, "adds a constant to the loss"))
        alone = self.source.node is not None and not self.measured
        outcome = f"{what} gets no gradient" if alone else f"{what} learns nothing from it"
        steps.append(Step(self.ran.site, f"gives {what} no gradient" + ("" if alone else " from it")))
        return Report(
            site,
            f"`{cut}` makes a constant of a term of the loss: {outcome}{self._condition()}",
            tuple(steps),
            help=_help(self, what if name else "the tensor"),
            through=self.made,
            fixes=source.proposed(undone(trace, source, self.cause, self.ran.site, self.added)),
        )

    def _condition(self) -> str:
        """What is presumed of the loss that measures what was cut off, or of what gave that, if it is not seen."""
        unseen = self.source.node.onward if self.source.is_open and self.source.node is not None else None
        if unseen is not None:
            return f", if {unseen.brief}"
        made = () if self.value is None else self.value.lineage()
        presumed = (each.provenance for each in made if each.operation == PRESUMED_LOSS)
        condition = next((each for each in presumed if isinstance(each, Presumption)), None)
        return "" if condition is None else f", if {condition.brief}"

    def _blind(self, trace: Trace, source: Source) -> Report:
        """The report of a loss of a prediction that was made while gradients were off."""
        severed = Severed(self.cause, self.site, self.ran)
        at = next(iter(places_of(trace, source, [severed]).values())).site
        return Report(
            at,
            f"a term of the loss is a constant: {cuts.verdict(trace, source, self.cause, at)}",
            (
                Step(at, "computes this without a graph"),
                Step(lifted(self.added, self.ran.site), "adds a constant to the loss"),
                Step(self.ran.site, "gives the network no gradient from it"),
            ),
            help="compute the term with gradients on, if the network is to learn from it",
            fixes=source.proposed(undone(trace, source, self.cause, self.ran.site, self.added)),
        )


def constant_terms(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Term]:
    """The terms of one backward that are constants by a slip."""
    for term in _terms(trace, source, ran, asked_beside(trace, ran)):
        if term.cause.site is not None and _is_lost(trace, term):
            yield term


def _terms(trace: Trace, source: Source, ran: BackwardRan, asked: list[BackwardCall]) -> Iterator[Term]:
    zone = terms_of(ran.call.starts)
    graph = reach(ran.call.starts)
    scalar = of_one_element(ran.call.starts) if _is_of_a_scalar(trace, ran) else {}
    for tensor, event, baseline in constants(trace, ran):
        operands = event.operands
        unlearned = _unlearned(trace, source, ran, tensor, event.site, scalar=event.node in scalar)
        scaled = all(tensor is not other for other in operands)
        baseline = baseline and not scaled and short_operation(tensor.operation) != "mul"  # A bonus has a weight.
        if unlearned is not None and not (
            baseline and _is_plain_number(unlearned.cause, tensor) and not _is_of_live_input(tensor)
        ):
            yield unlearned
            continue
        for each in tensor.lineage():
            cut = each.cut
            if cut is not None and cut.source is not None:
                beside = any(cut.source is other for other in operands)  # `w - w.detach()` has a gradient.
                weight = cut.source.node is None
                if weight and not _is_lost_weight(trace, tensor, each, ran):
                    continue
                if not _is_apart(cut.source, graph) or beside or is_carried(each) or _may_come_back(trace, cut.source):
                    continue
                yield Term(cuts.cause_of_tensor(each), cut.source, event.site, ran, weight, tensor, scaled)
                break
            call = asked_for(each, asked) if _is_penalty(tensor, each) else None
            if call is not None:
                yield Term(cuts.cause_of_tensor(each), call.roots[0], event.site, ran)
                break
        else:
            yield from _of_rows(trace, tensor, event.site, ran, asked)
    for found in constant_gradients(trace, ran):
        yield Term(cuts.cause_of_tensor(found.gradient), found.call.roots[0], found.added, ran, measured=True)
    for number in trace.of(Mixed):
        if number.operator not in ("add", "sub"):
            continue
        result, read = number.tensor, number.read
        origin = _before_detach(read.tensor)
        if result is None or result.node not in zone or origin.node is None or not _has_graph(origin, graph):
            continue
        if iterations_between(read.site.loops, ran.site.loops) is not None:
            continue  # A number of the iteration before, whose graph is gone.
        apart = origin.node not in graph
        if moves_any(origin.node) and (apart or (read.how == "numpy" and number.operator == "add")):
            cause = cuts.Cause(read.how, read.site, origin, read.how)
            yield Term(cause, origin, number.site, ran, measured=not apart, computed=number.computed)


def _may_come_back(trace: Trace, source: Tensor) -> bool:
    """True if unseen code has what was computed of the same weights, and the loss may be computed of that."""
    known = coming_back(trace)
    return bool(known) and any(id(each) in known for each in source.lineage())


def _is_of_a_scalar(trace: Trace, ran: BackwardRan) -> bool:
    """True if a backward is given no gradient, so that its root has one element."""
    match call_of(trace, ran.site.node):
        case ast.Call(func=ast.Attribute(attr="backward"), args=[], keywords=keywords):
            return all(each.arg != "gradient" for each in keywords)
    return False


def _is_plain_number(cause: cuts.Cause, term: Tensor) -> bool:
    """True if a term is nothing but a value: subtracted, it is a baseline."""
    return cause.how in _VALUES_ALONE or _is_of_array(term)


def _unlearned(
    trace: Trace, source: Source, ran: BackwardRan, value: Tensor, added: Site, *, scalar: bool
) -> Term | None:
    """A term that depends on what the same backward trains, by its values alone; it is a `scalar` for certain.

    It is a loss of nothing but what was cut off, or what a network, or one number, was computed to while gradients were
    off. Of several cuts a copy comes first: a choice has no gradient by nature.
    """
    found = list(_by_values_alone(trace, source, ran, value, added, scalar=scalar))
    return min(found, key=lambda each: not cuts.is_copy(each.cause), default=None)


def _by_values_alone(
    trace: Trace, source: Source, ran: BackwardRan, value: Tensor, added: Site, *, scalar: bool
) -> Iterator[Term]:
    """The same, one for each parameter."""
    if value.one_element is False:
        return
    for parameter, ways in ways_to(trace, value, ran, picked=True):
        if not ways.sure or not ways.cuts:
            continue
        slips = [
            each
            for each in ways.cuts
            if _is_here(trace, each.site)
            and (not is_on_purpose(trace, source, each) or _is_measured_beside(trace, value, each.site))
        ]
        if not slips or any(map(is_of_another_time, ways.cuts)):
            continue
        cause = slips[0].cause
        one = scalar or unscaled(value).one_element is True or cause.tensor.operation == PRESUMED_LOSS
        off = one and cause.how in (*_VALUES_ALONE, *cuts.COPIES)
        off = off or (cause.how in SWITCHED_OFF and _is_of_live_input(value))
        off = off or (one and (_is_of_score(cause) or _is_of_array(value)))
        if off or (cause.how in ("detach", "data", *SWITCHED_OFF) and _is_measured(value, trace)):
            cut = cause.tensor.cut
            kept = parameter if cut is None or cut.source is None else cut.source
            yield Term(cause, kept, added, ran, measured=True, value=value)


def _is_of_score(cause: cuts.Cause) -> bool:
    """True if a log-probability is cut off where it was computed: the term is there to raise or lower it."""
    cut = cause.tensor.cut
    return cut is not None and cut.source is not None and cut.source.operation.endswith("log_prob")


def _is_of_array(value: Tensor) -> bool:
    """True if a term was computed by NumPy, of what was detached to become an array."""
    cut = next((each.cut for each in unscaled(value).lineage() if each.cut is not None), None)
    return cut is not None and cut.how == "numpy"


def _is_of_live_input(value: Tensor) -> bool:
    """True if a network computed a value, while gradients were off, of something on a graph.

    Such a network judges what is trained. Without one it may be the maximum that a softmax subtracts, for instance.
    """

    def constants_of(each: Tensor) -> list[Tensor]:
        return [source for source in each.maker if source.node is None and not source.is_parameter]

    found = list(reachable([value], constants_of))
    return any(source.is_parameter for each in found for source in each.maker) and any(map(_is_live_there, found))


def _is_live_there(tensor: Tensor) -> bool:
    """True if gradients were off where a tensor was computed from something that is sure to be on a graph."""
    cut = tensor.cut
    if cut is None or cut.how not in SWITCHED_OFF or cut.source is None:
        return False
    return cut.source.node is not None and not cut.source.is_open


def _is_measured(value: Tensor, trace: Trace) -> bool:
    """True if a loss, or a distance, was computed on the way to a value since it was cut off, or added to it."""
    written = _written(trace)

    def uncut(each: Tensor) -> Iterable[Tensor]:
        return () if each.cut is not None else (*each.maker, *written.get(id(each.storage), ()))

    return any(
        each.cut is None and (each.operation.endswith(LOSSES) or short_operation(each.operation) in _DISTANCES)
        for each in reachable([value], uncut)
    )


def _is_measured_beside(trace: Trace, value: Tensor, cut: Site) -> bool:
    """True if a setting chooses a loss of what is cut off, and not the cut alone: both are in the same branch.

    Where the other branch computes the same of what is not cut off, it does choose the cut.
    """
    around = _arms(trace, cut.node)
    for each in _onward(value):
        call = call_of(trace, each.origin.node) if each.operation.endswith(LOSSES) else None
        arms = {} if call is None else _arms(trace, call)
        if around and all(arms.get(branch) is arm for branch, arm in around.items()):
            others = [one for branch, arm in around.items() for one in (branch.body, branch.orelse) if one is not arm]
            names = {last_name(node.func) for other in others for one in other for node in inside(one, ast.Call)}
            if call is not None and last_name(call.func) not in names:
                return True
    return False


def _arms(trace: Trace, node: ast.AST) -> dict[ast.If, list[ast.stmt]]:
    """The branches of its function that a node is in, each with the arm that it stands in."""
    around = ancestry(trace, node)
    first = max((i for i, each in enumerate(around) if isinstance(each, Definition)), default=0)
    branches = (each for each in around[first:] if isinstance(each, ast.If))
    return {each: each.body if any(one in each.body for one in around) else each.orelse for each in branches}


def _of_rows(trace: Trace, value: Tensor, added: Site, ran: BackwardRan, asked: list[BackwardCall]) -> Iterator[Term]:
    """A penalty of a Jacobian that was filled with one gradient at a time."""
    for each in gathered(trace, value):
        call = asked_for(each, asked) if _is_penalty(value, each) else None
        if call is not None:
            yield Term(cuts.cause_of_tensor(each), call.roots[0], added, ran)
            return


def gathered(trace: Trace, value: Tensor) -> Iterator[Tensor]:
    """What a value was computed from by what was written, without a graph, into a tensor on the way."""
    written = _written(trace)
    for each in value.lineage():
        for source in written.get(id(each.storage), ()):
            yield from source.lineage()


@once
def _written(trace: Trace) -> dict[int, list[Tensor]]:
    """What was written into each storage without a graph."""
    written: dict[int, list[Tensor]] = {}
    for event in trace.of(Mutated):
        written.setdefault(id(event.tensor.storage), []).extend(event.sources)
    return written


def _onward(value: Tensor) -> list[Tensor]:
    """What was computed on the way from what was cut off to a value, and the value itself."""
    cut = (each for each in value.lineage() if each.cut is not None)
    return list(dict.fromkeys((value, *on_the_way(value, cut))))


def _is_penalty(term: Tensor, gradient: Tensor) -> bool:
    """True if a term is one number that was computed from a gradient without a graph, and not the gradient itself."""
    if gradient.operation != "gradient" or gradient.requires_grad or unscaled(term).one_element is not True:
        return False
    made = [each.operation for each in term.lineage()]
    return any(each.endswith(LOSSES) or short_operation(each) in _MEASURES for each in made)


def _is_apart(source: Tensor, graph: dict[Node, None]) -> bool:
    """True if a cut keeps the loss from all that it could learn through `source`.

    The values of a weight, too, are a slip; but one of a single element may be a multiplier, constant on purpose.
    """
    if source.node is None:
        return source.is_parameter and source.flag and source.one_element is not True
    return source.node not in graph and _has_graph(source, graph) and moves_any(source.node)


def _has_graph(value: Tensor, graph: Collection[Node]) -> bool:
    """True if a value has a graph: an open one is taken to, if it comes from the computation that the loss is of."""
    return not value.is_open or _shares(value, graph)


def _shares(value: Tensor, graph: Collection[Node]) -> bool:
    """True if a value was computed from something that a graph computes, and not from a leaf alone."""
    return any(each in graph and each.accumulates is None and not each.is_open for each in reach([value]))


def _before_detach(tensor: Tensor) -> Tensor:
    """The tensor itself, or what it was detached from, as in `aux.detach().item()`."""
    if tensor.node is not None:
        return tensor
    cut = next((each.cut for each in tensor.lineage() if each.cut), None)
    if cut is None or cut.source is None or short_operation(cut.how) not in ("detach", "data"):
        return tensor
    return cut.source


def _is_lost(trace: Trace, term: Term) -> bool:
    """True if the cut is a slip: a copy by value, or one that leaves parameters of an optimizer without a gradient."""
    if cuts.is_copy(term.cause) or term.measured:
        return True
    if term.cause.how == "gradient":
        steps = trace.of(Stepped)
        stepped = {id(tensor.storage) for event in steps for tensor in event.parameters}
        if steps and not stepped:  # Of whose parameters nothing is seen.
            return not set(leaves([term.source])).isdisjoint(reached_leaves(term.ran))
        saved = (each for node in reach([term.source]) for each in node.saved)
        return any(id(each.storage) in stepped for each in saved)
    if term.cause.how not in ("detach", "data"):
        return False
    runs = trace.of(BackwardRan)
    if not isinstance(trace.entry, ast.Module):
        # It may have a backward of its own, be kept for another call, and a factor may be all that is to learn.
        alone = not any(term.source.node in run.executed for run in runs)
        here = same_activation(term.site, term.ran.site)
        if not alone or not here or _learns_elsewhere(term, runs):
            return False
        below = reach([term.source])
        learns = any(_has_graph(each, below) for each, _ in terms(trace, term.ran))
        onward = () if term.value is None else _onward(term.value)
        products = [each for each in onward if short_operation(each.operation) in SCALING]
        factors = (each for product in products for each in product.maker if each not in onward)
        weighed = term.scaled or any(each.provenance is OPEN and not is_shown(trace, each) for each in products)
        weighed = weighed or any(_is_given(each) and not is_shown(trace, each) for each in factors)
        return (learns or not term.scaled) and (_may_be_loss(term.source) or not weighed)
    trained = {id(tensor) for event in trace.of(Stepped) for tensor in event.parameters}
    reached = {id(leaf) for run in runs for leaf in reached_leaves(run)}
    upstream = {id(leaf) for leaf in leaves([term.source])}
    return bool((upstream & trained) - reached)


def _is_given(factor: Tensor) -> bool:
    """True if a factor was computed from something that is presumed to be data, and may have a graph all the same."""
    made = reachable([factor], lambda each: () if each.cut is not None else each.maker)
    return any(each.provenance is not OBSERVED and not each.maker and each.cut is None for each in made)


def _may_be_loss(value: Tensor) -> bool:
    """True for one number, and for what is computed of a model's result: no advantage that weighs a log-probability."""
    if value.one_element is True or value.operation.endswith(LOSSES):
        return True
    return value.operation == PRESUMED and all(each.accumulates is None for each in nodes_of([value])[0].edges)


def _learns_elsewhere(term: Term, runs: Iterable[BackwardRan]) -> bool:
    """True if all that was cut off gets its gradients from another backward: two losses that are kept apart."""
    others = (each for each in runs if each.site.node is not term.ran.site.node)
    reached = {id(leaf) for run in others for leaf in reached_leaves(run)}
    own = set(map(id, leaves([term.source])))
    unseen = any(each.is_open and not each.edges for each in reach([term.source]))
    return bool(own) and own <= reached and not unseen


def _is_lost_weight(trace: Trace, term: Tensor, value: Tensor, ran: BackwardRan) -> bool:
    """True if a term takes a weight that is to learn by its value; where steps are of unseen parameters, it may be.

    A value that was taken before the loop or the call that learns is a fixed point that the weight is compared with.
    """
    cut = value.cut
    if cut is None or not _is_here(trace, cut.site):
        return False
    around = ran.site.loops
    if around and all(number != around[-1][0] for number, _ in cut.site.loops):
        return False
    if cuts.cause_of_tensor(value).how not in ("detach", "data"):
        return False
    steps = trace.of(Stepped)
    if any(cut.source is each for step in steps for each in step.parameters):
        return True
    return _is_measured(term, trace) and any(not step.known for step in steps)


def _is_here(trace: Trace, cut: Site) -> bool:
    """True if a cut was made by what is run, and not by what made its object before: a fixed point."""
    entry = trace.entry
    return any(each.node is not entry and holds(entry, each.node) for each in cut.frames())


def _help(term: Term, what: str) -> str:
    if term.cause.how == "gradient":
        return "pass `create_graph=True`, so that the gradient can itself be back-propagated"
    if term.cause.how == "not differentiable":
        return cuts.way_out(term.cause)
    if term.cause.how == "numpy":
        return f"compute the term with torch, from {what} itself: NumPy leaves no graph"
    return f"add {what} itself, and take its value only for what is printed"
