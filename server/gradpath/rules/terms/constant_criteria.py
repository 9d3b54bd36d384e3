"""Losses of nothing but what networks computed without a graph, and of data: constants among the terms of a loss."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import LOSSES, SWITCHED_OFF, Tensor
from gradpath.findings import cuts
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted, name_of
from gradpath.findings.unreached import is_of_another_time, is_on_purpose
from gradpath.findings.ways import Severed, ways_to
from gradpath.interpreter.events import BackwardRan, Site
from gradpath.interpreter.trace import Trace
from gradpath.rules.terms.summands import constants
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ConstantCriterion:
    """A loss computed at `site` of what was predicted without a graph, by `cause` among others, and maybe of data."""

    site: Site
    cause: cuts.Cause
    ran: BackwardRan
    has_target: bool

    def report(self, trace: Trace, source: Source) -> Report:
        assert self.cause.site is not None
        made, at = (
            each if each.path == self.ran.site.path else lifted(each, self.ran.site)
            for each in (self.cause.site, self.site)
        )
        name = name_of(trace, source, self.cause.tensor, self.site)
        return Report(
            at,
            f"`{source.short(at, limit=40)}` is a constant term of the loss: what it compares has no graph",
            (
                Step(made, "predicts without a graph"),
                Step(at, "compares it, and nothing that is to learn"),
                Step(self.ran.site, "gives no network a gradient from this term"),
            ),
            help="predict with gradients on what is to be learnt"
            if self.has_target
            else "compare the output of the network that is to learn" + (f" with `{name}`" if name else ""),
        )


def constant_criteria(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[ConstantCriterion]:
    """The losses that the constant terms of one backward are multiples of, those that are subtracted left aside."""
    for term, _, baseline in constants(trace, ran):
        found = None if baseline else _criterion(trace, source, ran, term)
        if found is not None:
            yield found


def _criterion(trace: Trace, source: Source, ran: BackwardRan, term: Tensor) -> ConstantCriterion | None:
    """The loss that a term without a graph is a multiple of, if gradients were on where it was computed.

    Neither side of it can learn.
    """
    if any(ways_to(trace, term, ran)):
        return None
    criterion = next((each for each in term.lineage() if each.operation.endswith(LOSSES)), None)
    if criterion is None or criterion.cut is not None:
        return None
    site = criterion.origin
    if len(criterion.maker) < 2 or cuts.switch_around(trace, source, site) is not None:
        return None
    found: list[cuts.Cause] = []
    for side in criterion.maker:
        first = next((each for each in side.lineage() if each.cut is not None), None)
        if (
            first is None
            and not side.requires_grad
            and not side.is_open
            and all(not each.is_open for each in side.ancestors())
        ):
            continue  # The target.
        cause = None if first is None else cuts.cause_of_tensor(first)
        if cause is None or cause.site is None or cause.how not in SWITCHED_OFF:
            return None
        severed = Severed(cause, cause.site, ran)
        if is_of_another_time(severed) or is_on_purpose(trace, source, severed):
            return None
        found.append(cause)
    return ConstantCriterion(site, found[0], ran, len(found) < len(criterion.maker)) if found else None
