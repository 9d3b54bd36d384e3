"""Gradients that a loop reads in each iteration, and keeps, though those of the iterations before are still in them.

A Jacobian row by row, the gradients of single samples, the squares of a Fisher information: no step follows that
could use the sum, so what the program wants is the gradient of each backward alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor, together
from gradpath.findings.gradient_flow import (
    Effect,
    concerning,
    from_gradients,
    is_gradient,
    kept_in,
    updated_by_hand,
)
from gradpath.findings.graphs import reached_leaves
from gradpath.interpreter.events import BackwardRan, Mutated, Stored, iterations_between
from gradpath.interpreter.trace import Trace

Read = Mutated | Stored
"""What is computed from a gradient is written into a tensor, or put into a container."""


def summed_reads(trace: Trace) -> Iterator[tuple[Read, BackwardRan, Read]]:
    """A read that is kept, a backward of the next iteration, and the same read of what is a sum by then."""
    last: BackwardRan | None = None
    before: dict[ast.AST, tuple[Read, BackwardRan]] = {}
    found: set[ast.AST] = set()
    for event in trace.among(BackwardRan, Mutated, Stored):
        match event:
            case BackwardRan():
                last = event if event.call.accumulates else last
            case Mutated() | Stored() if (
                last is not None and event.site.node not in found and _reads(trace, event, last)
            ):
                first, ran = before.setdefault(event.site.node, (event, last))
                if ran is not last and _is_in_next_iteration(first, ran, last, event):
                    if _is_never_cleared(trace, event, ran, last):
                        found.add(event.site.node)
                        yield first, last, event
                    before[event.site.node] = event, last


def _reads(trace: Trace, event: Read, ran: BackwardRan) -> bool:
    """True if what is kept was computed from a gradient, and is neither that itself nor the weight that it moves."""
    if not any(each in from_gradients(trace) for each in _kept(event)):
        return False
    if isinstance(event, Mutated):
        return not is_gradient(event.tensor) and updated_by_hand(trace, event) is None
    return event.read is None or ran.call.retain  # Numbers are for a log, unless each is of another loss of one graph.


def _kept(event: Read) -> Sequence[Tensor]:
    """The tensors from which what is kept was computed."""
    return event.sources if isinstance(event, Mutated) else kept_in(event)


def _is_in_next_iteration(first: Read, ran: BackwardRan, again: BackwardRan, second: Read) -> bool:
    """True if one backward of the program and one read have run again, both in another iteration of one loop."""
    loop = iterations_between(ran.site.loops, again.site.loops)
    return (
        ran.site.node is again.site.node
        and loop is not None
        and loop is iterations_between(first.site.loops, second.site.loops)
    )


def _is_never_cleared(trace: Trace, read: Read, ran: BackwardRan, again: BackwardRan) -> bool:
    """True if a backward has added to all the gradients in question, and no step uses them afterwards."""
    gradients = {id(each) for each in together(_kept(read)) if each.operation == "gradient"}
    both = {id(each) for each in reached_leaves(ran)}
    leaves = [each for each in reached_leaves(again) if id(each) in both and id(each.grad) in gradients]
    return bool(leaves) and all(_is_summed(trace, leaf, ran, again) for leaf in leaves)


def _is_summed(trace: Trace, leaf: Tensor, ran: BackwardRan, again: BackwardRan) -> bool:
    entries = concerning(trace, leaf)
    begun = next((place for place, entry in enumerate(entries) if entry.event is ran), None)
    if begun is None:
        return False
    upto = next((place for place, entry in enumerate(entries) if entry.event is again), None)
    if upto is None or any(entry.effect is not Effect.ARRIVES for entry in entries[begun:upto]):
        return False
    later = next((entry.effect for entry in entries[upto:] if entry.effect is not Effect.ARRIVES), None)
    return later is not Effect.USED
