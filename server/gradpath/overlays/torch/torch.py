"""`torch`: factories, conversions, dtypes and devices, and what else the op table cannot say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.layout import Order, Steps, simplest, steps_of
from gradpath.autograd.ops import find_op, op_of
from gradpath.autograd.provenance import OBSERVED
from gradpath.autograd.shapes import is_differentiable
from gradpath.autograd.sizes.steps import expanded, pointwise
from gradpath.autograd.tensor import Cut, Shape
from gradpath.interpreter.builtin_types import TypeClass
from gradpath.interpreter.containers import List, is_slender
from gradpath.interpreter.iteration import sequence
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, NativeFunction, Unknown, Value, is_data
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import conditions, plain_data
from gradpath.overlays.presumed.presumed_tensors import batch_of, is_known_data, is_unseen, presume_tensor
from gradpath.overlays.torch.conversions import converted
from gradpath.overlays.torch.departures import note_cut
from gradpath.overlays.torch.operations import call_operation, tensors_in
from gradpath.overlays.torch.sizing import given, parts_of
from gradpath.overlays.torch.tensor_value import (
    ANOTHER_DEFAULT,
    Device,
    DType,
    TensorNumber,
    TensorValue,
    is_array,
    wrap,
)
from gradpath.overlays.torch.tensor_value import make_size as _size

DTYPES = {
    "float32": "float32",
    "float": "float32",
    "float64": "float64",
    "double": "float64",
    "float16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int64": "int64",
    "long": "int64",
    "int32": "int32",
    "int": "int32",
    "int16": "int16",
    "short": "int16",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
    "complex64": "complex64",
    "complex128": "complex128",
}


class TensorClass(Class):
    """`torch.Tensor` and the typed constructors; calling it makes a tensor without a graph."""

    __slots__ = ("dtype", "parameters_only")

    def __init__(self, name: str, dtype: str | None = "float32", *, parameters_only: bool = False) -> None:
        super().__init__(name)
        self.dtype = dtype
        self.parameters_only = parameters_only

    def holds(self, value: Value) -> bool | None:
        if isinstance(value, TensorValue):
            return value.tensor.is_parameter or not self.parameters_only
        return None if isinstance(value, Unknown) else False

    def native_member(self, name: str) -> Value:
        op = find_op(f"torch.Tensor.{name}")
        if op is not None:
            return NativeFunction(op.name, lambda m, a: call_operation(m, op, a))
        return NativeFunction(
            f"Tensor.{name}",
            lambda m, a: m.call(m.attribute(a.get(0, "self", None), name), Arguments(a.positional[1:], a.keywords)),
        )

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        if self.parameters_only:
            return make_parameter(machine, arguments)
        first = arguments.get(0, "data")
        if isinstance(first, TensorValue):
            return wrap(machine.autograd.view(first.tensor, "torch.Tensor"))
        shape: Shape | None = None
        if arguments.positional and all(isinstance(size, int) for size in arguments.positional):
            shape = tuple(size for size in arguments.positional if isinstance(size, int))
        elif isinstance(first, (tuple, List)) and is_slender(first):
            shape = _data_shape(first)
        made = TensorValue(machine.autograd.tensor(shape=shape, dtype=self.dtype))
        if isinstance(first, (tuple, List, Unknown)):
            note_cut(machine, made.tensor, tensors_in(machine, first), first, "torch.tensor")
        if isinstance(first, Unknown):
            made.tensor.several = batch_of(machine, first)
        return made


class CudaTensorClass(TensorClass):
    """`torch.cuda.FloatTensor` and its like, of which a tensor is an instance if it is on such a device."""

    __slots__ = ()

    def holds(self, value: Value) -> bool | None:
        elsewhere = isinstance(value, TensorValue) and value.tensor.device == "cpu"
        return False if elsewhere or not isinstance(value, (TensorValue, Unknown)) else None


def make_parameter(machine: Machine, arguments: Arguments) -> Value:
    """`nn.Parameter(data, requires_grad=True)`: a leaf that shares the data's memory."""
    data = arguments.get(0, "data")
    wanted = arguments.get(1, "requires_grad", True)
    if isinstance(data, TensorValue):
        made = machine.autograd.alias(data.tensor, "torch.nn.Parameter", shares_version=True)
    elif data is UNDEFINED:
        made = machine.autograd.tensor(shape=(0,))
    else:
        made = machine.autograd.tensor(dtype=None)
    made.flag = machine.decide(wanted)
    if made.flag and made.inference and not machine.autograd.inference:
        raise AutogradError(FaultKind.INFERENCE_REQUIRES_GRAD, tensor=made)
    made.is_parameter = True
    made.provenance = OBSERVED
    made.aliasing_unsure = False
    made.maker = (data.tensor,) if isinstance(data, TensorValue) else ()
    return wrap(made)


