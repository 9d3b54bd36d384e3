"""Advantages, `reward - value`, that weigh a policy's loss while they are still on the graph of the value function.

Another term trains the value function towards the rewards; through the product the policy pushes it as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import Node, Tensor
from gradpath.interpreter.trace import BackwardRan, Built, Site, Trace
from gradpath.rules.graphs import leads_to, leaves
from gradpath.rules.report import Report, Source, Step
from gradpath.rules.stories import lifted, name_of, short_operation
from gradpath.support.fast_dataclasses import dataclass

_REGRESSIONS = frozenset({"pow", "square", "abs", "mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss"}) | {
    "MSELoss",
    "SmoothL1Loss",
    "HuberLoss",
    "L1Loss",
}


@dataclass(frozen=True, slots=True, eq=False)
class Advantage:
    """A difference at `site` from a `value` that is regressed at `regressed`, and the product at `weighs` with it."""

    tensor: Tensor
    site: Site
    weighs: Site
    regressed: Site
    ran: BackwardRan


def advantages(trace: Trace, trained: set[int]) -> Iterator[Advantage]:
    """The products of a difference from a trained value, which a loss of its own fits, with something else."""
    built = {event.node: event for event in trace.of(Built)}
    for ran in trace.of(BackwardRan):
        regressed = {id(value): site for value, site in _regressed(built, ran)}
        for node in ran.executed if regressed else ():
            event = built.get(node) if short_operation(node.name) == "mul" else None
            given = [] if event is None else [each for tensors in event.inputs.values() for each in tensors]
            live = [each for each in given if _is_live(each)]
            if event is None or len(given) != 2 or len(live) != 2:
                continue
            for weight, other in (live, live[::-1]):
                value = _value(built, weight)
                site = None if weight.node is None else weight.node.site
                if value is None or id(value) not in regressed or value.node is None or not isinstance(site, Site):
                    continue
                known = any(id(leaf) in trained for leaf in leaves([value.node]))
                if known and other.node is not None and not leads_to(other.node, value.node):
                    yield Advantage(weight, site, event.site, regressed[id(value)], ran)


def _regressed(built: dict[Node, Built], ran: BackwardRan) -> Iterator[tuple[Tensor, Site]]:
    """The values that a loss of the same backward fits to something without a graph."""
    for node in ran.executed:
        event = built.get(node) if short_operation(node.name) in _REGRESSIONS else None
        given = [] if event is None else [each for tensors in event.inputs.values() for each in tensors]
        live = [each for each in given if _is_live(each)]
        if event is not None and len(live) == 1:
            value = live[0] if len(given) > 1 else _value(built, live[0])
            if value is not None:
                yield value, event.site


def _is_live(tensor: Tensor) -> bool:
    return tensor.node is not None and not tensor.node.is_open


def _value(built: dict[Node, Built], difference: Tensor) -> Tensor | None:
    """The tensors that are subtracted from data, or from which data is subtracted."""
    event = None if difference.node is None else built.get(difference.node)
    if event is None or short_operation(event.node.name) not in ("sub", "rsub"):
        return None
    given = [each for tensors in event.inputs.values() for each in tensors]
    live = [each for each in given if _is_live(each)]
    return live[0] if len(given) == 2 and len(live) == 1 else None


def report_advantage(rule: str, trace: Trace, source: Source, found: Advantage) -> Report:
    """The report of such a product, at the difference."""
    at = lifted(found.site, found.ran.site)
    name = name_of(trace, source, found.tensor, found.weighs) or source.short(at, limit=30)
    return Report(
        rule,
        at,
        f"`{name}` weighs another loss with a graph of the value that it was computed from",
        (
            Step(at, "depends on the value, with its graph"),
            Step(lifted(found.weighs, at), "weighs another loss: pushes the value as well"),
            Step(lifted(found.regressed, at), "fits the value to the data"),
            Step(found.ran.site, "moves the value by both"),
        ),
        help=f"weigh by `{name}.detach()`: the value is trained by a loss of its own",
    )
