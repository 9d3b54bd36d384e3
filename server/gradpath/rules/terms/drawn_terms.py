"""Terms of a loss that depend on a distribution through a sample alone, which was drawn without a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import REPARAMETRIZED, Tensor
from gradpath.findings.graphs import leaves
from gradpath.findings.unreached import is_of_another_time
from gradpath.findings.ways import Severed, ways_to
from gradpath.interpreter.trace import BackwardRan, Built, Trace, once
from gradpath.rules.terms.cut_terms import CutTerm
from gradpath.rules.terms.summands import terms


def drawn_terms(trace: Trace, ran: BackwardRan) -> Iterator[CutTerm]:
    """The terms of one backward that a sample of `sample()` cuts off, where `rsample()` would not.

    What is drawn for a score function, whose probability is computed, too, is no slip.
    """
    if not _draws(trace):
        return
    scored = _scored(trace)
    for term, site in terms(trace, ran):
        trained = {id(leaf) for leaf in leaves([term])}
        missed: dict[int, tuple[Severed, list[Tensor]]] = {}
        for parameter, ways in ways_to(trace, term, ran):
            drawn = [each for each in ways.cuts if each.cause.detail == REPARAMETRIZED]
            plain = len(drawn) == len(ways.cuts) == 1 and not is_of_another_time(drawn[0])
            if plain and ways.sure and id(parameter) not in trained and id(drawn[0].cause.tensor) not in scored:
                missed.setdefault(id(drawn[0].site.node), (drawn[0], []))[1].append(parameter)
        for severed, parameters in missed.values():
            yield CutTerm(severed, tuple(parameters), site, severed.site)


@once
def _draws(trace: Trace) -> bool:
    """True if an operation of the path works on such a sample."""
    inputs = (each for event in trace.of(Built) for each in event.operands)
    return any(tensor.cut is not None and tensor.cut.detail == REPARAMETRIZED for tensor in inputs)


@once
def _scored(trace: Trace) -> set[int]:
    """All that the values depend on whose log-probability is computed."""
    return {
        id(tensor)
        for event in trace.of(Built)
        if event.node.name.endswith(".log_prob")
        for value in event.inputs.get("value", ())
        for tensor in value.lineage()
    }
