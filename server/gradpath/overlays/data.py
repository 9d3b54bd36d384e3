"""`torch.utils.data`: what a loader gives is fresh and requires no grad."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.tensor import MANY, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Class, Object, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.tensor_value import TensorValue, wrap


class TensorDataset(Object):
    """Tensors that are indexed together."""

    __slots__ = ("tensors",)

    def __init__(self, tensors: Sequence[Value]) -> None:
        self.tensors = tensors

    def item(self, machine: Machine, key: Value) -> Value:
        return tuple(_copy(machine, value, UNBATCHED) for value in self.tensors)

    def length(self, machine: Machine) -> int | None:
        first = self.tensors[0] if self.tensors else None
        return first.length(machine) if isinstance(first, Object) else None


class DataLoader(Object):
    """A loader over a data set; each iteration gives new tensors."""

    __slots__ = ("batch", "dataset")

    def __init__(self, dataset: Value, batch: int | None) -> None:
        self.dataset = dataset
        self.batch = batch

    def parts(self) -> Sequence[Value]:
        return (self.dataset,)

    def attribute(self, machine: Machine, name: str) -> Value:
        return self.dataset if name == "dataset" else super().attribute(machine, name)

    def fresh_item(self, machine: Machine) -> Value:
        """What the next iteration gives."""
        if isinstance(self.dataset, TensorDataset):
            return List([_copy(machine, value, self.batch) for value in self.dataset.tensors])
        made = machine.unknown("batch of a loader", None, (self,))
        if isinstance(made, Unknown):
            made.presumption = "plain"
        return made


UNBATCHED = 0
"""The batch size of a single item, which has no batch dimension."""


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


def _loader(machine: Machine, arguments: Arguments) -> Value:
    size = arguments.get(1, "batch_size", 1)
    batch = None if not isinstance(size, int) else 1 if size == 1 else MANY
    return DataLoader(arguments.get(0, "dataset", None), batch)


NAMES: Names = {
    "torch.utils.data.TensorDataset": _dataset,
    "torch.utils.data.DataLoader": _loader,
    "torch.utils.data.Dataset": Class("Dataset"),
    "torch.utils.data.IterableDataset": Class("IterableDataset"),
}
