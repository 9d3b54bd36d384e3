"""Values with a graph that outlive the iteration of a training, while no backward ever runs through them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import TypeVar

from gradpath.autograd.tensor import SWITCHED_OFF, Node, Tensor
from gradpath.findings.graphs import leads_to, reach
from gradpath.findings.report import Source
from gradpath.interpreter.events import (
    BackwardRan,
    Bound,
    Handed,
    Site,
    Stored,
    iterations_between,
    parts_of,
    tensor_of,
)
from gradpath.interpreter.trace import Trace
from gradpath.rules.loops.kept_graphs import SUMS, certainly_below
from gradpath.source.index import contents, head_of, inside, variables
from gradpath.source.nodes import last_name, noted, place_in_text, statements
from gradpath.support.fast_dataclasses import dataclass

E = TypeVar("E", Stored, Bound)

_DEPTH = 3
"""How deep values are looked for in what is stored: a list of episodes, of steps, of tensors."""


@dataclass(frozen=True, slots=True)
class Growing:
    """A place that adds a live tensor to those of earlier iterations: `site` adds `tensor` to what is kept.

    `trained` is a backward that ran meanwhile, where none has run through the tensor.
    """

    site: Site
    tensor: Tensor
    trained: Site | None = None


def outliving(trace: Trace, executed: Set[Node], source: Source) -> Iterator[Growing]:
    """The places that keep a tensor with its graph from one iteration of a training to the next ones."""
    if executed and not trace.has_failed:
        found: dict[ast.AST, Growing] = {}
        for each in (*_stored(trace, executed, source), *_carried(trace, executed)):
            found.setdefault(each.site.node, each)
        yield from found.values()


def _stored(trace: Trace, executed: Set[Node], source: Source) -> Iterator[Growing]:
    """What a container still holds at the end, or a record in it, from iterations with a backward in between."""
    for events in _by_place(trace, Stored):
        last = events[-1]
        if getattr(last.container, "elsewhere", False):
            continue
        held = {id(part) for part in parts_of(last.container)}
        entered = {id(event.value): event for event in events}  # What is put in again is there since then.
        kept = [event for event in events if id(event.value) in held and entered[id(event.value)] is event]
        trained = _trained(trace, kept[0], kept[-1]) if kept else None
        if trained is None:
            continue
        loop = iterations_between(kept[0].site.loops, kept[-1].site.loops)
        if goes_over_few(trace, loop):
            continue
        again = [event for event in kept if iterations_between(kept[0].site.loops, event.site.loops) == loop]
        first, later = list(_tensors_in(kept[0].value)), [each for one in again for each in _tensors_in(one.value)]
        everything = [tensor for event in kept for tensor in _tensors_in(event.value)]
        for tensor in first:
            alike = [each for each in everything if _made_at(each) is _made_at(tensor)]
            if any(each.node in executed for each in alike) or not _is_live(tensor, executed):
                continue
            if not any(_made_at(each) is _made_at(tensor) and each is not tensor for each in later):
                continue
            if _is_handed_on(trace, [each for each in everything if _made_at(each) is _made_at(tensor)]):
                continue
            way_in = _way_in(trace, tensor) or kept[0]
            if not any(may_be_learned_from(trace, source, each) for each in (way_in, last)):
                yield Growing(way_in.site, tensor, trained)


def _is_handed_on(trace: Trace, states: Sequence[Tensor]) -> bool:
    """True if each state was computed from the one before, and unseen code was handed what it may back-propagate."""
    nodes = [each.node for each in states if each.node is not None]
    if not all(leads_to(later, node) for node, later in pairwise(nodes)):
        return False
    handed = (each.node for event in trace.of(Handed) for each in event.tensors if each.node is not None)
    return any(leads_to(each, node) for each in handed for node in nodes)


def goes_over_few(trace: Trace, loop: int | None) -> bool:
    """True if a loop goes over what is named one by one, `for key in ("G", "D")`, or over networks or functions.

    It keeps a few graphs at most.
    """
    around = None if loop is None else trace.loops.get(loop)
    if not isinstance(around, ast.For):
        return False
    return isinstance(around.iter, ast.Tuple | ast.List) or _calls_its_items(around)


@noted
def _calls_its_items(loop: ast.For) -> bool:
    """True if what a loop goes over is called: `critic(states)` in `for critic, optimizer in zip(...)`."""
    items = {each.id for each in inside(loop.target, ast.Name)}
    return any(isinstance(call.func, ast.Name) and call.func.id in items for call in contents(loop).calls)


def _carried(trace: Trace, executed: Set[Node]) -> Iterator[Growing]:
    """A state that each iteration computes from that of the last one: its graph goes back to the first."""
    reported: list[Node] = []
    groups: list[Sequence[Stored | Bound]] = [*_by_place(trace, Bound), *_by_key(trace)]
    for events in groups:
        last = events[-1]
        if len(events) == 1 or last.tensor is None:
            continue
        alike = [each for each in events if each is last or _are_made_alike(each, last)]
        first, states = alike[0], [event.tensor for event in alike]
        if first.tensor is None:
            continue
        if any(each is None or each.node is None or each.node in executed for each in states):
            continue
        before, after = first.tensor.node, last.tensor.node
        if before is None or after is None or before is after or any(leads_to(after, node) for node in reported):
            continue
        if not leads_to(after, before):
            continue
        trained = _trained(trace, first, last)
        if trained is not None and _is_live(first.tensor, executed):
            reported.append(before)
            yield Growing(last.site, last.tensor, trained)


def _are_made_alike(one: Stored | Bound, other: Stored | Bound) -> bool:
    return one.tensor is not None and other.tensor is not None and _made_at(one.tensor) is _made_at(other.tensor)


def _by_key(trace: Trace) -> Iterator[list[Stored]]:
    """The events of each entry of a dict, in order."""
    found: dict[tuple[ast.AST, int, object], list[Stored]] = {}
    for event in trace.of(Stored):
        if event.key is not None:
            found.setdefault((event.site.node, id(event.container), event.key), []).append(event)
    return iter(found.values())


def _by_place(trace: Trace, kind: type[E]) -> Iterator[list[E]]:
    """The events of each place, in order, with a name and without."""
    found: dict[tuple[ast.AST, object], list[E]] = {}
    for event in trace.of(kind):
        found.setdefault((event.site.node, getattr(event, "name", None)), []).append(event)
    return iter(found.values())


def _trained(trace: Trace, first: Stored | Bound, later: Stored | Bound) -> Site | None:
    """The backward that ran after the first event in the loop of which the two are in different iterations."""
    loop = iterations_between(first.site.loops, later.site.loops)
    begun = False
    for event in trace.among(BackwardRan, type(first)) if loop is not None else ():
        if begun and isinstance(event, BackwardRan) and event.call.trains and loop in dict(event.site.loops):
            return event.site
        begun = begun or event is first
    return None


def _tensors_in(value: object, depth: int = _DEPTH) -> Iterator[Tensor]:
    """The tensors that a value is or holds: in containers, and in the attributes of the program's records."""
    tensor = tensor_of(value)
    if tensor is not None:
        yield tensor
    elif depth:
        attributes = getattr(value, "attributes", None)
        parts: Sequence[object] = tuple(attributes.values()) if isinstance(attributes, dict) else parts_of(value)
        for part in parts:
            yield from _tensors_in(part, depth - 1)