def _sizes(arguments: Arguments) -> Sequence[Value] | None:
    """The sizes that a factory call names, as separate integers or as one sequence."""
    sizes: Value = arguments.keywords.get("size", arguments.keywords.get("shape", UNDEFINED))
    if sizes is UNDEFINED:
        items = arguments.positional
        if len(items) != 1 or not isinstance(items[0], (tuple, List, Unknown)):
            # As `*sizes` they may be any number.
            return None if arguments.open and not all(isinstance(item, int) for item in items) else items
        sizes = items[0]
    match sizes:
        case int():
            return (sizes,)
        case tuple():
            return sizes
        case List(open=False, items=items):
            return items
    return None


def _sized(machine: Machine, arguments: Arguments, sized: Arguments, dtype: str | None) -> Value:
    """A factory's tensor of the sizes in `sized`: one that is not known is probably more than one."""
    sizes = _sizes(sized)
    shape = None if sizes is None else tuple(size if isinstance(size, int) else None for size in sizes)
    made = finish(machine, arguments, shape, dtype)
    return made if not sizes else _counted(made, sizes[0])


def _counted(made: Value, count: Value) -> Value:
    """A factory's tensor that has an entry for each of so many."""
    if isinstance(made, TensorValue):
        made.tensor.several = made.tensor.several or conditions.several(count)
    return made


def finish(machine: Machine, arguments: Arguments, shape: Shape | None, dtype: str | None) -> Value:
    """A factory's tensor, with the keyword arguments that all factories share."""
    wanted = arguments.keywords.get("dtype", UNDEFINED)
    if isinstance(wanted, DType):
        dtype = wanted.name
    elif isinstance(wanted, Unknown):
        dtype = None
    made = machine.autograd.tensor(shape=shape, dtype=dtype)
    match arguments.keywords.get("device"):
        case None if not arguments.open and ANOTHER_DEFAULT not in machine.remembered:
            made.device = "cpu"
        case Device(kind=device) | (str() as device):
            made.device = device
    flag = arguments.keywords.get("requires_grad", False)
    if flag is not False:
        if is_differentiable(dtype) is False and flag is True:
            raise AutogradError(FaultKind.DTYPE_FLAG, tensor=made)
        made.flag = machine.decide(flag)
    return wrap(made)


def _normal(machine: Machine, arguments: Arguments) -> Value:
    """`torch.normal`: a factory where it is given numbers; of tensors it keeps the graph, with gradients of zero."""
    if all(map(is_data, [arguments.get(0, "mean", None), arguments.get(1, "std", None)])):
        return finish(machine, arguments, None, "float32")
    return call_operation(machine, op_of("torch.normal"), arguments)


def _of_floats(machine: Machine, arguments: Arguments) -> Value:
    """`zeros(2, 3)` and its like: what is passed is the sizes."""
    return _sized(machine, arguments, arguments, "float32")


def _full(machine: Machine, arguments: Arguments) -> Value:
    sized = Arguments([arguments.get(0, "size", ())])
    fill = arguments.get(1, "fill_value", 0.0)
    dtype = "bool" if isinstance(fill, bool) else "int64" if isinstance(fill, int) else "float32"
    return _sized(machine, arguments, sized, dtype)


