"""Terms of a loss that depend on a distribution through a sample alone, which was drawn without a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.gradients import is_step_function
from gradpath.autograd.tensor import REPARAMETRIZED, Tensor
from gradpath.findings.cuts import DRAW
from gradpath.findings.graphs import nodes_of
from gradpath.findings.stories import short_operation
from gradpath.findings.unreached import is_of_another_time
from gradpath.findings.ways import Severed, ways_to
from gradpath.interpreter.events import BackwardRan, Built, CutOff
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.terms.cut_terms import CutTerm
from gradpath.rules.terms.summands import terms
from gradpath.source.nodes import last_name
from gradpath.support.traversal import reachable


def drawn_terms(trace: Trace, ran: BackwardRan) -> Iterator[CutTerm]:
    """The terms of one backward that a sample of `sample()` cuts off, where `rsample()` would not.

    Or one that is drawn by hand: `mean.detach() + noise * deviation.detach()`. What is drawn for a score function,
    whose probability is computed, too, is no slip.
    """
    if not _draws(trace):
        return
    scored = _scored(trace)
    by_hand = _drawn_by_hand(trace)
    for term, site in terms(trace, ran):
        trained = _taught(term)
        missed: dict[int, tuple[Severed, list[Tensor]]] = {}
        for parameter, ways in ways_to(trace, term, ran):
            drawn = [each for each in ways.cuts if each.cause.detail == REPARAMETRIZED or each.cause.how == DRAW]
            samples = {by_hand.get(id(each.cause.tensor), id(each)) for each in ways.cuts}
            plain = len(samples) == 1 and (drawn == [*ways.cuts] or not samples.isdisjoint(by_hand.values()))
            first = ways.cuts[0] if plain else None
            if first is None or is_of_another_time(first) or not ways.sure:
                continue
            if id(parameter) not in trained and id(first.cause.tensor) not in scored:
                sample = by_hand.get(id(first.cause.tensor), id(first.site.node))
                missed.setdefault(sample, (first, []))[1].append(parameter)
        for severed, parameters in missed.values():
            yield CutTerm(severed, tuple(parameters), site, severed.site)


def _taught(term: Tensor) -> set[int]:
    """The leaves to which the gradient of a term runs on, and not only zeros."""
    taught = reachable(nodes_of([term]), lambda node: () if is_step_function(node) else node.edges)
    return {id(node.accumulates) for node in taught if node.accumulates is not None}


@once
def _draws(trace: Trace) -> bool:
    """True if a path draws such a sample."""
    drawn = any(event.cut.detail == REPARAMETRIZED for event in trace.of(CutOff))
    drawn = drawn or any(event.node.function == "torch.normal" for event in trace.of(Built))
    return drawn or bool(_drawn_by_hand(trace))


@once
def _drawn_by_hand(trace: Trace) -> dict[int, int]:
    """The means and deviations without a graph of which, and of noise, samples are put together, each with its sample.

    A mean alone with noise is no sample of a network's distribution: so agents explore.
    """
    found: dict[int, int] = {}
    inputs = {id(each): each for event in trace.of(Built) for each in event.operands}
    for drawn in (each for each in inputs.values() if short_operation(each.operation) in ("add", "sub")):
        for mean, noise in (drawn.maker, drawn.maker[::-1]) if len(drawn.maker) == 2 else ():
            parts = noise.maker if short_operation(noise.operation) == "mul" else ()
            deviations = [each for each in parts if _is_cut(each)]
            if _is_cut(mean) and deviations and any(map(_is_noise, parts)):
                found.update(dict.fromkeys(map(id, (mean, *deviations)), id(drawn)))
    return found


def _is_noise(tensor: Tensor) -> bool:
    made = tensor.origin.node
    return isinstance(made, ast.Call) and last_name(made.func) in ("normal", "randn", "randn_like")


def _is_cut(tensor: Tensor) -> bool:
    """True if a value was taken without its graph where it is used: not in a block that switches gradients off."""
    return tensor.cut is not None and short_operation(tensor.cut.how) in ("data", "detach")


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
