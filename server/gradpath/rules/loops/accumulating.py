"""Totals and lists that grow from iteration to iteration, and what they keep alive."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from itertools import takewhile

from gradpath.autograd.tensor import PRESUMED, Node, Tensor
from gradpath.findings.graphs import leads_to, nodes_of, reach
from gradpath.findings.report import Source
from gradpath.findings.rewrapping import rewrappings
from gradpath.findings.syntax import function_of, statement_of
from gradpath.interpreter.trace import BackwardRan, Bound, Built, Site, Stored, Trace, iterations_between
from gradpath.rules.loops.outliving import Growing, may_be_learned_from, outliving
from gradpath.rules.loops.totals import JOINS, is_addition
from gradpath.source.index import methods_called

_SUMS = frozenset({"torch.add", "torch.Tensor.add_"})
_BLENDS = frozenset({"torch.lerp", "torch.Tensor.lerp_", "torch.maximum", "torch.minimum"})
"""The operations of a running mean and of the best so far: `best = torch.minimum(best, loss)`."""
_SCALINGS = frozenset({"torch.mul", "torch.div", "torch.Tensor.mul_", "torch.Tensor.div_"})
_WRITE = "CopySlices"
"""The node of `losses[i] = loss`, where `losses` is a tensor."""


def growing(trace: Trace, source: Source) -> Iterator[Growing]:
    """The places that keep the graphs of several iterations, none of which is back-propagated from there.

    An `autograd.grad` with `create_graph` does not count: its result is a part of a loss that is back-propagated.
    """
    ends = [event for event in trace.of(BackwardRan) if event.call.accumulates or not event.call.create_graph]
    executed = {node for event in ends for node in event.executed}
    executed -= trace.once(_counts)
    kept = [*_sums(trace, executed), *_unseen_sums(trace, executed)]
    if not any(rewrappings(trace)):  # A list of losses that were rebuilt as numbers is what `rewrapped-loss` is about.
        kept += [*_lists(trace, executed, source), *outliving(trace, executed, source)]
    places = set[ast.AST]()
    for each in kept:
        below = reach([each.tensor.node]) if each.tensor.node is not None else {}
        nodes = {each.site.node, *(node.site.node for node in below if isinstance(node.site, Site))}
        if places.isdisjoint(nodes):
            places.add(each.site.node)
            yield each


def _sums(trace: Trace, executed: set[Node]) -> Iterator[Growing]:
    """`total += loss`, `history = torch.cat([history, loss])`: a value of the same line in an earlier iteration."""
    sums: dict[ast.AST, list[Built]] = {}
    for event in trace.of(Built):
        if event.node.name in _SUMS | _BLENDS | JOINS or event.node.name == _WRITE:
            sums.setdefault(event.site.node, []).append(event)
    for node, events in sums.items():
        if len(events) < 2 or any(event.node in executed for event in events):
            continue
        if events[0].node.name != _WRITE and not is_addition(trace, node):
            continue
        if executed and not _spans_backward(trace, events) and not _is_evaluation(trace, *events[:2]):
            continue
        if not executed and (_is_in_forward(trace, events[0].site) or _calls_backward(trace, events[0].site)):
            continue  # A term of what it returns, or of what is back-propagated further on.
        if not _add_fresh(events):
            continue
        for event in events:
            added = _added(event)
            if added is None or (_is_returned(trace, node, executed) and _is_computed_from(added, event)):
                continue
            if not event.node.is_open and _is_live(trace, added, executed):
                yield Growing(event.site, added)
                break


def _calls_backward(trace: Trace, site: Site) -> bool:
    """True if the function around a place calls a `backward`, which did not run: it may be that of the total."""
    function = function_of(trace, site.node)
    body = trace.entry if function is None else function
    return any(method == "backward" for _, method, _ in methods_called(body))


def _spans_backward(trace: Trace, events: Sequence[Built]) -> bool:
    """True if a backward runs between an addition and the one it depends on; otherwise the total ends with the step.

    An `autograd.grad` outside of the graph of the total does not count: its result is a part of the computation.
    """
    ran: dict[Node, int] = {}
    count = 0
    places = {event.node for event in events}
    below = reach([event.node for event in events])
    for event in trace.events:
        if isinstance(event, BackwardRan):
            count += event.call.accumulates or any(node in below for node in event.executed)
        elif isinstance(event, Built) and event.node in places:
            ran[event.node] = count
    for event in events:
        for edge in event.node.edges:
            before = _led_back(edge, event.site, 3)
            if before is not None and ran.get(before, 0) < ran[event.node]:
                return True
    return False


def _add_fresh(events: Sequence[Built]) -> bool:
    """True if an addition adds what was computed after the one it depends on: otherwise all of it was there."""
    added = {event.node: _latest(event) for event in events}
    for event in events:
        before = [_led_back(edge, event.site, 3) for edge in event.node.edges]
        if any(node is not None and _come_apart(added.get(node), added[event.node]) for node in before):
            return True
    return False


def _stands_apart(trace: Trace, first: Site, later: Site) -> bool:
    """True if two places are in iterations of a loop beside the one that trains, such as an evaluation's.

    What a loop inside a training step gathers ends with the step, and what an inner loop gathers ends with the outer's
    iteration.
    """
    loop = iterations_between(first.loops, later.loops)
    backwards = [event.site.loops for event in trace.of(BackwardRan)]
    if loop is None or not backwards:
        return False
    depth = [number for number, _ in first.loops].index(loop)
    shared = max(_shared(first.loops, loops) for loops in backwards)
    return shared == depth and all(len(loops) > depth for loops in backwards if _shared(first.loops, loops) == depth)


def _shared(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> int:
    """The number of loops around two places that are in the same iteration."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _is_evaluation(trace: Trace, first: Built, second: Built) -> bool:
    """True if two additions add losses of an evaluation."""
    return _stands_apart(trace, first.site, second.site) and _are_disjoint(_latest(first), _latest(second))