def _one_dimensional(machine: Machine, arguments: Arguments) -> Value:
    numbers = [value for value in arguments.positional if isinstance(value, (int, float))]
    known = len(numbers) == len(arguments.positional) and 1 <= len(numbers) <= 3
    whole = all(isinstance(value, int) for value in arguments.positional)
    size: int | None = None
    if known:
        start, end, step = (numbers[0], *numbers[1:], 1)[:3] if len(numbers) > 1 else (0, numbers[0], 1)
        size = max(0, math.ceil((end - start) / step)) if step else None
    made = finish(machine, arguments, (size,), "int64" if whole else "float32" if known else None)
    return _counted(made, arguments.positional[0]) if len(arguments.positional) == 1 else made


def _linspace(machine: Machine, arguments: Arguments) -> Value:
    steps = arguments.get(2, "steps", None)
    sources = [v.tensor for v in arguments.all() if isinstance(v, TensorValue) and v.tensor.requires_grad]
    made = finish(machine, arguments, (steps if isinstance(steps, int) else None,), "float32")
    if sources and isinstance(made, TensorValue) and machine.autograd.grad_enabled:
        made = wrap(machine.autograd.presumed(sources, name="torch.linspace"))
    return _counted(made, steps)


def _identity_matrix(machine: Machine, arguments: Arguments) -> Value:
    rows = arguments.get(0, "n", None)
    columns = arguments.get(1, "m", rows)
    sizes = tuple(size if isinstance(size, int) else None for size in (rows, columns))
    return finish(machine, arguments, sizes, "float32")


def _like(machine: Machine, arguments: Arguments) -> Value:
    source = arguments.get(0, "input", None)
    if isinstance(source, TensorNumber):
        raise machine.error("TypeError", "argument 'input' (position 1) must be Tensor, not a number", source)
    if not isinstance(source, TensorValue):
        return finish(machine, arguments, None, None)
    made = finish(machine, arguments, source.tensor.shape, source.tensor.dtype)
    if isinstance(made, TensorValue):
        made.tensor.maker = (source.tensor,)
        made.tensor.layout = pointwise(source.tensor.shape, [(source.tensor.shape, source.tensor.layout)])
        if source.tensor.requires_grad and not made.tensor.flag:
            machine.autograd.cut(made.tensor, Cut("like", machine.site(), source.tensor, "a tensor of the same shape"))
    return made


def _data_shape(value: Value) -> Shape | None:
    if isinstance(value, (tuple, List)):
        items = list(value) if isinstance(value, tuple) else value.items
        if isinstance(value, List) and value.open:
            return None
        inner = _data_shape(items[0]) if items else ()
        return None if inner is None else (len(items), *inner)
    if isinstance(value, TensorValue):
        return value.tensor.shape
    if isinstance(value, (int, float, TensorNumber)):
        return ()
    return None


def _data_dtype(value: Value) -> str | None:
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float32"
        case TensorNumber():
            return "int64" if value.kind == "int" else "float32"
        case TensorValue():
            return value.tensor.dtype
        case Unknown() if plain_data.holds_doubles(value):
            return "float64"
        case tuple() | List():
            items = list(value) if isinstance(value, tuple) else value.items
            kinds = {_data_dtype(item) for item in items}
            if None in kinds:
                return None
            order = ("bool", "int64", "float32", "float64")
            return max((kind for kind in kinds if kind in order), key=order.index, default="float32")
    return None


def tensor(machine: Machine, arguments: Arguments) -> Value:
    """`torch.tensor(data)`: copies the numbers without the graph."""
    data = arguments.get(0, "data", ())
    shape, dtype = (_data_shape(data), _data_dtype(data)) if is_slender(data) else (None, None)
    made = finish(machine, arguments, shape, dtype)
    sources = tensors_in(machine, data)
    if isinstance(made, TensorValue):
        note_cut(machine, made.tensor, sources, data, "torch.tensor")
        made.tensor.lone = _is_of_one(data)
        if isinstance(data, Unknown):
            made.tensor.several = batch_of(machine, data)
        if isinstance(data, Unknown) and plain_data.is_of_library(data):
            made.tensor.operation = "numpy"
        if not made.tensor.flag:
            made.fill(machine, data)
    return made


