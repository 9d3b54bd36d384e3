"""Terms that compare a value with itself: what is computed twice, and a parameter with what shares its memory.

The gradients of both sides cancel, and a distance of a parameter from itself is zero however far it has come.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradpath.autograd.aliases import memory_of
from gradpath.autograd.tensor import PRESUMED, UNSEEN, Node
from gradpath.findings.graphs import built_of, is_drawn
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, same_activation, short_operation
from gradpath.fixes.detachment import rewritten
from gradpath.fixes.out_of_place import copied
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace, once
from gradpath.repairs import Way
from gradpath.support.fast_dataclasses import dataclass

_COMPARING = frozenset({"torch.sub", "torch.div"})

DISTANCES = frozenset({"pow", "square", "abs", "norm", "vector_norm"})
"""Operations whose gradient is zero at zero."""

MEASURING = frozenset({"sub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss"})


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


def anchored(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Report]:
    """The distances of one backward that teach a parameter nothing, however far it has come.

    They are zero, or measured from a copy that has the same gradient. A place where other parameters are compared, too,
    goes through all pairs, or follows what is rebound.
    """
    for events in _compared(trace):
        here = [each for each in events if each.node in ran.executed]
        if not here or not _is_measured(trace, here[0]):
            continue
        site = here[0].site
        at, copy = site if site.path == ran.site.path else lifted(site, ran.site), _live_copy(here[0])
        teaches = f"nothing learns from `{source.short(site)}`"
        if copy is None:
            kept = _kept(here[0])
            shared = () if kept is None else (Step(kept, "shares the memory of the parameter"),)
            yield Report(
                at,
                f"{teaches}: it compares a parameter with itself",
                (
                    *shared,
                    Step(at, "zero on every run: what was kept of the parameter is no copy"),
                    Step(ran.site, "gives the parameter no gradient from it"),
                ),
                help="keep a copy: `p.detach().clone()` stays as it is when the parameter is updated",
                fixes=source.proposed(() if kept is None else copied(trace, source, kept)),
            )
        else:
            yield Report(
                at,
                f"{teaches}: both sides lead back to the same parameter, and their gradients cancel",
                (
                    Step(copy, "copies the parameter, and stays on its graph"),
                    Step(at, "the parameter and its copy"),
                    Step(ran.site, "gives the parameter the gradients of both, which add up to zero"),
                ),
                help="keep the value alone: `p.detach().clone()`",
                fixes=source.proposed(rewritten(trace, source, copy, ".detach()", Way.DETACH_ON)),
            )


@once
def _compared(trace: Trace) -> list[list[Built]]:
    """The places of a path that compare each parameter with itself."""
    compared: dict[ast.AST, list[Built]] = {}
    for event in trace.of(Built):
        if short_operation(event.node.name) in MEASURING:
            compared.setdefault(event.site.node, []).append(event)
    return [events for events in compared.values() if all(map(_is_of_itself, events))]


def _is_of_itself(event: Built) -> bool:
    """True if a parameter is compared with itself, with what shares its memory, or with a copy on its graph."""
    if _live_copy(event) is not None:
        return True
    sides = [memory_of(each) for each in event.operands]
    return len(sides) == 2 and sides[0] is sides[1] and sides[0].is_parameter and sides[0].operation != UNSEEN


def _live_copy(event: Built) -> Site | None:
    """Where a parameter was copied with its graph, if an operation compares it with that copy."""
    given = event.operands
    for own, copy in (given, given[::-1]) if len(given) == 2 else ():
        node = copy.node
        known = own.is_parameter and own.node is None and own.operation != UNSEEN
        if known and node is not None and node.function == "torch.clone" and node.edges == (own.accumulator,):
            site: Site = node.site
            return site
    return None


def _is_measured(trace: Trace, event: Built) -> bool:
    """True if a difference is squared, or the like; a loss of both sides does so itself."""
    if short_operation(event.node.name) != "sub":
        return True
    made = set(map(id, event.node.outputs))
    for later in trace.of(Built):
        given = [id(each) for each in later.operands if id(each) in made]
        name = short_operation(later.node.name)
        if given and (name in DISTANCES or (name == "mul" and len(given) > 1)):
            return True
    return False


def _kept(event: Built) -> Site | None:
    cuts = (each.cut for each in event.operands)
    return next((cut.site for cut in cuts if cut is not None), None)