def _are_disjoint(first: Tensor | None, second: Tensor | None) -> bool:
    """True if two tensors were computed apart from each other, all but the parameters."""
    if first is None or second is None or first.node is None or second.node is None:
        return False
    return all(node.accumulates is not None for node in reach([first.node]).keys() & reach([second.node]).keys())


def _latest(event: Built) -> Tensor | None:
    """The operand of an addition that was computed last: what is added to the total."""
    tensors = [tensor for tensor in event.operands if tensor.node is not None]
    apart = [each for each in tensors if each.node is not None and _led_back(each.node, event.site, 3) is None]
    return apart[-1] if apart else None


def _unseen_sums(trace: Trace, executed: set[Node]) -> Iterator[Growing]:
    """`total += loss` where the loss is known only from its backward: the total is a new unknown each time."""
    added: dict[ast.AST, list[tuple[Bound, Tensor, int]]] = {}
    backwards = 0
    for event in trace.among(BackwardRan, Bound) if executed else ():
        backwards += isinstance(event, BackwardRan)
        if not isinstance(event, Bound) or event.tensor is not None or not _is_total(event.site.node):
            continue
        if event.is_plain:
            continue
        for _, tensor in event.sources:
            if tensor is not None and tensor.node in executed:
                added.setdefault(event.site.node, []).append((event, tensor, backwards))
    for events in added.values():
        first, tensor, before = events[0]
        for later, _, count in events[1:]:
            again = iterations_between(first.site.loops, later.site.loops) is not None and count > before
            if again and any(source is first.value for source, _ in later.sources):
                yield Growing(first.site, tensor)
                break


def _is_total(node: ast.AST) -> bool:
    """True if a statement adds to a variable."""
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add)
    return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)


def _added(event: Built) -> Tensor | None:
    """The tensor that an addition adds to the total of an earlier iteration; None where it has no such total."""
    before = [edge for edge in event.node.edges if _led_back(edge, event.site, 3) is not None]
    rest = [edge for edge in event.node.edges if edge not in before and edge.accumulates is None]
    if not before or not rest:
        return None
    inputs = event.operands
    return next((tensor for tensor in inputs if tensor.node in rest), None)


def _is_returned(trace: Trace, node: ast.AST, executed: set[Node]) -> bool:
    """True if a sum may be a next state rather than a total: a function returns it, or nothing is trained."""
    return not executed or isinstance(statement_of(trace, node), ast.Return)


def _is_computed_from(added: Tensor, event: Built) -> bool:
    """True if the added value depends on the total itself, which makes it a state, as in `z = z + step * f(z)`."""
    before = [edge for edge in event.node.edges if _led_back(edge, event.site, 3) is not None]
    return added.node is not None and any(leads_to(added.node, target) for target in before)