def _as_tensor(machine: Machine, arguments: Arguments) -> Value:
    data = arguments.get(0, "data", ())
    if isinstance(data, Unknown) and not is_array(data) and (is_unseen(data) or tensors_in(machine, data)):
        data = presume_tensor(machine, data)
    if isinstance(data, TensorValue):
        wanted = arguments.keywords.get("dtype", arguments.get(1, "dtype", None))
        return converted(machine, data, "as_tensor", wanted.name if isinstance(wanted, DType) else None, False)
    return tensor(machine, arguments)


def _from_numpy(machine: Machine, arguments: Arguments) -> Value:
    made = machine.autograd.tensor(dtype=None)
    data = arguments.get(0, "ndarray", None)
    if isinstance(data, Unknown):
        sources = tensors_in(machine, data.sources)
        if is_array(data) or data.kind not in OF_TENSORS:  # A tensor would be refused: then it is none on this path.
            note_cut(machine, made, sources, data, "numpy")
        if is_array(data) and data.sources and isinstance(data.sources[0], TensorValue) and len(sources) == 1:
            made.shape, made.dtype = sources[0].shape, sources[0].dtype
        made.lone = is_array(data) and bool(data.sources) and _is_of_one(data.sources[0])
        made.several = batch_of(machine, data)
    return wrap(made)


def _is_of_one(data: Value) -> bool:
    return isinstance(data, List) and not data.open and len(data.items) == 1


def _device(machine: Machine, arguments: Arguments) -> Value:
    kind = arguments.get(0, "type", None)
    return Device(kind.partition(":")[0] if isinstance(kind, str) else None)


def _variable(machine: Machine, arguments: Arguments) -> Value:
    data = arguments.get(0, "data", None)
    flag = arguments.get(1, "requires_grad", False)
    if isinstance(data, Unknown) and (
        data.kind in OF_TENSORS or (data.kind is Kind.PLAIN and (flag is True or is_known_data(data)))
    ):
        data = presume_tensor(machine, data)
    if not isinstance(data, TensorValue):
        made = machine.unknown("Variable of unknown", None, (data,))
        if isinstance(made, Unknown) and flag is False:
            made.kind, made.provenance = Kind.PLAIN, OBSERVED  # Whatever it is made of, it has no graph.
        return made
    alias = machine.autograd.alias(data.tensor, "Variable", shares_version=True)
    alias.inference = False
    alias.flag = machine.decide(flag)
    return wrap(alias)


def _cond(kind: str) -> NativeFunction:
    return NativeFunction(kind, lambda m, a: m.unknown(kind, (kind,), (), data=True))


def _is_tensor(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.get(0, "obj", None)
    if isinstance(value, Unknown):
        return machine.unknown("is_tensor", ("is_tensor", value.number), (value,), data=True)
    return isinstance(value, TensorValue)


def _default_device(machine: Machine, arguments: Arguments) -> Value:
    machine.remembered[ANOTHER_DEFAULT] = True
    return None


def _compiled(machine: Machine, arguments: Arguments) -> Value:
    """`torch.compile(f)` and the like: the function itself, or a decorator that gives it back."""
    function = arguments.get(0, "model", None)
    if function is None:
        return NativeFunction("compile", lambda m, a: a.get(0, "f", None))
    return function


def _meshgrid(machine: Machine, arguments: Arguments) -> Value:
    return _each_expanded(machine, arguments, "torch.meshgrid")


def _broadcast_tensors(machine: Machine, arguments: Arguments) -> Value:
    return _each_expanded(machine, arguments, "torch.broadcast_tensors")


def _each_expanded(machine: Machine, arguments: Arguments, name: str) -> Value:
    """Each result is a view of its own argument alone, which repeats it along the dimensions of the others."""
    values = arguments.positional
    if len(values) == 1 and isinstance(values[0], (tuple, List)):
        values = sequence(machine, values[0]) or []
    tensors = [value.tensor for value in values if isinstance(value, TensorValue)]
    if len(tensors) != len(values):
        return machine.unknown(name, None, tuple(values))
    op = op_of(name)
    shapes = parts_of(op, given(op, {"tensors": tensors}, arguments.keywords)) or [None] * len(tensors)
    views: list[Value] = []
    for index, (tensor, shape) in enumerate(zip(tensors, shapes, strict=True)):
        if name.endswith("broadcast_tensors") and shape is not None and shape == tensor.shape and None not in shape:
            views.append(wrap(tensor))
            continue
        view = machine.autograd.view(tensor, name)
        view.shape = shape
        steps = steps_of(tensor.shape, tensor.layout)
        if name.endswith("meshgrid"):
            turned = arguments.keywords.get("indexing") == "xy" and index < 2
            steps = None if steps is None else _alone(steps, len(tensors), 1 - index if turned else index)
        elif steps is not None and tensor.shape is not None and shape is not None:
            steps = expanded(tensor.shape, steps, shape)
        view.layout = simplest(shape, steps) if shape is not None and steps is not None else Order.UNKNOWN
        views.append(wrap(view))
    return tuple(views)


def _alone(steps: Steps, rank: int, place: int) -> Steps:
    """The steps of a vector that is repeated along all other dimensions."""
    return tuple((steps[0] if steps else 0) if dim == place else 0 for dim in range(rank))


_TYPED = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Byte": "uint8",
    "Bool": "bool",
}
"""The constructors that say a type, and what that is."""

