"""Losses that draw two results of the same networks together and do nothing else: constant results are the best.

`-cos(predictor(z1), z2)` of SimSiam and its kin holds the second side still.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.graphs import built_of, leaves, nodes_of, terms_of
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, name_of, short_operation
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Way
from gradpath.rules.targets.operands import detached
from gradpath.support.traversal import reachable

_NEGATING = {"neg": 0, "rsub": 0, "sub": 1}
"""The operand of which an operation turns the sign."""


def collapsing(trace: Trace, source: Source) -> Iterator[Report]:
    """The losses that are nothing but similarities of a prediction with what it is a prediction of."""
    built = built_of(trace)
    for ran in (each for each in trace.of(BackwardRan) if each.call.accumulates):
        found: list[tuple[Site, int, Tensor]] = []
        of_loss = list(ends(ran))
        for node, drawn in of_loss:
            event = built.get(node)
            sides = [] if event is None or not drawn else _similar(event)
            index = _of_target(sides)
            if index is not None:
                found.append((node.site, index, sides[index]))
        for site, index, target in found if len(found) == len(of_loss) else ():
            name = name_of(trace, source, target, site) or "the second side"
            yield Report(
                site,
                f"the target `{name}` has a graph: the loss is least where the networks give the same for all",
                (
                    Step(lifted(target.origin, site), "what the networks give, with its graph"),
                    Step(site, "compares it with what is predicted of it"),
                    Step(ran.site, "moves both sides, and nothing keeps them apart"),
                ),
                help="detach the target: only the side of the prediction should move",
                fixes=source.proposed(detached(source, site, index, Way.DETACH_TARGET)),
            )


def ends(ran: BackwardRan) -> Iterator[tuple[Node, bool]]:
    """The nodes that a loss is a sum of multiples of, and whether a smaller loss makes each larger."""
    starts = ran.call.starts
    zone = terms_of(starts)

    def parts(each: tuple[Node, bool]) -> list[tuple[Node, bool]]:
        node, turned = each
        negated = _NEGATING.get(short_operation(node.name))
        return [(edge, turned ^ (place == negated)) for place, edge in enumerate(node.edges)] if node in zone else []

    return (each for each in reachable([(node, False) for node in starts], parts) if each[0] not in zone)


def _similar(event: Built) -> list[Tensor]:
    """The two sides of a cosine similarity, also of one that is computed by hand."""
    sides = event.operands[:2]
    match short_operation(event.node.name):
        case "cosine_similarity":
            return sides
        case "mul" if len(event.operands) == 2 and all(each.operation.endswith("normalize") for each in sides):
            return sides
    return []


def _of_target(sides: list[Tensor]) -> int | None:
    """The side that the other one predicts: that has a graph of networks of which the other one has more."""
    if len(sides) != 2 or any(each.node is None or each.is_open for each in sides):
        return None
    one, other = (set(map(id, leaves(nodes_of([each])))) for each in sides)
    if one and one < other:
        return 0
    return 1 if other and other < one else None