def _led_back(node: Node, site: Site, depth: int) -> Node | None:
    """The same addition in an earlier iteration, where a node is that, or a multiple of it, or adds more to it."""
    if isinstance(node.site, Site) and node.site.node is site.node:
        return node if iterations_between(node.site.loops, site.loops) is not None else None
    if depth == 0 or node.name not in _SCALINGS | _SUMS:
        return None
    return next((found for edge in node.edges if (found := _led_back(edge, site, depth - 1)) is not None), None)


def _is_live(trace: Trace, tensor: Tensor, executed: set[Node]) -> bool:
    """True if a tensor certainly holds a graph through which no backward will run.

    Either a backward has freed it already, or the program has ended without one.
    """
    if tensor.node is None or tensor.is_open or _is_of_counts(tensor.node, trace.once(_counts)):
        return False
    below = _surely_below(tensor.node, executed)
    if any(node in executed for node in below):
        return True
    if trace.failures() or (not executed and not (isinstance(trace.entry, ast.Module) and is_number(trace, tensor))):
        return False  # What it would be used for is not seen, or a caller may have switched gradients off.
    return any(node.holds for node in below)


def _surely_below(start: Node, executed: set[Node]) -> list[Node]:
    """The nodes upstream of `start`, except those of a part of an unknown call's result whose graph was not seen.

    What a model returns beside its loss is as often a number: an accuracy, a count, and so is a sum or a mean of it.
    """
    found: dict[Node, None] = {}
    todo = [start]
    while todo:
        node = todo.pop()
        if node not in found and (node in executed or not _is_part(node)):
            found[node] = None
            todo.extend(node.edges)
    sure = set[Node]()
    for node in sorted(found, key=_number):
        if node in executed or node.name not in _SUMS | _SCALINGS or not sure.isdisjoint(node.edges):
            sure.add(node)
    return [node for node in found if node in sure]


def _number(node: Node) -> int:
    return node.number


def _counts(trace: Trace) -> frozenset[Node]:
    """What is known only from being a divisor, such as the `n` of `loss, n = losses_of(x)` and `loss.sum() / n`.

    That a backward runs through the quotient does not tell that they have a graph: most of them are counts.
    """
    executed = {node for event in trace.of(BackwardRan) for node in event.executed}
    dividing, others = set[Node](), set[Node]()
    for event in trace.of(Built):
        for name, tensors in event.inputs.items() if event.node in executed else ():
            divides = name == "other" and event.node.name == "torch.div"
            (dividing if divides else others).update(each.node for each in tensors if each.node is not None)
    return frozenset(node for node in dividing - others if node.is_open or node.name == PRESUMED)


def _is_of_counts(node: Node, counts: Set[Node]) -> bool:
    """True if a node represents a count, or what scales one."""
    return node in counts or (
        node.name in _SCALINGS and bool(node.edges) and all(_is_of_counts(each, counts) for each in node.edges)
    )


def _is_part(node: Node) -> bool:
    """True if a node represents a part of an unknown call's result: upstream of it is the trunk of the same call."""
    return node.name == PRESUMED and any(edge.name == PRESUMED and edge.site is node.site for edge in node.edges)


def is_number(trace: Trace, tensor: Tensor) -> bool:
    """True if a tensor has one element for sure: by its shape, or because its like was back-propagated."""
    if tensor.one_element is not None:
        return tensor.one_element
    place = tensor.node.site.node if tensor.node is not None and isinstance(tensor.node.site, Site) else None
    roots = [root for event in trace.of(BackwardRan) for root in event.call.roots]
    return any(
        root is tensor or (root.node is not None and isinstance(root.node.site, Site) and root.node.site.node is place)
        for root in roots
    ) or tensor.node in _operands_of(nodes_of(roots))


def _operands_of(roots: Sequence[Node]) -> set[Node]:
    """The nodes of numbers that were added or multiplied to give the roots."""
    todo, found = list(roots), set[Node]()
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            if node.name in _SUMS | _SCALINGS | {"torch.sub"}:
                todo.extend(node.edges)
    return found


