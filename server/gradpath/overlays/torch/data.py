"""`torch.utils.data`: what a loader gives is fresh, and has a graph only where the data set holds tensors with one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from gradpath.autograd.ops import op_of
from gradpath.autograd.tensor import MANY, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.iteration import Container, iterate
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.loops import COUNTED
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Made
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, Function, Instance, Object, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.presumed_tensors import BATCHED
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.operations import call_operation
from gradpath.overlays.torch.tensor_value import TensorValue, wrap

UNBATCHED = 0
"""The batch size of a single item, which has no batch dimension."""


class TensorDataset(Object):
    """Tensors that are indexed together."""

    __slots__ = ("tensors",)

    def __init__(self, tensors: Sequence[Value]) -> None:
        self.tensors = tensors

    def item(self, machine: Machine, key: Value) -> Value:
        return tuple(
            value.item(machine, key)
            if isinstance(value, TensorValue) and _has_graph(value)
            else _copy(machine, value, UNBATCHED)
            for value in self.tensors
        )

    def length(self, machine: Machine) -> int | None:
        first = self.tensors[0] if self.tensors else None
        return first.length(machine) if isinstance(first, Object) else None


class DataLoader(Object):
    """A loader over a data set; each iteration gives new tensors. `size` is that of the batches, where it is known."""

    __slots__ = ("batch", "collate", "dataset", "drawn", "encodes", "size")

    def __init__(self, dataset: Value, batch: int | None, collate: Value = None, size: int | None = None) -> None:
        self.dataset = dataset
        self.batch = batch
        self.collate = collate
        self.size = size
        self.drawn = 0
        self.encodes: bool | None = None

    def parts(self) -> Sequence[Value]:
        return (self.dataset,)

    def attribute(self, machine: Machine, name: str) -> Value:
        return self.dataset if name == "dataset" else super().attribute(machine, name)

    def length(self, machine: Machine) -> int | None:
        items = self.dataset.length(machine) if isinstance(self.dataset, TensorDataset) else None
        return None if items is None or self.size is None else -(-items // self.size)

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        length = self.length(machine)
        return None if length is None or length > COUNTED else (self.fresh_item(machine) for _ in range(length))

    def fresh_item(self, machine: Machine) -> Value:
        """The item of the next iteration."""
        if self.encodes is None:
            self.encodes = _encodes(self.dataset, self.collate)
        if isinstance(self.dataset, Object) and (self.encodes or _has_graph(self.dataset)):
            with suppress(Raised):
                return self._batch_with_graph(machine, self.dataset)
        elif isinstance(self.dataset, TensorDataset):
            return List([_copy(machine, value, self.batch) for value in self.dataset.tensors])
        return _plain(machine, self)

    def _batch_with_graph(self, machine: Machine, dataset: Object) -> Value:
        """Two items represent a whole batch; each batch has different ones, until all have been drawn."""
        if isinstance(dataset, Instance) and dataset.cls.find("__getitem__") is UNDEFINED:
            items = list(islice(iterate(machine, dataset)[0], 2))
        else:
            length = dataset.length(machine) or 2
            items = [dataset.item(machine, (self.drawn + index) % length) for index in range(2)]
        self.drawn += 2
        if self.collate is not None:
            return machine.call(self.collate, Arguments([List(items)]))
        return _collated(machine, items, self.batch)


def _plain(machine: Machine, source: Value) -> Value:
    made = machine.unknown("batch of a loader", None, (source,), made=Made.BATCH)
    if isinstance(made, Unknown):
        made.kind = Kind.PLAIN
        if isinstance(source, DataLoader):
            unseen = source.dataset if isinstance(source.dataset, Unknown) else None
            if unseen is not None:
                made.provenance = conditions.LOADER.of(conditions.name_of(unseen))
            if source.collate is None and (source.batch == 1 or (source.batch == MANY and unseen is None)):
                machine.remembered[BATCHED, made.number] = source.batch == MANY
    return made


def _has_graph(value: Value, depth: int = 3) -> bool:
    """True if a data set holds a tensor with a graph; modules that it uses do not count."""
    match value:
        case TensorValue():
            return value.tensor.node is not None and not value.tensor.is_open
        case ModuleInstance():
            return False
        case TensorDataset():
            return any(_has_graph(each, depth - 1) for each in value.tensors)
        case Container() | Instance():
            return depth > 0 and any(_has_graph(part, depth - 1) for part in value.parts())
    return False


def _encodes(dataset: Value, collate: Value) -> bool:
    """True if a loader's items come out of a module: in the program's own data set, or in its `collate_fn`."""
    if isinstance(collate, Function) and _uses_module(collate, None):
        return True
    if not isinstance(dataset, Instance):
        return False
    getters = map(dataset.cls.find, ("__getitem__", "__iter__"))
    return any(isinstance(getter, Function) and _uses_module(getter, dataset) for getter in getters)


def _uses_module(function: Function, owner: Instance | None, depth: int = 2) -> bool:
    """True if a function, or a method that it calls on its `owner`, names a module that has parameters."""
    for node in ast.walk(function.node):
        match node:
            case ast.Name(id=name):
                found = function.scope.get(name)
            case ast.Attribute(value=ast.Name(), attr=name) if owner is not None:
                found = owner.attributes.get(name, owner.cls.find(name))
            case _:
                continue
        if isinstance(found, ModuleInstance) and found.parameters():
            return True
        if isinstance(found, Function) and depth and found is not function and _uses_module(found, owner, depth - 1):
            return True
    return False


def _collated(machine: Machine, items: Sequence[Value], batch: int | None) -> Value:
    """The batch that the default `collate_fn` makes of items."""
    first = items[0]
    match first:
        case TensorValue():
            made = call_operation(machine, op_of("torch.stack"), Arguments([List(list(items))]))
            if isinstance(made, TensorValue) and made.tensor.shape is not None:
                made.tensor.shape = (batch, *made.tensor.shape[1:])
            return made
        case tuple() | List():
            rows = [item if isinstance(item, tuple) else getattr(item, "items", ()) for item in items]
            columns = zip(*rows, strict=False)
            return List([_collated(machine, column, batch) for column in columns])
        case Dict():
            table = Dict()
            for key, _ in first.entries.values():
                column = [item.look_up(key) for item in items if isinstance(item, Dict)]
                table.store(key, _collated(machine, column, batch))
            return table
        case bool() | int() | float():
            dtype = "float64" if isinstance(first, float) else "int64"
            return wrap(machine.autograd.tensor(shape=(batch,), dtype=dtype))
    return _plain(machine, first)


def _copy(machine: Machine, value: Value, batch: int | None) -> Value:
    if not isinstance(value, TensorValue):
        return value
    source = value.tensor
    rest = () if source.shape is None else source.shape[1:]
    shape = None if source.shape is None else rest if batch == UNBATCHED else (batch, *rest)
    made: Tensor = machine.autograd.tensor(shape=shape, dtype=source.dtype)
    return wrap(made)


def _dataset(machine: Machine, arguments: Arguments) -> Value:
    return TensorDataset(list(arguments.positional))


_CHOOSING = frozenset({"sampler", "batch_sampler", "drop_last"})
"""Options of a loader by which it may give other batches than all items make."""


def _loader(machine: Machine, arguments: Arguments) -> Value:
    size = arguments.get(1, "batch_size", 1)
    whole = not arguments.open and "batch_sampler" not in arguments.keywords
    batch = None if not isinstance(size, int) or not whole else 1 if size == 1 else MANY
    fixed = len(arguments.positional) < 4 and arguments.keywords.keys().isdisjoint(_CHOOSING)
    counted = size if fixed and isinstance(size, int) and size > 0 else None
    return DataLoader(arguments.get(0, "dataset", None), batch, arguments.keywords.get("collate_fn"), counted)


NAMES: Names = {
    "torch.utils.data.TensorDataset": _dataset,
    "torch.utils.data.DataLoader": _loader,
    "torch.utils.data.Dataset": Class("Dataset"),
    "torch.utils.data.IterableDataset": Class("IterableDataset"),
}
