"""Distances of parameters from values of their own that were kept without a copy: those move along."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.aliases import memory_of
from gradpath.autograd.tensor import UNSEEN
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, short_operation
from gradpath.fixes.copying_fixes import copied
from gradpath.interpreter.trace import BackwardRan, Built, Site, Trace, once
from gradpath.support.fast_dataclasses import dataclass

_DISTANCES = frozenset({"pow", "square", "abs", "norm", "vector_norm"})
"""Operations whose gradient is zero at zero."""

_COMPARING = frozenset({"sub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss"})


@dataclass(frozen=True, slots=True, eq=False)
class Anchored:
    """A distance at `site` of a parameter from itself; `kept` is where it was detached to be kept, if it was."""

    site: Site
    kept: Site | None
    ran: BackwardRan

    def report(self, trace: Trace, source: Source) -> Report:
        at = self.site if self.site.path == self.ran.site.path else lifted(self.site, self.ran.site)
        text = source.short(self.site, limit=40)
        kept = () if self.kept is None else (Step(self.kept, "shares the memory of the parameter"),)
        return Report(
            at,
            f"nothing learns from `{text}`: it compares a parameter with itself",
            (
                *kept,
                Step(at, "zero on every run: what was kept of the parameter is no copy"),
                Step(self.ran.site, "gives the parameter no gradient from it"),
            ),
            help="keep a copy: `p.detach().clone()` stays as it is when the parameter is updated",
            fixes=source.proposed(() if self.kept is None else copied(trace, source, self.kept)),
        )


def anchored(trace: Trace, ran: BackwardRan) -> Iterator[Anchored]:
    """The distances of one backward that are zero however far a parameter has come.

    A place where other parameters are compared, too, goes through all pairs, or follows what is rebound.
    """
    for events in _compared(trace):
        here = [each for each in events if each.node in ran.executed]
        if here and _is_measured(trace, here[0]):
            yield Anchored(here[0].site, _kept(here[0]), ran)


@once
def _compared(trace: Trace) -> list[list[Built]]:
    """The places of a path that compare each parameter with itself."""
    compared: dict[ast.AST, list[Built]] = {}
    for event in trace.of(Built):
        if short_operation(event.node.name) in _COMPARING:
            compared.setdefault(event.site.node, []).append(event)
    return [events for events in compared.values() if all(map(_is_of_itself, events))]


def _is_of_itself(event: Built) -> bool:
    """True if a parameter is compared with itself, or with what shares its memory."""
    sides = [memory_of(each) for each in event.operands]
    return len(sides) == 2 and sides[0] is sides[1] and sides[0].is_parameter and sides[0].operation != UNSEEN


def _is_measured(trace: Trace, event: Built) -> bool:
    """True if a difference is squared, or the like; a loss of both sides does so itself."""
    if short_operation(event.node.name) != "sub":
        return True
    made = set(map(id, event.node.outputs))
    for later in trace.of(Built):
        given = [id(each) for each in later.operands if id(each) in made]
        name = short_operation(later.node.name)
        if given and (name in _DISTANCES or (name == "mul" and len(given) > 1)):
            return True
    return False


def _kept(event: Built) -> Site | None:
    cuts = (each.cut for each in event.operands)
    return next((cut.site for cut in cuts if cut is not None), None)
