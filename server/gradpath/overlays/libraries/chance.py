"""`random`, its like in NumPy, and `heapq`: which items are chosen matters only where some have a graph."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.interpreter.containers import List, any_of, is_slender
from gradpath.interpreter.iteration import Container, sample, sequence
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import AtLeast
from gradpath.interpreter.origins import Computed, Made, Origin
from gradpath.interpreter.readings import parts_of
from gradpath.interpreter.values import UNDEFINED, Arguments, Instance, NativeFunction, Object, Unknown, Value
from gradpath.overlays.namespace import Fields, Names
from gradpath.overlays.torch.tensor_value import TensorValue

FEW = 8
"""Parts of an item that are compared."""


def _sample(machine: Machine, arguments: Arguments, *, again: bool = False) -> Value:
    """`random.sample(population, k)`: as many items, at least one; the first items represent all.

    Each may be drawn `again`.
    """
    source = arguments.get(0, "population", None)
    items = sample(machine, source)[0] if not isinstance(source, Unknown) else None
    count = arguments.get(1, "k", 1)
    if not items:
        return machine.unknown("random choice", None, (source,))
    if is_slender(tuple(items)) and any(_has_graph(item, 3) for item in items):
        least = count.minimum if isinstance(count, AtLeast) else count if isinstance(count, int) else 1
        drawn, more = _in_a_long_run(items), again or (isinstance(source, List) and source.is_longer(machine))
        if more and not _has_graph(drawn[0], 3):
            drawn = [item for item in drawn if not _has_graph(item, 3)]
        return List(drawn[:least], open=least is not count or least > len(drawn))
    if not isinstance(count, int):
        return List(items[:2], open=True)
    return List([items[index % len(items)] for index in range(min(count, 4096))])


def _choice(machine: Machine, arguments: Arguments) -> Value:
    source = arguments.get(0, "seq", None)
    items = sequence(machine, source) if not isinstance(source, Unknown) else None
    if not items:
        return machine.unknown("random choice", None, (source,))
    chosen = at_random(items)
    return any_of(machine, items, "random choice") if chosen is UNDEFINED else chosen


def is_index(root: Origin) -> bool:
    """True if an unknown number comes of one drawn at random, or round as the samples of a data set do."""
    return isinstance(root, Computed) and root.made in (Made.DRAWN, Made.BATCH)


def at_random(items: Sequence[Value]) -> Value:
    """The item that is drawn sooner or later, if some have a graph: one without, or with a graph that is freed."""
    if not items or not is_slender(tuple(items)) or not any(_has_graph(item, 3) for item in items):
        return UNDEFINED
    return _in_a_long_run(items)[0]


def any_of_alike(items: Sequence[Value]) -> Value:
    """An item that stands for any of them: tensors of one shape without a graph, or tuples or lists of such."""
    kinds = {_kind(each) for each in items}
    return items[0] if len(kinds) == 1 and None not in kinds else UNDEFINED


def _kind(value: Value) -> object:
    """What tensors without a graph have in common where one can stand for another; None for all other values."""
    match value:
        case TensorValue(tensor=tensor) if not tensor.requires_grad and not tensor.is_open:
            return tensor.shape, tensor.dtype, tensor.inference
        case Unknown(kind=Kind.PLAIN, tensor=None):
            return Kind.PLAIN
        case tuple() if value and len(value) <= FEW:
            parts = tuple(map(_kind, value))
            return None if None in parts else parts
        case List(items=[first, *others]):
            kind = _kind(first)
            return None if kind is None or any(_kind(each) != kind for each in others) else ("list", kind)
    return None


def _index(root: str) -> NativeFunction:
    return NativeFunction("randint", lambda machine, arguments: machine.unknown(root, made=Made.DRAWN))


def _array_choice(machine: Machine, arguments: Arguments) -> Value:
    """`numpy.random.choice(a, size)`: of a list as `random` does it, or indices below a number.

    What it draws of numbers has the attributes of an array, and no value that is known.
    """
    source = arguments.get(0, "a", None)
    if isinstance(source, List) and not any(isinstance(each, int | float) for each in source.items):
        size = arguments.get(1, "size", None)
        return _choice(machine, arguments) if size is None else _sample(machine, Arguments([source, size]))
    return machine.unknown("numpy.random", made=Made.DRAWN)


def _has_graph(value: Value, depth: int) -> bool:
    """True if a value holds a tensor with a graph, or may."""
    match value:
        case TensorValue():
            return value.tensor.requires_grad or value.tensor.is_open
        case Unknown():
            return value.kind is not Kind.PLAIN and not value.is_data
        case tuple() | Container() | Fields() | Instance():
            parts = parts_of(value)
            return depth == 0 or any(_has_graph(part, depth - 1) for part in parts)
    return False


def _freshest(items: list[Value]) -> list[Value]:
    """The items, first those that no backward has been through: what fails then fails for every choice."""
    return sorted(items, key=lambda item: _is_spent(item, 3))


def _in_a_long_run(items: Sequence[Value]) -> list[Value]:
    """The items in the order in which some draw holds no others: those that a backward has been through, or no graph.

    Of a growing memory that keeps only its last values with their graphs, some draw has none of these.
    """
    return sorted(items, key=lambda item: (not _is_spent(item, 3), _has_graph(item, 3)))


def _is_spent(value: Value, depth: int) -> bool:
    """True if a value holds a tensor whose graph a backward has freed."""
    match value:
        case TensorValue():
            return value.tensor.node is not None and value.tensor.node.freed_by is not None
        case Unknown():
            return _is_spent(value.tensor, depth)
        case tuple() | Container() | Fields() | Instance():
            parts = parts_of(value)
            return depth > 0 and any(_is_spent(part, depth - 1) for part in parts)
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
    if not is_slender(heap) or (len(heap.items) > 1 and not any(_has_graph(item, 3) for item in heap.items)):
        return machine.unknown("item of a heap", None, (heap,))
    chosen = _freshest(heap.items)[0]
    heap.items[:] = [item for item in heap.items if item is not chosen]
    return chosen


def _extremes(machine: Machine, arguments: Arguments) -> Value:
    """`heapq.nsmallest(n, iterable)` and its counterpart."""
    return _sample(machine, Arguments([arguments.get(1, "iterable", None), arguments.get(0, "n", 1)]))


NUMBERS = ("gauss", "normalvariate", "randint", "random", "randrange", "triangular", "uniform")
"""Functions of `random` that give one number."""

NAMES: Names = {
    **{f"random.{name}": _index("random.index") for name in NUMBERS},
    "heapq.heappush": _push,
    "heapq.heappop": _pop,
    "heapq.heapify": lambda machine, arguments: None,
    "heapq.nlargest": _extremes,
    "heapq.nsmallest": _extremes,
    "numpy.random.choice": _array_choice,
    "numpy.random.randint": _index("numpy.random"),
    "random.sample": _sample,
    "random.choices": lambda machine, arguments: _sample(
        machine, Arguments([arguments.get(0, "population", None), arguments.keywords.get("k", 1)]), again=True
    ),
    "random.choice": _choice,
    "random.shuffle": lambda machine, arguments: None,
}
