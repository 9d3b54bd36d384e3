"""Conversions of tensors to other dtypes, devices and layouts: the tensor itself where nothing changes, else a copy."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from gradpath.autograd.layout import Order
from gradpath.autograd.ops import op_of
from gradpath.autograd.provenance import OBSERVED, OPEN, Presumption
from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Arguments, Unknown, Value
from gradpath.overlays.presumed import conditions
from gradpath.overlays.torch.operations import run_operation
from gradpath.overlays.torch.tensor_value import Device, DType, TensorValue, wrap
from gradpath.support.lazy_regex import regex

Method = Callable[[Machine, TensorValue, Arguments], Value]

_DEVICE = regex(r"device|gpu|rank|cuda", re.IGNORECASE)

_KINDS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
}


def converted(
    machine: Machine,
    value: TensorValue,
    name: str,
    dtype: str | None,
    moved: bool,
    *,
    any_dtype: bool = False,
    elsewhere: bool = False,
    here: Presumption | None = None,
) -> Value:
    """`.to()` and its kin: the tensor itself where nothing changes, else a copy on the graph.

    `moved` says that it is moved to a device that may or may not be another one, unless it certainly is (`elsewhere`);
    that it probably is not is presumed (`here`). `any_dtype` says that it may get another dtype, which is unknown.
    """
    tensor = value.tensor
    if dtype is not None and not dtype.startswith(("float", "bfloat", "complex")):
        if tensor.dtype == dtype and not moved:
            return value
        return _cut(machine, tensor, name, dtype, moved)
    same = None if dtype is not None and tensor.dtype is None else (dtype is None or tensor.dtype == dtype)
    same = False if elsewhere else None if any_dtype else same
    if same and not moved:
        return value
    if same and _is_temporary(machine, tensor):
        tensor.device = None
        return value
    if same is not False and tensor.requires_grad and not machine.autograd.grad_enabled:
        return wrap(
            machine.autograd.presumed([tensor], name=f"torch.Tensor.{name}")
        )  # Itself, or a copy without a graph.
    op = op_of("torch.clone")
    made = run_operation(machine, f"torch.Tensor.{name}", op, {"input": value})
    if isinstance(made, TensorValue):
        made.tensor.dtype = None if any_dtype else dtype or tensor.dtype
        made.tensor.device = None if moved else tensor.device
        made.tensor.aliasing_unsure = bool(same is None or (same and moved))
        if same and here is not None and tensor.inference and not made.tensor.inference:
            made.tensor.inference, made.tensor.provenance = True, here
        if made.tensor.node is not None and same is not False:
            if tensor.node is not None:
                made.tensor.provenance = tensor.provenance
            else:  # It may be the tensor itself, which is a leaf.
                made.tensor.provenance = OPEN if made.tensor.aliasing_unsure else OBSERVED
    return made


def _is_temporary(machine: Machine, tensor: Tensor) -> bool:
    """True if a tensor without a graph was made by the expression itself, so that it cannot be told from its copy."""
    node, origin = machine.node, tensor.origin
    if tensor.requires_grad or not isinstance(node, ast.Call):
        return False
    return isinstance(node.func, ast.Attribute) and node.func.value is origin.node


def _cut(machine: Machine, tensor: Tensor, name: str, dtype: str, moved: bool) -> Value:
    op = op_of("torch.zeros_like")
    made = run_operation(machine, f"torch.Tensor.{name}", op, {"input": wrap(tensor)})
    if isinstance(made, TensorValue):
        made.tensor.dtype = dtype
        made.tensor.shape = tensor.shape
        made.tensor.device = None if moved else tensor.device
    return made


def _to(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    dtype: str | None = None
    moved = any_dtype = elsewhere = False
    here = value.tensor.device
    stays: Presumption | None = None
    for each in (*arguments.positional, *(arguments.keywords.get(k, UNDEFINED) for k in ("dtype", "device", "other"))):
        match each:
            case DType():
                dtype = each.name
            case TensorValue():
                dtype = each.tensor.dtype
                any_dtype = dtype is None
                moved = moved or each.tensor.device != value.tensor.device
            case str():
                moved = moved or each != here
                elsewhere = here is not None and each.partition(":")[0] != here.partition(":")[0]
            case Device():
                moved = moved or each.kind is None or each.kind != here
                elsewhere = None not in (each.kind, here) and each.kind != here
            case Unknown():
                moved = True
                stays = conditions.HERE.of(conditions.name_of(each)) if each.hint == (here or "cpu") else None
                any_dtype = value.tensor.dtype == "bool" and not _DEVICE.search(each.name or each.label)
    if arguments.keywords.get("copy") is True:
        op = op_of("torch.clone")
        return run_operation(machine, "torch.Tensor.to", op, {"input": value})
    return converted(machine, value, "to", dtype, moved, any_dtype=any_dtype, elsewhere=elsewhere, here=stays)


def _kind(name: str) -> Method:
    return lambda machine, value, arguments: converted(machine, value, name, _KINDS[name], False)


def _type(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    wanted = arguments.get(0, "dtype")
    if isinstance(wanted, DType):
        return converted(machine, value, "type", wanted.name, False)
    if wanted is UNDEFINED:
        return "torch.FloatTensor"
    return converted(machine, value, "type", None, True, any_dtype=True)


def _cpu(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    """Itself where nothing says that it is elsewhere: its graph is the same in either case."""
    return value if value.tensor.device in (None, "cpu") else converted(machine, value, "cpu", None, True)


def _contiguous(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    if value.tensor.contiguous is not False:
        return value if value.tensor.contiguous else converted(machine, value, "contiguous", None, True)
    op = op_of("torch.clone")
    made = run_operation(machine, "torch.Tensor.contiguous", op, {"input": value})
    if isinstance(made, TensorValue):
        made.tensor.layout = Order.ROWS
    return made


def _to_sparse(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    """A conversion to another layout, which saves the indices and so refuses a second backward."""
    if not value.tensor.requires_grad or not machine.autograd.grad_enabled:
        made = machine.autograd.tensor(dtype=value.tensor.dtype)
        made.shape = value.tensor.shape
        return wrap(made)
    made = machine.autograd.presumed([value.tensor], holds=True, name="torch.Tensor.to_sparse")
    assert made.node is not None
    made.node.provenance = made.provenance = OBSERVED
    made.dtype, made.shape = value.tensor.dtype, value.tensor.shape
    return wrap(made)


METHODS: dict[str, Method] = {
    "to": _to,
    "type": _type,
    "type_as": _to,
    "cpu": _cpu,
    "cuda": lambda machine, value, arguments: converted(
        machine, value, "cuda", None, True, elsewhere=value.tensor.device == "cpu"
    ),
    "pin_memory": lambda machine, value, arguments: converted(machine, value, "pin_memory", None, True),
    "contiguous": _contiguous,
    **dict.fromkeys(("to_sparse", "to_sparse_csr", "to_sparse_csc", "to_sparse_coo"), _to_sparse),
    "coalesce": lambda machine, value, arguments: value,
    **{name: _kind(name) for name in _KINDS},
}
"""The conversions by method name."""
