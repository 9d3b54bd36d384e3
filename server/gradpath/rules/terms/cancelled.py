"""Differences and quotients of one value with itself, computed twice: the gradients of both sides cancel."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradpath.autograd.tensor import PRESUMED, Node
from gradpath.findings.graphs import built_of, is_drawn
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, same_activation
from gradpath.interpreter.trace import BackwardRan, Built, Site, Trace
from gradpath.support.fast_dataclasses import dataclass

_COMPARING = frozenset({"torch.sub", "torch.div"})


@dataclass(frozen=True, slots=True, eq=False)
class Cancelled:
    """An operation at `site` on two results of the same computation, which a backward went through for nothing."""

    site: Site
    one: Site
    other: Site
    ran: BackwardRan

    def report(self, trace: Trace, source: Source) -> Report:
        at = lifted(self.site, self.ran.site)
        text = source.short(self.site, limit=40)
        return Report(
            at,
            f"nothing learns from `{text}`: both sides are the same, and their gradients cancel",
            (
                Step(self.one, "one side"),
                Step(self.other, "the other side: the same once more"),
                Step(at, "the same value on every run"),
                Step(self.ran.site, "runs backward through both: the gradients add up to zero"),
            ),
            help="compare with a value from before the update, or detach one side: `x - x.detach()` has a gradient",
        )


def cancelled(trace: Trace, ran: BackwardRan) -> Iterator[Cancelled]:
    """The differences of equal values that one backward has run through: an old probability that is the new one.

    They are equal each time: in the first iteration alone, a value may well be compared with itself.
    """
    built = built_of(trace)
    for node in ran.executed:
        event = built.get(node) if node.function in _COMPARING else None
        sides = None if event is None else _equal_sides(built, event)
        if event is not None and sides is not None:
            again = (
                each for each in built.values() if each.site.node is event.site.node and each.node.name == node.name
            )
            if all(_equal_sides(built, each) is not None for each in again):
                yield Cancelled(event.site, sides[0].site, sides[1].site, ran)


def _equal_sides(built: Mapping[Node, Built], event: Built) -> tuple[Built, Built] | None:
    """What made the two operands of an operation, if they have the same value; else None."""
    given = event.operands
    if len(given) != 2:
        return None
    one, other = (None if each.node is None else built.get(each.node) for each in given)
    if one is None or other is None:
        return None
    return (one, other) if given[0] is given[1] or (one is not other and _is_same(one, other)) else None


def _is_same(one: Built, other: Built) -> bool:
    """True if one expression was evaluated twice, on the same tensors, and nothing in it is drawn or unseen."""
    if one.site.node is other.site.node:
        return False  # Parts of one result, or what several rounds gave.
    names = {one.node.name, other.node.name}
    if len(names) > 1 or PRESUMED in names or any(is_drawn(name) for name in names) or one.node.is_open:
        return False
    first, second = (event.operands for event in (one, other))
    alike = len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))
    written = isinstance(one.site.node, ast.Call) and ast.dump(one.site.node) == ast.dump(other.site.node)
    return bool(first) and alike and written and same_activation(one.site, other.site)
