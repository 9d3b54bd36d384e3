"""A term of a loss that is cut off, so that what it came from learns nothing from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.diagnostic import Advice, Level
from gradpath.findings import cuts
from gradpath.findings.estimates import estimates, report_estimate
from gradpath.findings.gradient_flow import is_whole
from gradpath.findings.graphs import is_sum, leaves, moves_any, nodes_of, reach, reached_leaves, terms_of
from gradpath.findings.learning import ways_to
from gradpath.findings.parameters import groups_of
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import lifted, name_of, short_operation
from gradpath.findings.unreached import is_carried, is_of_another_time, is_on_purpose, unreached
from gradpath.fixes.term_fixes import undone
from gradpath.interpreter.trace import BackwardRan, Built, Mixed, Site, Stepped, Trace, iterations_between
from gradpath.rules.terms.anchored import anchored, report_anchored
from gradpath.rules.terms.cancelled import cancelled, report_cancelled
from gradpath.rules.terms.constant_criteria import LOSSES, ConstantCriterion, constant_criterion, report_constant
from gradpath.rules.terms.constant_gradients import constant_gradients
from gradpath.rules.terms.drawn_terms import CutTerm, drawn_terms
from gradpath.rules.terms.flat_terms import flat_terms
from gradpath.rules.terms.unused_terms import unused_terms
from gradpath.source.index import holds
from gradpath.support.fast_dataclasses import dataclass

_MEASURES = frozenset({"norm", "vector_norm", "pow", "square", "abs", "clamp", "relu"})
"""Operations that make a penalty of a gradient; a scaled one may be a step, as in first-order meta-learning."""

_SWITCHED_OFF = frozenset({"no_grad", "inference_mode"})

_VALUES_ALONE = _SWITCHED_OFF | {"not differentiable"}
"""Cuts after which one number, such as a count, has nothing in a loss that anything could learn from."""

_DISTANCES = frozenset(
    {"norm", "vector_norm", "pow", "square", "abs", "cosine_similarity", "pairwise_distance", "cdist"}
)
"""Operations that compute a loss by hand: what is cut off before them was meant for the loss alone."""

_COPIES = frozenset({"torch.tensor", "item", "float", "numpy", "tolist"})


@dataclass(frozen=True, slots=True)
class Term:
    """A term without a graph: where it was cut, from which tensor, where it is added, and the backward.

    `measured` says that what is cut off was measured by a loss, of which nothing is left. `value` is the term itself.
    """

    cause: cuts.Cause
    source: Tensor
    added: Site
    ran: BackwardRan
    measured: bool = False
    value: Tensor | None = None

    @property
    def made(self) -> tuple[Site, ...]:
        """Where the term was computed, which a path that leaves it out of the loss does not come to."""
        origin = None if self.value is None else self.value.origin
        return (origin,) if isinstance(origin, Site) else ()


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Terms that are plain copies, or whose parameters learn from nothing else, if nothing else is known of the cut."""
    if not is_whole(trace):
        return
    built = {id(event.node): event for event in trace.of(Built)}
    mixed = [event for event in trace.of(Mixed) if event.operator in ("add", "sub")]
    asked = [event.call for event in trace.of(BackwardRan) if not event.call.accumulates]
    places = [place for each in unreached(trace, source) for place in each.places]
    seen = {site.node for place in places for site in (place.site, place.severed.site)}
    blocks = {_block(trace, source, place.severed.site) for place in places} - {None}
    for event in trace.of(BackwardRan):
        if not event.call.accumulates:
            continue
        for term in _terms(trace, source, event, built, mixed, asked):
            site = term.cause.site
            if site is None or (blocks and _block(trace, source, site) in blocks):
                continue  # What is under the same `no_grad` is one fault.
            if site.node not in seen and _is_lost(trace, term):
                seen.add(site.node)
                yield _report(trace, source, term)
        same = [report_cancelled(source, each) for each in cancelled(trace, event)]
        same += [report_anchored(source, each) for each in anchored(trace, event)]
        same += [report_constant(trace, source, each) for each in _constant_criteria(trace, source, event, built)]
        same += [report_estimate(trace, source, each) for each in estimates(trace, event)]
        for report in same:
            if report.at.node not in seen:
                seen.add(report.at.node)
                yield report
        for cut in _cut_terms(trace, source, event):
            if cut.severed.site.node not in seen:
                seen.add(cut.severed.site.node)
                yield _report_cut(trace, source, cut)


