"""Sparse tensors: products are those of dense ones, as far as autograd is concerned."""

from __future__ import annotations

from gradpath.autograd.ops import op_of
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.conversions import METHODS
from gradpath.overlays.torch.operations import call_operation
from gradpath.overlays.torch.tensor_value import TensorValue, wrap


def _product(name: str) -> NativeFunction:
    def call(machine: Machine, arguments: Arguments) -> Value:
        return call_operation(machine, op_of("torch.mm"), arguments)

    return NativeFunction(name, call)


def _from_entries(machine: Machine, arguments: Arguments) -> Value:
    """`torch.sparse_coo_tensor(indices, values, size)`: on the graph of the values."""
    values = arguments.get(1, "values", None)
    flag = arguments.keywords.get("requires_grad") is True
    if isinstance(values, TensorValue) and not flag:
        made = METHODS["to_sparse"](machine, values, Arguments())
        if isinstance(made, TensorValue):
            made.tensor.shape = None
        return made
    leaf = machine.autograd.tensor(dtype=None)
    leaf.flag = flag
    return wrap(leaf)


NAMES: Names = {
    **{name: _product(name) for name in ("torch.spmm", "torch.dsmm", "torch.smm", "torch.sparse.mm")},
    "torch.sparse_coo_tensor": _from_entries,
    "torch.sparse.FloatTensor": _from_entries,
}