def _lists(trace: Trace, executed: set[Node], source: Source) -> Iterator[Growing]:
    """`losses.append(loss)`: tensors that a list holds at the end, from several iterations of one loop."""
    stored: dict[tuple[ast.AST, int], list[Stored]] = {}
    for event in trace.of(Stored):
        for place, each in enumerate(event.one_by_one()):
            stored.setdefault((event.site.node, place), []).append(each)
    for events in stored.values():
        kept = [event for event in events if _is_kept(event)]
        if len(kept) < 2 or not _grows(kept) or isinstance(statement_of(trace, kept[0].site.node), ast.AugAssign):
            continue  # An entry that is changed was there before.
        first = kept[0].tensor
        if first is None:
            continue
        sure = _is_spent(first) or _are_outputs(trace, kept, executed)
        if not sure and (not is_number(trace, first) or may_be_learned_from(trace, source, kept[-1])):
            continue
        filled = [event for event in events if event.container is kept[0].container]
        if executed and not (_outlasts_backward(trace, filled) or _are_outputs(trace, kept, executed)):
            continue
        if _is_live(trace, first, executed) and not any(_is_used(trace, event, executed) for event in kept):
            yield Growing(kept[0].site, first)


def _are_outputs(trace: Trace, kept: Sequence[Stored], executed: set[Node]) -> bool:
    """True if tensors of any size come from an evaluation: no backward has freed what their graphs have saved."""
    first, second = kept[0], kept[1]
    if not executed or not _stands_apart(trace, first.site, second.site):
        return False
    return _are_disjoint(first.tensor, second.tensor) and not _are_of_parts(first.tensor, second.tensor)


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


def _outlasts_backward(trace: Trace, filled: Sequence[Stored]) -> bool:
    """True if a backward runs while a container is filled: else it may be gone with the step that fills it."""
    places = {id(event.site) for event in filled}
    begun = ran = False
    for event in trace.among(BackwardRan, Stored):
        if isinstance(event, BackwardRan):
            ran = ran or (begun and event.call.accumulates)
        elif id(event.site) in places:
            if ran:
                return True
            begun = True
    return False


def _is_kept(event: Stored) -> bool:
    """True if the container still holds the tensor when the path ends."""
    tensor = event.tensor
    if tensor is None or tensor.node is None or getattr(event.container, "elsewhere", False):
        return False  # Or a list that was made, and is emptied, in code that is not seen.
    return event.is_kept


def _grows(events: list[Stored]) -> bool:
    """True if a later iteration adds to what an earlier one has put into the same container."""
    first = events[0]
    for later in events[1:]:
        if later.container is not first.container or (later.replaced is not None and not _blends(later)):
            continue
        if iterations_between(first.site.loops, later.site.loops) is None or not _are_made_apart(first, later):
            continue
        if first.key is None or (isinstance(first.key, (int, str)) and first.key != later.key):
            return True
    return False


def _blends(event: Stored) -> bool:
    """True if an entry is computed from what stood in its place, with the graph of that: a running average."""
    node, old = (None if each is None else each.node for each in (event.tensor, event.replaced))
    return node is not None and old is not None and leads_to(node, old)


def _are_made_apart(first: Stored, later: Stored) -> bool:
    """True if two tensors were computed in different iterations; otherwise the loop only gathers existing ones."""
    return _come_apart(first.tensor, later.tensor)


def _come_apart(first: Tensor | None, later: Tensor | None) -> bool:
    """True if two tensors may have been computed in different iterations."""
    sites = [each.node.site for each in (first, later) if each is not None and each.node is not None]
    made = [site.loops for site in sites if isinstance(site, Site)]
    return len(made) < 2 or iterations_between(made[0], made[1]) is not None


def _takes(event: Built, tensor: Tensor | None) -> bool:
    """True if an operation takes the tensor, or a constant that was computed from it."""
    inputs = event.operands
    return any(
        each is tensor or (not each.requires_grad and any(one is tensor for one in each.ancestors())) for each in inputs
    )


def _is_gone_back_to(event: BackwardRan, stored: Stored) -> bool:
    """True if a backward starts from the stored tensor when the iteration that has stored it is over."""
    later = bool(stored.site.loops) and stored.site.loops[-1] not in event.site.loops
    return later and any(root is stored.tensor for root in event.call.roots)


def _is_in_forward(trace: Trace, site: Site) -> bool:
    """True if a place is in a `forward`, or in what that calls."""
    return any(getattr(function_of(trace, each.node), "name", "") == "forward" for each in site.frames())


def _is_used(trace: Trace, stored: Stored, executed: set[Node]) -> bool:
    """True if something is computed from the tensor after it was stored, and takes part in a backward.

    Where nothing is, a function may put its own terms together, as a `forward` does whatever else is trained: they
    are gone with what it returns. What a layer keeps of its work takes part in the backward of its own iteration.
    """
    inside = False
    terms = not executed or _is_in_forward(trace, stored.site)
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