def _cut_terms(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[CutTerm]:
    """The terms with a graph that are cut off from what other terms of the same backward train."""
    yield from drawn_terms(trace, ran)
    yield from unused_terms(trace, source, ran)
    yield from flat_terms(trace, source, ran)


def _block(trace: Trace, source: Source, site: Site) -> ast.AST | None:
    """The `with` or decorator around a site that switches gradients off."""
    switch = cuts.switch_around(trace, source, site)
    return None if switch is None else switch.site.node


def _terms(
    trace: Trace,
    source: Source,
    ran: BackwardRan,
    built: dict[int, Built],
    mixed: list[Mixed],
    asked: list[BackwardCall],
) -> Iterator[Term]:
    zone = terms_of(nodes_of(ran.call.roots))
    graph = reach(nodes_of(ran.call.roots))
    for tensor, event, baseline in _constants(trace, ran, built):
        operands = event.operands
        unlearned = _unlearned(trace, source, ran, tensor, event.site)
        if unlearned is not None and not (baseline and unlearned.cause.how in _VALUES_ALONE):
            yield unlearned
            continue
        for each in (tensor, *tensor.ancestors()):
            cut = each.cut
            if cut is not None and cut.source is not None and isinstance(cut.site, Site):
                beside = any(cut.source is other for other in operands)  # `w - w.detach()` has a gradient.
                weight = cut.source.node is None
                if weight and not _is_lost_weight(trace, tensor, each, ran):
                    continue
                if _is_apart(cut.source, graph) and not beside and not is_carried(each):
                    yield Term(cuts.cause_of_tensor(each), cut.source, event.site, ran, weight, tensor)
                break
            call = _asked_for(each, asked) if _is_penalty(tensor, each) else None
            if call is not None:
                yield Term(cuts.cause_of_tensor(each), call.roots[0], event.site, ran)
                break
    for found in constant_gradients(trace, ran):
        yield Term(cuts.cause_of_tensor(found.gradient), found.call.roots[0], found.added, ran, measured=True)
    for number in mixed:
        result, read = number.tensor, number.read
        origin = _before_detach(read.tensor)
        if result is None or result.node not in zone or origin.node is None or origin.is_open:
            continue
        if iterations_between(read.site.loops, ran.site.loops) is not None:
            continue  # A number of the iteration before, whose graph is gone.
        apart = origin.node not in graph
        if moves_any(origin.node) and (apart or (read.how == "numpy" and number.operator == "add")):
            cause = cuts.Cause(read.how, read.site, origin, read.how)
            yield Term(cause, origin, number.site, ran, measured=not apart)


def _constants(trace: Trace, ran: BackwardRan, built: dict[int, Built]) -> Iterator[tuple[Tensor, Built, bool]]:
    """The terms of a loss without a graph, where each is added, and whether it is subtracted, as a baseline is."""
    for node in terms_of(nodes_of(ran.call.roots)):
        event = built.get(id(node))
        if event is None or not is_sum(node):
            continue
        subtracted = event.inputs.get("other", ()) if "sub" in short_operation(node.name) else ()
        for operand in event.operands:
            term = _without_factor(trace, operand)
            if not term.requires_grad and not _is_nothing(term):
                yield term, event, any(operand is each for each in subtracted)


def _constant_criteria(
    trace: Trace, source: Source, ran: BackwardRan, built: dict[int, Built]
) -> Iterator[ConstantCriterion]:
    for term, _, baseline in _constants(trace, ran, built):
        found = None if baseline else constant_criterion(trace, source, ran, term)
        if found is not None:
            yield found


def _unlearned(trace: Trace, source: Source, ran: BackwardRan, value: Tensor, added: Site) -> Term | None:
    """A term that depends on what the same backward trains, by its values alone.

    It is a loss of nothing but what was cut off, or one number that was computed while gradients were off.
    """
    if value.one_element is False:
        return None
    for parameter, ways in ways_to(trace, value, ran, picked=True):
        if not ways.sure or not ways.cuts:
            continue
        slips = [each for each in ways.cuts if not is_on_purpose(trace, source, each)]
        if not slips or any(map(is_of_another_time, ways.cuts)):
            continue
        cause = slips[0].cause
        off = cause.how in (*_VALUES_ALONE, *_COPIES) and _unscaled(value).one_element is True
        if off or (cause.how in ("detach", "data", *_SWITCHED_OFF) and _is_measured(value)):
            cut = cause.tensor.cut
            kept = parameter if cut is None or cut.source is None else cut.source
            return Term(cause, kept, added, ran, measured=True, value=value)
    return None


def _is_measured(value: Tensor) -> bool:
    """True if a loss, or a distance, was computed on the way to a value since it was cut off."""
    todo, seen = [value], set[int]()
    while todo:
        each = todo.pop()
        if id(each) not in seen and each.cut is None:
            seen.add(id(each))
            if each.operation.endswith(LOSSES) or short_operation(each.operation) in _DISTANCES:
                return True
            todo.extend(each.maker)
    return False


def _is_penalty(term: Tensor, gradient: Tensor) -> bool:
    """True if a term is one number that was computed from a gradient without a graph, and not the gradient itself."""
    if gradient.operation != "gradient" or gradient.requires_grad or _unscaled(term).one_element is not True:
        return False
    made = [each.operation for each in (term, *term.ancestors())]
    return any(each.endswith(LOSSES) or short_operation(each) in _MEASURES for each in made)


def _without_factor(trace: Trace, term: Tensor) -> Tensor:
    """A term before something scaled it of which nothing is known, and which does nothing but scale: a setting."""
    while term.requires_grad and term.node is not None and short_operation(term.node.name) in _SCALING:
        rest = [each for each in term.maker if not _is_setting(trace, each)]
        if len(rest) != 1 or len(term.maker) != 2:
            break
        term = rest[0]
    return term


def _is_nothing(term: Tensor) -> bool:
    """True if a term is written as zero times something: nothing of it was meant to be learnt."""
    match term.origin:
        case Site(node=ast.BinOp(op=ast.Mult(), left=left, right=right)):
            return any(isinstance(each, ast.Constant) and each.value == 0 for each in (left, right))
    return False


def _is_setting(trace: Trace, factor: Tensor) -> bool:
    """True if nothing is known of a factor that only scales: an unknown value, or `1 - alpha` of a parameter."""
    if not (factor.is_open and _scales(trace, factor)):
        return False
    if short_operation(factor.operation) not in _SHIFTING:
        return not factor.maker
    return all(isinstance(each.origin, Site) and isinstance(each.origin.node, ast.FunctionDef) for each in factor.maker)


def _scales(trace: Trace, factor: Tensor) -> bool:
    """True if all that a path does with a tensor is to multiply by it."""
    uses = [each for each in trace.of(Built) if any(factor is one for one in each.operands)]
    return all(short_operation(each.node.name) in _SCALING for each in uses)


_SCALING = ("mul", "div")

_SHIFTING = ("add", "sub", "rsub")


def _unscaled(term: Tensor) -> Tensor:
    """A term before a setting scaled it, of which nothing is known, not even that it is one number."""
    while term.one_element is None and short_operation(term.operation) in _SCALING:
        computed = [each for each in term.maker if each.operation]
        if len(computed) != 1:
            break
        term = computed[0]
    return term


def _asked_for(gradient: Tensor, asked: list[BackwardCall]) -> BackwardCall | None:
    """The call of `autograd.grad` that gave a gradient, without a graph of its own."""
    made = gradient.origin
    if not isinstance(made, Site):
        return None
    for call in asked:
        site = call.site
        if isinstance(site, Site) and site.node is made.node and site.loops == made.loops and not call.create_graph:
            return call
    return None


def _is_apart(source: Tensor, graph: dict[Node, None]) -> bool:
    """True if a cut keeps the loss from all that it could learn through `source`.

    The values of a weight, too, are a slip; but one of a single element may be a multiplier, constant on purpose.
    """
    if source.node is None:
        return source.is_parameter and source.flag and source.one_element is not True
    return source.node not in graph and not source.is_open and moves_any(source.node)


def _before_detach(tensor: Tensor) -> Tensor:
    """The tensor itself, or what it was detached from, as in `aux.detach().item()`."""
    if tensor.node is not None:
        return tensor
    cut = next((each.cut for each in (tensor, *tensor.ancestors()) if each.cut), None)
    if cut is None or cut.source is None or short_operation(cut.how) not in ("detach", "data"):
        return tensor
    return cut.source


def _is_lost(trace: Trace, term: Term) -> bool:
    """True if the cut is a slip: a copy by value, or one that leaves parameters of an optimizer without a gradient."""
    if term.cause.how in _COPIES or term.measured:
        return True
    if term.cause.how == "gradient":
        steps = trace.of(Stepped)
        stepped = {id(tensor.storage) for event in steps for tensor in event.parameters}
        if steps and not stepped and term.source.node is not None:  # Of whose parameters nothing is seen.
            return not set(leaves([term.source.node])).isdisjoint(reached_leaves(term.ran))
        saved = (each for node in reach(nodes_of([term.source])) for each in node.saved)
        return any(id(each.storage) in stepped for each in saved)
    if term.cause.how not in ("detach", "data") or not isinstance(trace.entry, ast.Module):
        return False
    trained = {id(tensor) for event in trace.of(Stepped) for tensor in event.parameters}
    runs = trace.of(BackwardRan)
    reached = {id(leaf) for run in runs for leaf in reached_leaves(run)}
    upstream = {id(leaf) for leaf in leaves(nodes_of([term.source]))}
    return bool((upstream & trained) - reached)


def _is_lost_weight(trace: Trace, term: Tensor, value: Tensor, ran: BackwardRan) -> bool:
    """True if a term takes a weight that is to learn by its value; where steps are of unseen parameters, it may be.

    A value that was taken before the loop or the call that learns is a fixed point that the weight is compared with.
    """
    cut = value.cut
    if cut is None or not isinstance(cut.site, Site) or not holds(trace.entry, cut.site.frames()[-1].node):
        return False
    around = ran.site.loops
    if around and all(number != around[-1][0] for number, _ in cut.site.loops):
        return False
    if cuts.cause_of_tensor(value).how not in ("detach", "data"):
        return False
    steps = trace.of(Stepped)
    if any(cut.source is each for step in steps for each in step.parameters):
        return True
    return _is_measured(term) and any(not step.known for step in steps)


def _report(trace: Trace, source: Source, term: Term) -> Report:
    site = term.cause.site
    assert site is not None
    if term.cause.how in _SWITCHED_OFF:
        return _report_blind(trace, source, term, site)
    cut = source.short(site, limit=40)
    name = name_of(trace, source, term.source, site) or ""
    what = f"`{name}`" if name.strip("_") and len(name) <= 24 and term.cause.how != "gradient" else "what it came from"
    added = lifted(term.added, term.ran.site)
    steps = [Step(site, "takes the value and leaves the graph")]
    if term.added.node is not site.node:
        steps.append(Step(added, "adds a constant to the loss"))
    alone = term.source.node is not None and not term.measured
    outcome = f"{what} gets no gradient" if alone else f"{what} learns nothing from it"
    steps.append(Step(term.ran.site, f"gives {what} no gradient" + ("" if alone else " from it")))
    return Report(
        site,
        f"`{cut}` makes a constant of a term of the loss: {outcome}",
        tuple(steps),
        help=_help(term, what if name else "the tensor"),
        through=term.made,
        alternatives=(Advice.optional("a term that is not to be trained is better left out of the loss"),),
        fixes=source.proposed(undone(trace, source, term.cause, term.ran.site, term.added)),
    )


def _report_blind(trace: Trace, source: Source, term: Term, cut: Site) -> Report:
    """The report of a loss of a prediction that was made while gradients were off."""
    at = lifted(cut, term.ran.site)
    return Report(
        at,
        f"a term of the loss is a constant: {cuts.verdict(trace, source, term.cause, at)}",
        (
            Step(at, "predicts without a graph"),
            Step(lifted(term.added, term.ran.site), "adds a constant to the loss"),
            Step(term.ran.site, "gives the network no gradient from it"),
        ),
        help="let the network predict with gradients on where its prediction is to be trained",
        alternatives=(Advice.optional("a term that is not to be trained is better left out of the loss"),),
        fixes=source.proposed(undone(trace, source, term.cause, term.ran.site, term.added)),
    )


def _report_cut(trace: Trace, source: Source, term: CutTerm) -> Report:
    """The report of a term that gives gradients, and none to what the other terms train."""
    cause, ran = term.severed.cause, term.severed.ran
    names = [f"`{group.name}`" for group in groups_of(trace, source, term.parameters) if group.name]
    what = names[0] if names else "what it came from"
    more = f" and {len(names) - 1} others" if len(names) > 1 else ""
    return Report(
        term.place,
        f"a term of the loss gives {what}{more} no gradient: {cuts.verdict(trace, source, cause, term.place)}",
        (
            Step(term.place, "takes the value and leaves the graph"),
            Step(lifted(term.site, ran.site), "a term of the loss that depends on it"),
            Step(ran.site, f"gives {what} no gradient from it"),
        ),
        help=cuts.way_out(cause),
        fixes=source.proposed(undone(trace, source, cause, ran.site, term.site)),
    )


def _help(term: Term, what: str) -> str:
    if term.cause.how == "gradient":
        return "pass `create_graph=True`, so that the gradient can itself be back-propagated"
    if term.cause.how == "not differentiable":
        return cuts.way_out(term.cause)
    if term.cause.how == "numpy":
        return f"compute the term with torch, from {what} itself: NumPy leaves no graph"
    return f"add {what} itself, and take its value only for what is printed"


RULE = Rule(
    "detached-term",
    "detach",
    Level.WARNING,
    "a term of a loss is cut off: it counts in the loss, and nothing learns from it",
    None,
    find,
    idle=True,
    of_losses=True,
)
