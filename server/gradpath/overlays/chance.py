"""`random` and `heapq`: which items are chosen is not known, and does not matter where none of them has a graph."""

from __future__ import annotations

from gradpath.interpreter.containers import Container, List, any_of, sequence
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Instance, Object, Unknown, Value
from gradpath.overlays.namespace import Fields, Names
from gradpath.overlays.tensor_value import TensorValue


def _sample(machine: Machine, arguments: Arguments) -> Value:
    """`random.sample(population, k)`: as many items, of which the first stand for all."""
    source = arguments.get(0, "population", None)
    items = sequence(machine, source) if not isinstance(source, Unknown) else None
    count = arguments.get(1, "k", 1)
    if not items:
        return machine.unknown("random choice", None, (source,))
    if any(_has_graph(item, 3) for item in items):
        if not isinstance(count, int):
            return machine.unknown("random choice", None, (source,))
        return List(_freshest(items)[:count], open=count > len(items))
    if not isinstance(count, int):
        return List(items[:2], open=True)
    return List([items[index % len(items)] for index in range(min(count, 4096))])


def _choice(machine: Machine, arguments: Arguments) -> Value:
    source = arguments.get(0, "seq", None)
    items = sequence(machine, source) if not isinstance(source, Unknown) else None
    return any_of(machine, items, "random choice") if items else machine.unknown("random choice", None, (source,))


def _has_graph(value: Value, depth: int) -> bool:
    """Whether a value holds a tensor with a graph, or may."""
    match value:
        case TensorValue():
            return value.tensor.requires_grad or not value.tensor.certain
        case Unknown():
            return value.presumption != "plain"
        case tuple() | Container() | Fields() | Instance():
            parts = value if isinstance(value, tuple) else value.parts()
            return depth == 0 or any(_has_graph(part, depth - 1) for part in parts)
        case _:
            return False


def _freshest(items: list[Value]) -> list[Value]:
    """The items, first those that no backward has been through: what fails then fails for every choice."""
    return sorted(items, key=lambda item: _is_spent(item, 3))


def _is_spent(value: Value, depth: int) -> bool:
    """Whether a value holds a tensor whose graph a backward has freed."""
    match value:
        case TensorValue():
            return value.tensor.node is not None and value.tensor.node.freed_by is not None
        case tuple() | Container() | Fields() | Instance():
            parts = value if isinstance(value, tuple) else value.parts()
            return depth > 0 and any(_is_spent(part, depth - 1) for part in parts)
        case _:
            return False


def _push(machine: Machine, arguments: Arguments) -> Value:
    """`heapq.heappush(heap, item)`."""
    heap = arguments.get(0, "heap", None)
    if isinstance(heap, Object):
        machine.call(heap.attribute(machine, "append"), Arguments([arguments.get(1, "item", None)]))
    return None


def _pop(machine: Machine, arguments: Arguments) -> Value:
    """`heapq.heappop(heap)`: any of the items, which is gone then."""
    heap = arguments.get(0, "heap", None)
    if not isinstance(heap, List) or not heap.items:
        return machine.unknown("item of a heap", None, (heap,))
    if len(heap.items) > 1 and not any(_has_graph(item, 3) for item in heap.items):
        return machine.unknown("item of a heap", None, (heap,))
    chosen = _freshest(heap.items)[0]
    heap.items[:] = [item for item in heap.items if item is not chosen]
    return chosen


def _extremes(machine: Machine, arguments: Arguments) -> Value:
    """`heapq.nsmallest(n, iterable)` and its counterpart."""
    return _sample(machine, Arguments([arguments.get(1, "iterable", None), arguments.get(0, "n", 1)]))


NAMES: Names = {
    "heapq.heappush": _push,
    "heapq.heappop": _pop,
    "heapq.heapify": lambda machine, arguments: None,
    "heapq.nlargest": _extremes,
    "heapq.nsmallest": _extremes,
    "random.sample": _sample,
    "random.choices": lambda machine, arguments: _sample(
        machine, Arguments([arguments.get(0, "population", None), arguments.keywords.get("k", 1)])
    ),
    "random.choice": _choice,
    "random.shuffle": lambda machine, arguments: None,
}
