"""Bootstrapped targets, `r + gamma * q(s2)`, that are on the graph of the network that is trained towards them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gradpath.autograd.tensor import PRESUMED, Node, Tensor
from gradpath.findings.graphs import built_of, leads_to, leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, name_of
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Way
from gradpath.rules.targets.operands import detached
from gradpath.support.words import words

_POWERS = frozenset({"torch.pow", "torch.square", "torch.abs"})
"""Operations that make a loss of a difference."""

_CHOOSING = frozenset(
    f"torch.{name}"
    for name in words(
        """max amax min amin maximum minimum gather select index_select take_along_dim squeeze unsqueeze view reshape
        flatten clone to float expand stack cat sub clamp clip"""
    )
) | {"index"}
"""Operations that lead from the result of a network to a value of it."""


def bootstrapped(trace: Trace, source: Source, trained: set[int]) -> Iterator[Report]:
    """The losses that compare a network with a reward and a multiple of what it gives itself."""
    built = built_of(trace)
    powers = _raised(built)
    for ran in trace.of(BackwardRan):
        for node in ran.executed:
            event = built.get(node)
            sides = None if event is None else _sides(event, differs=node in powers, ends=node in ran.call.starts)
            if event is None or sides is None:
                continue
            for index, (target, prediction) in enumerate((sides, sides[::-1])):
                later = _result_in(built, target, prediction, trained)
                if later is not None:
                    yield _report(trace, source, event.site, target, later, index, ran)


def _raised(built: Iterable[Node]) -> set[Node]:
    """What is raised to a power, also where a mask or weights without a graph have scaled it, or have picked of it."""
    found: set[Node] = set()
    todo = [edge for node in built if node.name in _POWERS for edge in node.edges]
    while todo:
        node = todo.pop()
        live = [edge for edge in node.edges if not edge.is_open]
        if node not in found:
            found.add(node)
            todo += live if len(live) == 1 and node.function in _WEIGHING else ()
    return found


_WEIGHING = frozenset({"torch.mul", "torch.div", "torch.masked_select", "torch.masked_fill", "index"})
"""Operations that leave out, or weigh, parts of a difference."""


def _report(
    trace: Trace, source: Source, compared: Site, target: Tensor, later: Node, index: int, ran: BackwardRan
) -> Report:
    at = lifted(target.made_at, compared)
    name = name_of(trace, source, target, compared) or source.short(at, limit=30)
    return Report(
        at,
        f"the target `{name}` is computed with a graph of the network that is trained towards it",
        (
            Step(lifted(later.site, at), "what the network itself gives, with its graph"),
            Step(at, "the target depends on it"),
            Step(compared, "the same network is compared with it"),
            Step(ran.site, "moves the target as well as the prediction"),
        ),
        help="detach the target, or compute it under `torch.no_grad()`",
        fixes=source.proposed(detached(source, compared, index, Way.DETACH_TARGET)),
    )


def _sides(event: Built, *, differs: bool, ends: bool) -> tuple[Tensor, Tensor] | None:
    """The two tensors with graphs that a loss compares; of a difference, if a loss `differs` by it.

    A loss that is not seen is known by the backward that it `ends` in.
    """
    if event.node.name == PRESUMED and ends:
        handed = event.inputs.get("input", ())
        return (handed[0], handed[1]) if len(handed) == 2 and all(each.node is not None for each in handed) else None
    if event.node.name == "torch.sub" and not differs:
        return None
    names = ("input", "other") if event.node.name == "torch.sub" else ("input", "target")
    given = [event.inputs.get(name, ()) for name in names]
    if any(len(each) != 1 or each[0].node is None for each in given):
        return None
    return given[0][0], given[1][0]


def _result_in(built: Mapping[Node, Built], target: Tensor, prediction: Tensor, trained: set[int]) -> Node | None:
    """The result of the network that a target is a sum with, where the same network, called again, predicts."""
    if target.node is None or prediction.node is None:
        return None
    own = _results(built, prediction.node, sums=False)
    for later in _results(built, target.node, sums=True):
        known = {id(leaf) for leaf in leaves([later])} & trained
        for result in own:
            apart = not leads_to(result, later) and not leads_to(later, result)
            if apart and any(id(leaf) in known for leaf in leaves([result])):
                return later
    return None


def _results(built: Mapping[Node, Built], start: Node, *, sums: bool) -> list[Node]:
    """The results of networks that a value is chosen from; with `sums`, those that a multiple of is added to data."""
    found: list[Node] = []
    todo = [(start, False)]
    seen: set[Node] = set()
    while todo:
        node, added = todo.pop()
        if node in seen or node.is_open:
            continue
        seen.add(node)
        name = node.function
        live = [edge for edge in node.edges if not edge.is_open]
        scales = name in ("torch.add", "torch.mul") and len(live) == 1 and node in built
        if scales and sums:
            todo.append((live[0], added or (name == "torch.add" and _adds_tensor(built[node]))))
        elif name in _CHOOSING or (name == "torch.mul" and scales):
            todo += [(edge, added) for edge in live]
        elif added or not sums:
            found.append(node)
    return found


def _adds_tensor(event: Built) -> bool:
    """True if a sum adds a tensor that has no graph, such as the rewards."""
    given = event.operands
    return len(given) == 2
