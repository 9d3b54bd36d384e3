"""Lists and dicts into which each iteration puts a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.graphs import is_freed, leads_to, reach
from gradpath.findings.report import Source
from gradpath.findings.syntax import statement_of
from gradpath.interpreter.events import BackwardRan, Built, Stored, in_record, iterations_between, parts_of
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.loops.kept_graphs import are_disjoint, come_apart, is_in_forward, is_live, is_number, stands_apart
from gradpath.rules.loops.outliving import Growing, goes_over_few, may_be_learned_from


def lists(trace: Trace, executed: set[Node], source: Source) -> Iterator[Growing]:
    """`losses.append(loss)`: tensors that a list holds at the end, from several iterations of one loop."""
    stored: dict[tuple[ast.AST, int], list[Stored]] = {}
    for event in trace.of(Stored):
        for place, each in enumerate(event.one_by_one()):
            stored.setdefault((event.site.node, place), []).append(each)
    for events in stored.values():
        kept = [event for event in events if _is_kept(trace, event)]
        if len(kept) < 2 or not _grows(kept) or isinstance(statement_of(trace, kept[0].site.node), ast.AugAssign):
            continue  # An entry that is changed was there before.
        last = [event for event in kept if event.container is kept[0].container][-1]
        if goes_over_few(trace, iterations_between(kept[0].site.loops, last.site.loops)):
            continue
        first = kept[0].tensor
        if first is None or (not executed and is_in_forward(trace, kept[0].site)):
            continue  # A part of what it returns.
        sure = _is_spent(first) or _are_outputs(trace, kept, executed)
        if not sure and not is_number(trace, first):
            continue
        if not sure and not _is_worn(first) and may_be_learned_from(trace, source, kept[-1]):
            continue
        filled = [event for event in events if event.container is kept[0].container]
        if executed and not (_outlasts_backward(trace, filled) or _are_outputs(trace, kept, executed)):
            continue
        if is_live(trace, first, executed) and not any(_is_used(trace, event, executed) for event in kept):
            yield Growing(kept[0].site, first)


def _are_outputs(trace: Trace, kept: Sequence[Stored], executed: set[Node]) -> bool:
    """True if tensors of any size come from an evaluation: no backward has freed what their graphs have saved."""
    first, second = kept[0], kept[1]
    if not executed or not stands_apart(trace, first.site, second.site):
        return False
    return are_disjoint(first.tensor, second.tensor) and not _are_of_parts(first.tensor, second.tensor)


def _are_of_parts(first: Tensor | None, second: Tensor | None) -> bool:
    """True if two tensors were computed with other parameters each, as the layers of a model are gone through."""
    leaves = [
        {node for node in reach([each.node]) if node.accumulates is not None}
        for each in (first, second)
        if each is not None and each.node is not None
    ]
    return all(leaves) and leaves[0].isdisjoint(leaves[-1])


def _is_spent(tensor: Tensor) -> bool:
    """True if a backward has freed the graph of a tensor."""
    return tensor.node is not None and tensor.node.freed_by is not None


def _is_worn(tensor: Tensor) -> bool:
    """True if a backward has freed the graph of what a tensor was computed from: none can follow through it."""
    return any(map(is_freed, reach([tensor])))


def _outlasts_backward(trace: Trace, filled: Sequence[Stored]) -> bool:
    """True if a backward runs while a container is filled: else it may be gone with the step that fills it."""
    places = {id(event.site) for event in filled}
    begun = ran = False
    for event in trace.among(BackwardRan, Stored):
        if isinstance(event, BackwardRan):
            ran = ran or (begun and event.call.trains)
        elif id(event.site) in places:
            if ran:
                return True
            begun = True
    return False


def _is_kept(trace: Trace, event: Stored) -> bool:
    """True if the container still holds the tensor when the path ends, or a record in it does."""
    tensor = event.tensor
    if tensor is None or tensor.node is None or getattr(event.container, "elsewhere", False):
        return False  # Or a list that was made, and is emptied, in code that is not seen.
    return id(event.value) in _held(trace, event.container)


@once
def _held(_: Trace, container: object) -> Set[int]:
    """What a container, and each record in it, holds when the path ends, by identity."""
    return {id(each) for part in parts_of(container) for each in (part, *in_record(part))}


def _grows(events: list[Stored]) -> bool:
    """True if a later iteration adds to what an earlier one has put into the same container."""
    first = events[0]
    for later in events[1:]:
        if later.container is not first.container or (later.replaced is not None and not _blends(later)):
            continue
        if iterations_between(first.site.loops, later.site.loops) is None or not come_apart(first.tensor, later.tensor):
            continue
        if first.key is None or (isinstance(first.key, (int, str)) and first.key != later.key):
            return True
    return False


def _blends(event: Stored) -> bool:
    """True if an entry is computed from what stood in its place, with the graph of that: a running average."""
    node, old = (None if each is None else each.node for each in (event.tensor, event.replaced))
    return node is not None and old is not None and leads_to(node, old)


def _takes(event: Built, tensor: Tensor | None) -> bool:
    """True if an operation takes the tensor, or a constant that was computed from it."""
    return tensor is not None and any(
        each is tensor or (not each.requires_grad and tensor in each.ancestors()) for each in event.operands
    )


def _is_gone_back_to(event: BackwardRan, stored: Stored) -> bool:
    """True if a backward starts from the stored tensor when the iteration that has stored it is over."""
    later = bool(stored.site.loops) and stored.site.loops[-1] not in event.site.loops
    return later and any(root is stored.tensor for root in event.call.roots)


def _is_used(trace: Trace, stored: Stored, executed: set[Node]) -> bool:
    """True if something is computed from the tensor after it was stored, and takes part in a backward.

    Where nothing is, a function may put its own terms together, as a `forward` does whatever else is trained: they
    are gone with what it returns. What a layer keeps of its work takes part in the backward of its own iteration.
    """
    inside = False
    terms = not executed or is_in_forward(trace, stored.site)
    spent = stored.tensor is not None and _is_spent(stored.tensor)
    for event in trace.events:
        if inside and isinstance(event, Built) and _takes(event, stored.tensor):
            if spent and stored.site.loops[-1:] and stored.site.loops[-1] in event.site.loops:
                continue
            own = event.site.caller is stored.site.caller is not None
            if event.node in executed or (own and terms):
                return True
        if inside and isinstance(event, BackwardRan) and _is_gone_back_to(event, stored):
            return True
        inside = inside or (isinstance(event, Stored) and event.site is stored.site)
    return False