def _made_at(tensor: Tensor) -> ast.AST | None:
    return None if tensor.node is None else tensor.node.site.node


def _is_live(tensor: Tensor, executed: Set[Node]) -> bool:
    """True if a tensor certainly has a graph that saves something, or that shares some with what was trained.

    A sum of what an unseen call gives beside its loss may be one of numbers.
    """
    if tensor.node is None or not tensor.certainly_requires_grad or _made_at(tensor) is None:
        return False
    if tensor.node.name in SUMS and not certainly_below(tensor.node, executed):
        return False
    return any(node.holds or node in executed for node in reach([tensor.node]))


def _way_in(trace: Trace, tensor: Tensor) -> Stored | None:
    """The first event that has put a tensor into a container, itself or in a record."""
    return next((event for event in trace.of(Stored) if tensor in _tensors_in(event.value, 2)), None)


def may_be_learned_from(trace: Trace, source: Source, stored: Stored) -> bool:
    """True if a backward may start from a container in code that is not seen, or that this path has not run.

    None starts from what is read while gradients are off.
    """
    names = _names_of(stored.site.node)
    ran = {place_in_text(each) for each in trace.visits}
    off = set[tuple[int, int]]().union(*(_without_gradients(source.tree(each)) for each in source.documents))
    blind = [call for call in trace.blind if isinstance(call, ast.Call) and place_in_text(call) not in off]
    given = [each for call in blind for each in (*call.args, *(keyword.value for keyword in call.keywords))]
    returned = inside(trace.entry, ast.Return) if isinstance(trace.entry, _DEFINITIONS) else ()
    unrun = [
        code
        for tree in map(source.tree, source.documents)
        for each in statements(tree.body)
        if not isinstance(each, _DEFINITIONS) and place_in_text(each) not in ran
        for code in _used(each)
    ]
    reads = [each for code in (*given, *returned, *unrun) for each in variables(code) if isinstance(each.ctx, ast.Load)]
    asked = [call.func.value for call in blind if isinstance(call.func, ast.Attribute)]
    if any(last_name(each) in names[:1] and place_in_text(each) not in off for each in reads):
        return True
    return len(names) > 1 and any(_names_of(each)[:1] == names[1:2] for each in asked)


def _used(statement: ast.stmt) -> Sequence[ast.AST]:
    """The parts of a statement of which something is used: not a container that it only fills or empties."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method), args=args, keywords=keywords)):
            if hasattr(list, method) or method in ("appendleft", "popleft"):
                return [*args, *(each.value for each in keywords)]
    return head_of(statement)


@noted
def _without_gradients(tree: ast.Module) -> frozenset[tuple[int, int]]:
    """The places of what is computed under a `with torch.no_grad():`, or in a function with that decorator."""
    blocks: list[ast.With | ast.FunctionDef] = [*inside(tree, ast.With), *inside(tree, ast.FunctionDef)]
    return frozenset(
        place_in_text(inner)
        for block in blocks
        if any(last_name(each) in SWITCHED_OFF for head in _heads(block) for each in variables(head))
        for statement in block.body
        if not isinstance(statement, ast.Return) or _computes(statement.value)
        for inner in inside(statement, ast.Name, ast.Attribute, ast.Call)
    )


def _computes(value: ast.expr | None) -> bool:
    """True if an expression is a number or a new tensor, and not a container or what is in one."""
    match value:
        case ast.Call(func=ast.Attribute(attr=name)):
            return not any(hasattr(each, name) for each in (dict, list))
    return False


def _heads(block: ast.With | ast.FunctionDef) -> list[ast.expr]:
    return [each.context_expr for each in block.items] if isinstance(block, ast.With) else block.decorator_list


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _names_of(place: ast.AST) -> list[str]:
    """The names of a container and its holders, innermost first: `memory`, `self` in `self.memory.append(x)`."""
    match place:
        case ast.Call(func=ast.Attribute(value=holder)) | ast.Subscript(value=holder):
            return _names_of(holder)
        case ast.Attribute(value=holder):
            return [last_name(place), *_names_of(holder)]
        case ast.Name():
            return [last_name(place)]
    return []
