"""A bootstrapped target, `r + gamma * q(s2)`, that is still on the graph of the network that is trained towards it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradpath.autograd.tensor import PRESUMED, Node, Tensor
from gradpath.diagnostic import Advice, Fix, Level, Safety
from gradpath.findings.graphs import built_of, leads_to, leaves
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import lifted, name_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import BackwardRan, Built, Site, Stepped, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.targets.advantages import advantages, report_advantage
from gradpath.rules.targets.followers import followers, report_follower
from gradpath.rules.targets.live_factors import live_factors, report_live
from gradpath.support.fast_dataclasses import dataclass

_POWERS = frozenset({"torch.pow", "torch.square", "torch.abs"})
"""Operations that make a loss of a difference."""

_CHOOSING = frozenset(
    f"torch.{name}"
    for name in (
        *("max", "amax", "min", "amin", "maximum", "minimum", "gather", "select", "index_select", "take_along_dim"),
        *(
            "squeeze",
            "unsqueeze",
            "view",
            "reshape",
            "flatten",
            "clone",
            "to",
            "float",
            "expand",
            "stack",
            "cat",
            "sub",
        ),
    )
) | {"index"}
"""Operations that lead from the result of a network to a value of it."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """A loss at `site` between a prediction and a target, both computed by one network; `index` of the target."""

    site: Site
    target: Tensor
    later: Node
    index: int
    ran: BackwardRan


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Losses that compare a network with a reward and a multiple of what it gives itself."""
    trained = {id(each) for step in trace.of(Stepped) for each in (*step.parameters, *step.updated)}
    seen: set[ast.AST] = set()
    for found in _compared(trace, trained) if trained else ():
        if found.site.node not in seen:
            seen.add(found.site.node)
            yield _report(trace, source, found)
    for advantage in advantages(trace, trained) if trained else ():
        if advantage.site.node not in seen:
            seen.add(advantage.site.node)
            yield report_advantage(trace, source, advantage)
    for follower in followers(trace) if trained else ():
        if follower.site.node not in seen:
            seen.add(follower.site.node)
            yield report_follower(source, follower)
    for live in live_factors(trace, trained) if trained else ():
        if live.site.node not in seen:
            seen.add(live.site.node)
            yield report_live(trace, source, live)


def _compared(trace: Trace, trained: set[int]) -> Iterator[_Compared]:
    built = built_of(trace)
    powers = {edge for node in built if node.name in _POWERS for edge in node.edges}
    for ran in trace.of(BackwardRan):
        for node in ran.executed:
            event = built.get(node)
            sides = None if event is None else _sides(event, differs=node in powers, ends=node in ran.call.starts)
            if event is None or sides is None:
                continue
            for index, (target, prediction) in enumerate((sides, sides[::-1])):
                later = _bootstrapped(built, target, prediction, trained)
                if later is not None:
                    yield _Compared(event.site, target, later, index, ran)


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


def _bootstrapped(built: Mapping[Node, Built], target: Tensor, prediction: Tensor, trained: set[int]) -> Node | None:
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
        name = node.name.replace("torch.Tensor.", "torch.")
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


def _report(trace: Trace, source: Source, found: _Compared) -> Report:
    place = found.target.node.site if found.target.node is not None else None
    at = lifted(place, found.site) if isinstance(place, Site) else found.site
    name = name_of(trace, source, found.target, found.site) or source.short(at, limit=30)
    steps = []
    if isinstance(found.later.site, Site):
        steps.append(Step(lifted(found.later.site, at), "what the network itself gives, with its graph"))
    steps += [
        Step(at, "the target depends on it"),
        Step(found.site, "the same network is compared with it"),
        Step(found.ran.site, "moves the target as well as the prediction"),
    ]
    return Report(
        at,
        f"the target `{name}` is computed with a graph of the network that is trained towards it",
        tuple(steps),
        help="detach the target, or compute it under `torch.no_grad()`",
        alternatives=(Advice.optional("a residual-gradient method keeps the graph on purpose"),),
        fixes=source.proposed(_fixes(source, found)),
    )


def _fixes(source: Source, found: _Compared) -> Iterator[Fix]:
    node = found.site.node
    given = [node.left, node.right] if isinstance(node, ast.BinOp) else node.args if isinstance(node, ast.Call) else []
    if len(given) > found.index:
        edit = edits.append(source.document(found.site), given[found.index], ".detach()")
        yield Fix.by(Repair(Way.DETACH_TARGET), Safety.UNSAFE, edit, preferred=True)


RULE = Rule(
    "undetached-target",
    "detach",
    Level.HINT,
    "a target, or another constant of the method, is computed with a graph of the network that is trained by it",
    None,
    find,
)
