"""Advantages, `reward - value`, that weigh a policy's loss while they are still on the graph of the value function.

A loss of its own trains the value function towards the rewards; through the product the policy pushes it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.gradient_flow import Effect, flow_of, place_in
from gradpath.findings.graphs import built_of, is_of_terms, leads_to, leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, name_of, short_operation
from gradpath.interpreter.events import BackwardRan, Built, Cleared, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Way
from gradpath.rules.targets.operands import detached
from gradpath.support.words import words

_REGRESSIONS = words(
    """pow square abs mse_loss smooth_l1_loss huber_loss l1_loss MSELoss SmoothL1Loss HuberLoss L1Loss"""
)
_DIFFERENCES = frozenset({"sub", "rsub", "sub_"})
_CLIPPING = frozenset({"minimum", "maximum", "min", "max", "clamp", "where"})
"""What takes the smaller of two products, as PPO does."""
_ASSEMBLING = words(
    """add add_ cat chunk clone contiguous CopySlices expand flatten float gather index index_add index_copy index_put
    index_select masked_fill mul neg permute reshape scatter select slice split squeeze stack sub sub_ rsub to transpose
    unbind unsqueeze view where"""
)
"""What puts an advantage together from values and data, beside a division."""


def advantages(trace: Trace, source: Source, trained: set[int]) -> Iterator[Report]:
    """The products, among the terms of losses, of a difference from a trained value that a loss fits, with others.

    Where it is not seen what the steps train, that is what the same backward fits.
    """
    built = built_of(trace)
    runs = trace.of(BackwardRan)
    fitted = {id(ran): dict(reversed([*_regressed(built, ran)])) for ran in runs}
    everywhere = {node: site for each in reversed(fitted.values()) for node, site in each.items()}
    all_estimators = _estimators(everywhere) if trained else {}
    for ran in runs if everywhere else ():
        regressed = everywhere if trained else fitted[id(ran)]
        estimators = all_estimators if trained else _estimators(regressed)
        for event in products(built, ran):
            given = event.operands
            for index, (weight, other) in enumerate((given, given[::-1])):
                for value in values(built, weight.node, differs=True):
                    fits = regressed.get(value)
                    if fits is None and _is_of_same_time(value, ran):
                        fits = estimators.get(_estimator(value))
                    if fits is not None and _pushes(trace, ran, value, other, trained):
                        later = None if value in regressed else value.site
                        yield _report(trace, source, event.site, index, weight, fits, ran, later)
                        break


def _estimators(regressed: Mapping[Node, Site]) -> dict[tuple[str, frozenset[int]], Site]:
    return {_estimator(node): site for node, site in reversed([*regressed.items()])}


def _estimator(value: Node) -> tuple[str, frozenset[int]]:
    """The weights that computed a value, and how: a bootstrapped one comes from those of the value of a state."""
    return value.name, frozenset(map(id, leaves([value])))


def _is_of_same_time(value: Node, ran: BackwardRan) -> bool:
    """True if a value is computed in the iteration of a backward; one that is carried into it is another fault."""
    return bool(value.site.loops[: len(ran.site.loops)] == ran.site.loops)


def _report(
    trace: Trace,
    source: Source,
    at: Site,
    index: int,
    weight: Tensor,
    regressed: Site,
    ran: BackwardRan,
    later: Site | None,
) -> Report:
    made = weight.made_at
    estimated = () if later is None else (Step(lifted(later, at), "estimates the value once more, with a graph"),)
    name = name_of(trace, source, weight, at) or source.short(made, limit=30)
    return Report(
        at,
        f"`{name}` weighs another loss with a graph of the value that it was computed from",
        (
            *estimated,
            Step(lifted(made, at), "depends on the value, with its graph"),
            Step(at, "weighs another loss: pushes the value as well"),
            Step(regressed, "fits the value to the data"),
            Step(ran.site, "moves the value by it"),
        ),
        help=f"weigh by `{name}.detach()`: the value is trained by a loss of its own",
        fixes=source.proposed(detached(source, at, index, Way.DETACH_WEIGHT)),
        through=() if later is None else (later,),
    )


def products(built: Mapping[Node, Built], ran: BackwardRan, *, leaves_too: bool = False) -> Iterator[Built]:
    """The products of two tensors with graphs that a loss is a sum of, or of the smaller ones of.

    With `leaves_too` also those with a leaf.
    """
    todo, seen = list(ran.call.starts), set[Node]()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        event, name = built.get(node), short_operation(node.name)
        given = event.operands if event is not None else []
        if (
            event is not None
            and name == "mul"
            and len(given) == 2
            and all(is_live(each) or (leaves_too and each.flag) for each in given)
        ):
            yield event
        elif name in _CLIPPING or is_of_terms(node):
            todo += node.edges


def _pushes(trace: Trace, ran: BackwardRan, value: Node, other: Tensor, trained: set[int]) -> bool:
    """True if the gradient that comes to a value through a product is what a step of the network uses."""
    upstream = {id(leaf) for leaf in leaves([value])}
    own = upstream & trained
    if not trained:
        own = upstream if _is_followed_by_steps(trace, ran) else own
    if not own or other.node is None or leads_to(other.node, value) or not leaves([other.node]):
        return False
    return not trained or is_used(trace, ran, own)


def _is_followed_by_steps(trace: Trace, ran: BackwardRan) -> bool:
    """True if steps of optimizers that are not seen follow a backward, before gradients are cleared."""
    events = trace.among(BackwardRan, Cleared, Stepped)
    after = events[place_in(events, ran) + 1 :]
    return bool(after) and isinstance(after[0], Stepped)


def is_used(trace: Trace, ran: BackwardRan, parameters: set[int]) -> bool:
    """True if a step uses what a backward gives to parameters, before that is cleared."""
    flow = flow_of(trace)
    begun = next((index for index, entry in enumerate(flow) if entry.event is ran), len(flow))
    effects = (entry.effect for entry in flow[begun + 1 :] if entry.concerns_any(parameters))
    return next((each for each in effects if each in (Effect.USED, Effect.CLEARED)), None) is Effect.USED


def _regressed(built: Mapping[Node, Built], ran: BackwardRan) -> Iterator[tuple[Node, Site]]:
    """The values that a loss fits to something."""
    for node in ran.executed:
        event = built.get(node)
        if event is None or short_operation(node.name) not in _REGRESSIONS:
            continue
        given = event.operands
        for each in given:
            for value in values(built, each.node, differs=len(given) == 1):
                yield value, event.site


def is_live(tensor: Tensor) -> bool:
    """True if a tensor certainly has a graph."""
    return tensor.node is not None and not tensor.node.is_open


def values(
    built: Mapping[Node, Built], start: Node | None, *, differs: bool, through: Callable[[str], bool] | None = None
) -> Iterator[Node]:
    """The results that something is put together from, also `through` the operations of some names.

    With `differs` they are those that are parts of a difference of two tensors.
    """
    todo = [] if start is None else [(start, not differs)]
    seen: set[tuple[Node, bool]] = set()
    while todo:
        node, apart = todo.pop()
        if (node, apart) in seen or node.is_open:
            continue
        seen.add((node, apart))
        name = short_operation(node.name)
        live = [edge for edge in node.edges if not edge.is_open]
        if name == "div" and live:
            todo.append((live[0], apart))  # What is divided: the rest is a measure of it.
        elif name in _ASSEMBLING and (name != "mul" or len(live) == 1):
            given = built[node].operands if node in built else []
            todo += [(edge, apart or (name in _DIFFERENCES and len(given) == 2)) for edge in live]
        elif through is not None and through(name) and live:
            todo += [(edge, apart) for edge in live]
        elif apart:
            yield node