NAMES: Names = {
    **{f"torch.{name}": DType(dtype) for name, dtype in DTYPES.items()},
    "torch.Tensor": TensorClass("Tensor"),
    **{f"torch.{name}Tensor": TensorClass("Tensor", dtype) for name, dtype in _TYPED.items()},
    **{f"torch.cuda.{name}Tensor": CudaTensorClass("Tensor", dtype) for name, dtype in _TYPED.items()},
    "torch.nn.Parameter": TensorClass("Parameter", parameters_only=True),
    "torch.nn.parameter.Parameter": TensorClass("Parameter", parameters_only=True),
    **dict.fromkeys((f"torch.{name}" for name in ("zeros", "ones", "empty", "rand", "randn")), _of_floats),
    "torch.Size": TypeClass("Size", _size, lambda value: isinstance(value, tuple)),
    "torch.randint": NativeFunction(
        "randint", lambda m, a: _sized(m, a, Arguments([a.get(2 if len(a.positional) > 2 else 1, "size", ())]), "int64")
    ),
    "torch.randperm": lambda m, a: _sized(m, a, Arguments(a.positional[:1]), "int64"),
    "torch.normal": NativeFunction("normal", _normal),
    "torch.full": _full,
    "torch.arange": _one_dimensional,
    "torch.range": lambda machine, arguments: finish(machine, arguments, (None,), "float32"),
    "torch.linspace": _linspace,
    "torch.logspace": _linspace,
    "torch.eye": _identity_matrix,
    **{f"torch.{name}_like": _like for name in ("zeros", "ones", "empty", "rand", "randn", "randint", "full")},
    "torch.tensor": tensor,
    "torch.as_tensor": _as_tensor,
    "torch.asarray": _as_tensor,
    "torch.from_numpy": _from_numpy,
    "torch.device": _device,
    "torch.autograd.Variable": _variable,
    "torch.autograd.variable.Variable": _variable,
    "torch.is_tensor": _is_tensor,
    "torch.manual_seed": engines.nothing,
    "torch.cuda.manual_seed": engines.nothing,
    "torch.cuda.manual_seed_all": engines.nothing,
    "torch.cuda.is_available": _cond("cuda is available"),
    "torch.backends.mps.is_available": _cond("mps is available"),
    "torch.cuda.empty_cache": engines.nothing,
    "torch.cuda.synchronize": engines.nothing,
    "torch.set_num_threads": engines.nothing,
    "torch.set_default_dtype": engines.nothing,
    "torch.set_default_device": _default_device,
    "torch.set_default_tensor_type": _default_device,
    "torch.save": engines.nothing,
    "torch.compile": _compiled,
    "torch.jit.script": _compiled,
    "torch.meshgrid": _meshgrid,
    "torch.broadcast_tensors": _broadcast_tensors,
    "torch.autograd.set_detect_anomaly": NativeFunction("anomaly", lambda m, a: m.unknown("anomaly mode")),
    "torch.pi": 3.141592653589793,
    "torch.inf": float("inf"),
    "torch.__version__": "2.13.0",
}
