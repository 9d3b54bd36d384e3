"""The attributes and methods of tensors that are more than an operation of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.layout import Order
from gradpath.autograd.ops import find_op, op_of
from gradpath.autograd.provenance import OBSERVED
from gradpath.autograd.sizes.given import product
from gradpath.autograd.tensor import MANY, Shape, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Made
from gradpath.interpreter.values import UNDEFINED, Arguments, NativeFunction, Value
from gradpath.overlays.presumed import conditions, missed_flags
from gradpath.overlays.presumed.absences import is_absent, note_absent
from gradpath.overlays.torch import conversions
from gradpath.overlays.torch.backward_calls import backward
from gradpath.overlays.torch.gradients_on import has_gradients_on
from gradpath.overlays.torch.hooks import register_hook, register_post_hook
from gradpath.overlays.torch.indexing import get_item, set_item
from gradpath.overlays.torch.operations import call_operation
from gradpath.overlays.torch.tensor_operators import Operators
from gradpath.overlays.torch.tensor_value import Device, DType, Size, TensorValue, number_from, row_of, wrap
from gradpath.support.traversal import reachable

Method = Callable[[Machine, TensorValue, Arguments], Value]


def _requires_grad(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    wanted = arguments.get(0, "requires_grad", True)
    leaf = conditions.DATA.of(conditions.receiver(machine.site()))
    machine.autograd.set_requires_grad(value.tensor, machine.decide(wanted), leaf=leaf)
    return value


def _detach_(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    machine.autograd.detach_in_place(value.tensor)
    return value


def _retain_grad(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    if not value.tensor.requires_grad:
        raise AutogradError(FaultKind.RETAIN_NO_GRAD, tensor=value.tensor)
    seems_leaf = value.tensor.node is None  # As the flags, it does not ask whether a base was written.
    value.tensor.retains_grad = not seems_leaf and not machine.autograd.is_leaf(value.tensor)
    return None


def _numpy(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    if arguments.get(0, "force", False) is not True:
        refuse_numpy(machine, value.tensor)
    return machine.unknown("numpy array", ("numpy", id(value.tensor)), (value,), made=Made.ARRAY)


def refuse_numpy(machine: Machine, tensor: Tensor) -> None:
    """NumPy refuses tensors that require grad, but looks at grad mode (observed: rg/numpy_on_rg_inside_no_grad)."""
    if not machine.autograd.grad_enabled or not tensor.requires_grad or tensor.is_open:
        return
    if has_gradients_on(machine) or not _is_presumed(tensor):
        raise AutogradError(FaultKind.NUMPY, tensor=tensor)


def _is_presumed(tensor: Tensor) -> bool:
    """True if a graph depends on a presumption: unseen code may call the function where gradients are off."""
    starts = [] if tensor.node is None else [tensor.node]
    return any(node.name == "call" for node in reachable(starts, lambda node: node.edges))


def _number(how: str) -> Method:
    return lambda machine, value, arguments: number_from(machine, value, how)


def _tolist(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    shape = value.tensor.shape
    count = None if shape is None else product(shape)
    if shape is None or count is None or count > 256:
        return List([number_from(machine, value, "item")], open=True)
    return _nested(machine, value, shape)


def _nested(machine: Machine, value: TensorValue, shape: Shape) -> Value:
    if not shape:
        return number_from(machine, value, "item")
    return List([_nested(machine, value, shape[1:]) for _ in range(shape[0] or 0)])


def _size(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    sizes = _shape(machine, value.tensor)
    dimension = arguments.get(0, "dim")
    if dimension is UNDEFINED:
        return sizes
    if isinstance(sizes, tuple) and isinstance(dimension, int) and -len(sizes) <= dimension < len(sizes):
        return sizes[dimension]
    return machine.unknown("size", ("size", id(value.tensor), dimension), (value,), made=Made.NUMBER)


def _shape(machine: Machine, tensor: Tensor) -> Value:
    if tensor.shape is None:
        return machine.unknown("shape", ("shape", machine.id_of(tensor)), (), data=True)
    return Size(
        machine.unknown("size", ("size", machine.id_of(tensor), index), (), made=Made.NUMBER)
        if size is None or size == MANY
        else size
        for index, size in enumerate(tensor.shape)
    )


def _dim(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    shape = value.tensor.shape
    return (
        machine.unknown("dim", ("dim", id(value.tensor)), (value,), made=Made.NUMBER) if shape is None else len(shape)
    )


def _numel(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    count = None if value.tensor.shape is None else product(value.tensor.shape)
    return machine.unknown("numel", ("numel", id(value.tensor)), (value,), made=Made.NUMBER) if count is None else count


def _new(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    """`new_zeros` and its kin: a leaf of the same dtype, whose sizes are not followed beyond plain numbers."""
    sizes = arguments.positional
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, List)):
        sizes = list(sizes[0]) if isinstance(sizes[0], tuple) else sizes[0].items
    shape = tuple(size if isinstance(size, int) else None for size in sizes)
    made = machine.autograd.tensor(shape=shape, dtype=value.tensor.dtype)
    made.flag = arguments.keywords.get("requires_grad") is True
    wanted = arguments.keywords.get("dtype")
    if isinstance(wanted, DType):
        made.dtype = wanted.name
    return wrap(made)


def _new_legacy(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    """`new(*sizes)`, or `new(data)`, of which the sizes are not known."""
    made = _new(machine, value, arguments)
    if isinstance(made, TensorValue) and any(not isinstance(each, int) for each in arguments.positional):
        made.tensor.shape = None
    return made


_ATTRIBUTES = frozenset({"data", "device", "dtype", "grad", "grad_fn", "is_leaf", "ndim", "requires_grad", "shape"})


def has_attribute(value: TensorValue, name: str) -> bool:
    """True if a tensor is known to have an attribute: one of its own, one that the program gave it, or a method."""
    return name in _ATTRIBUTES or name in value.attributes or find_op(f"torch.Tensor.{name}") is not None


def _set_data(tensor: Tensor, new: Value) -> None:
    """`tensor.data = new`: other memory under the same flag and graph; memory of no inference tensor makes it none."""
    tensor.seen_version = tensor.storage.version
    given = new.tensor if isinstance(new, TensorValue) else None
    tensor.shape = None if given is None else given.shape
    tensor.dtype = None if given is None else given.dtype
    tensor.layout = Order.UNKNOWN if given is None else given.layout
    if given is not None and not given.inference:
        tensor.inference = False


def _set_grad(value: TensorValue, new: Value) -> None:
    value.tensor.grad = new.tensor if isinstance(new, TensorValue) else None


def _view(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    """`view(sizes)`, or `view(dtype)`, which reads the same memory in another way."""
    if arguments.positional and isinstance(dtype := arguments.positional[0], DType):
        made = wrap(machine.autograd.view(value.tensor, "torch.Tensor.view"))
        made.tensor.dtype = dtype.name
        return made
    return call_operation(machine, op_of("torch.Tensor.view"), arguments.shifted(value))


def _flag(name: str) -> Callable[[Machine, TensorValue], Value]:
    def compute(machine: Machine, value: TensorValue) -> Value:
        tensor = value.tensor
        if tensor.is_open or tensor.aliasing_unsure:
            key = (name, id(tensor), tensor.storage.version)
            return machine.unknown(name, key, (value,), data=True, made=Made.STATE)
        return tensor.requires_grad if name == "requires_grad" else machine.autograd.is_leaf(tensor)

    return compute


def _grad(machine: Machine, value: TensorValue) -> Value:
    if value.tensor.grad is not None:
        return wrap(value.tensor.grad)
    if is_absent(machine, value.tensor):
        note_absent(machine, value.tensor)
        return None
    how = Made.STATE if value.tensor.is_open else Made.SOMETHING
    return machine.unknown("grad", ("grad", machine.id_of(value.tensor)), made=how)


def _grad_fn(machine: Machine, value: TensorValue) -> Value:
    node = machine.autograd.grad_fn(value.tensor)
    return None if node is None else machine.unknown("grad_fn", ("grad_fn", machine.id_of(node)), ())


def _fill(name: str) -> Method:
    """`fill_(number)` and `zero_()`, after which all elements are one number."""

    def method(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
        result = call_operation(machine, op_of(f"torch.Tensor.{name}"), arguments.shifted(value))
        value.fill(machine, 0 if name == "zero_" else arguments.get(0, "value", None))
        return result

    return method


def _data(machine: Machine, value: TensorValue) -> Value:
    value.filled = None  # What is written through it does not count as a write.
    return wrap(machine.autograd.alias(value.tensor, "data", shares_version=False))


_PROPERTIES: dict[str, Callable[[Machine, TensorValue], Value]] = {
    "requires_grad": _flag("requires_grad"),
    "is_leaf": _flag("is_leaf"),
    "grad": _grad,
    "grad_fn": _grad_fn,
    "data": _data,
    "shape": lambda machine, value: _shape(machine, value.tensor),
    "ndim": lambda machine, value: _dim(machine, value, Arguments()),
    "dtype": lambda machine, value: (
        DType(value.tensor.dtype)
        if value.tensor.dtype
        else machine.unknown("dtype", ("dtype", machine.id_of(value.tensor)), (), data=True)
    ),
    "device": lambda machine, value: Device(value.tensor.device),
    "is_cuda": lambda machine, value: machine.unknown("is_cuda", ("is_cuda",), (), data=True),
    "_version": lambda machine, value: value.tensor.storage.version,
    "real": lambda machine, value: value,
}

_REMOVED = ("eig", "lstsq", "reinforce", "solve", "symeig")
"""Methods of earlier versions that PyTorch keeps, to say what took their place."""


def _removed(name: str) -> Method:
    def method(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
        raise machine.error("RuntimeError", f"Tensor.{name} was removed", value)

    return method


_METHODS: dict[str, Method] = {
    **{name: _removed(name) for name in _REMOVED},
    "backward": backward,
    "requires_grad_": _requires_grad,
    "detach_": _detach_,
    "fill_": _fill("fill_"),
    "zero_": _fill("zero_"),
    "retain_grad": _retain_grad,
    "register_hook": register_hook,
    "register_post_accumulate_grad_hook": register_post_hook,
    "numpy": _numpy,
    "__array__": _numpy,
    "item": _number("item"),
    "tolist": _tolist,
    "size": _size,
    "dim": _dim,
    "ndimension": _dim,
    "numel": _numel,
    "nelement": _numel,
    "view": _view,
    "new": _new_legacy,
    "new_zeros": _new,
    "new_ones": _new,
    "new_empty": _new,
    "is_floating_point": lambda m, v, a: (
        v.tensor.dtype.startswith(("float", "bfloat"))
        if v.tensor.dtype
        else m.unknown("is_floating_point", ("float", m.id_of(v.tensor)), (), data=True)
    ),
    "is_inference": lambda m, v, a: v.tensor.inference,
    "share_memory_": lambda m, v, a: v,
    "is_contiguous": lambda m, v, a: m.unknown("is_contiguous", ("contiguous", m.id_of(v.tensor)), (), data=True),
    **conversions.METHODS,
}


class Methods(Operators):
    """The tensor protocol over the op table."""

    def knows(self, name: str) -> bool:
        """True if tensors have an attribute of that name."""
        return name in _PROPERTIES or name in _METHODS or find_op(f"torch.Tensor.{name}") is not None

    def attribute(self, machine: Machine, value: TensorValue, name: str) -> Value:
        compute = _PROPERTIES.get(name)
        if compute is not None:
            return compute(machine, value)
        method = _METHODS.get(name)
        if method is not None:
            return NativeFunction(f"Tensor.{name}", lambda m, a: method(m, value, a))
        op = find_op(f"torch.Tensor.{name}")
        if op is None:
            return machine.unknown(f"Tensor.{name}", ("attr", id(value.tensor), name), (value,))
        if name in ("T", "mT", "H", "mH", "imag"):
            return call_operation(machine, op, Arguments([value]))
        return NativeFunction(op.name, lambda m, a: call_operation(m, op, a.shifted(value)))

    def set_attribute(self, machine: Machine, value: TensorValue, name: str, new: Value) -> None:
        match name:
            case "requires_grad":
                machine.autograd.set_requires_grad(value.tensor, machine.decide(new), leaf=OBSERVED)
            case "grad":
                _set_grad(value, new)
            case "data":
                _set_data(value.tensor, new)
            case _:
                missed_flags.on_tensor(machine, value.tensor, name, new)
                value.attributes[name] = new

    def item(self, machine: Machine, value: TensorValue, key: Value) -> Value:
        return get_item(machine, value, key)

    def set_item(self, machine: Machine, value: TensorValue, key: Value, new: Value) -> None:
        set_item(machine, value, key, new)

    def iterate(self, machine: Machine, value: TensorValue) -> Iterator[Value] | None:
        """Iteration unbinds, which gives views that may not be written in place."""
        shape = value.tensor.shape
        if shape == ():
            raise machine.error("TypeError", "iteration over a 0-d tensor", value)
        if not shape or shape[0] is None or not 0 <= shape[0] <= 64:
            return None
        return iter(unbound(machine, value, shape[0]))


def unbound(machine: Machine, value: TensorValue, count: int) -> list[Value]:
    """The rows of a tensor as views."""
    return [wrap(row_of(machine, value.tensor)) for _ in range(count)]


TensorValue.protocol = Methods()
