"""`torch.utils.data`: what a loader gives is fresh and requires no grad."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.tensor import Tensor
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
        return tuple(_copy(machine, value) for value in self.tensors)

    def length(self, machine: Machine) -> int | None:
        first = self.tensors[0] if self.tensors else None
        return first.length(machine) if isinstance(first, Object) else None


class DataLoader(Object):
    """A loader over a data set; each iteration gives new tensors."""

    __slots__ = ("dataset",)

    def __init__(self, dataset: Value) -> None:
        self.dataset = dataset

    def parts(self) -> Sequence[Value]:
        return (self.dataset,)

    def attribute(self, machine: Machine, name: str) -> Value:
        return self.dataset if name == "dataset" else super().attribute(machine, name)

    def fresh_item(self, machine: Machine) -> Value:
        """What the next iteration gives."""
        if isinstance(self.dataset, TensorDataset):
            return List([_copy(machine, value) for value in self.dataset.tensors])
        made = machine.unknown("batch of a loader", None, (self,))
        if isinstance(made, Unknown):
            made.presumption = "plain"
        return made


def _copy(machine: Machine, value: Value) -> Value:
    if not isinstance(value, TensorValue):
        return value
    source = value.tensor
    shape = None if source.shape is None else (None, *source.shape[1:])
    made: Tensor = machine.autograd.tensor(shape=shape, dtype=source.dtype)
    return wrap(made)


def _dataset(machine: Machine, arguments: Arguments) -> Value:
    return TensorDataset(list(arguments.positional))


def _loader(machine: Machine, arguments: Arguments) -> Value:
    return DataLoader(arguments.get(0, "dataset", None))


NAMES: Names = {
    "torch.utils.data.TensorDataset": _dataset,
    "torch.utils.data.DataLoader": _loader,
    "torch.utils.data.Dataset": Class("Dataset"),
    "torch.utils.data.IterableDataset": Class("IterableDataset"),
}
