"""Calling an operation of the op table: arguments to tensors and kinds, outputs to values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gradpath.autograd import ops
from gradpath.autograd.ops import Behaviour, Op, Parameter
from gradpath.autograd.shapes import matmul
from gradpath.autograd.tensor import MANY, Shape, Tensor
from gradpath.interpreter.containers import List, sample
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.values import UNDEFINED, Arguments, Instance, NativeFunction, Object, Unknown, Value
from gradpath.overlays.namespace import Fields
from gradpath.overlays.presumptions import presume_tensor
from gradpath.overlays.tensor_value import DType, TensorValue, wrap


def operation(op: Op, name: str) -> NativeFunction:
    """The operation as a function value."""
    return NativeFunction(name, lambda machine, arguments: call_operation(machine, op, arguments))


def call_operation(machine: Machine, op: Op, arguments: Arguments) -> Value:
    """Run an operation with the arguments of a Python call."""
    bound = bind(op.parameters, arguments)
    first = next(iter(op.parameters), None)
    if first is not None and first.default is ops.REQUIRED and first.name not in bound and not arguments.open:
        raise machine.error("TypeError", f"{op.name}() missing 1 required positional argument: '{first.name}'")
    return run_operation(machine, op.name, op, bound)


def run_operation(machine: Machine, name: str, op: Op, bound: Mapping[str, Value]) -> Value:
    """Run an operation with arguments by parameter name."""
    inputs: dict[str, list[Tensor]] = {}
    kinds: dict[str, object] = {}
    tensor_parameters = _tensor_parameters(op)
    for parameter, value in bound.items():
        kinds[parameter] = kind_of(value)
        tensors = tensors_in(machine, value, presume=parameter in tensor_parameters)
        if tensors:
            inputs[parameter] = tensors
        elif parameter in tensor_parameters and isinstance(value, List) and not value.items:
            return machine.unknown(f"{name} of a list that is filled elsewhere", None, (value,))
        elif value is None and parameter in _NEVER_NONE and parameter in tensor_parameters:
            raise machine.error("TypeError", f"{name}(): argument '{parameter}' must be Tensor, not NoneType", None)
        note_facts(kinds, parameter, value)
    if op.name == "torch.matmul":
        for parameter in ("input", "other"):
            kinds.setdefault(
                f"{parameter}.ndim", 2
            )  # Matrices, where nothing tells: operands of other ranks are saved as well.
    behaviour = op.behaviour(kinds)
    if machine.autograd.grad_enabled is False and "out" in bound:
        inputs.pop("out", None)
    return run_behaviour(machine, name, behaviour, inputs, bound)


_NEVER_NONE = frozenset({"input", "self", "other"})
"""Parameters for which PyTorch refuses None, where they are tensors."""


def run_behaviour(
    machine: Machine, name: str, behaviour: Behaviour, inputs: dict[str, list[Tensor]], bound: Mapping[str, Value]
) -> Value:
    """Apply a behaviour to tensors; the value that Python code gets back."""
    if behaviour.maybe_inplace and behaviour.inplace is None:
        behaviour = replace(behaviour, saves={}, holds=frozenset())
    if behaviour.inplace is not None and inputs.get(behaviour.inplace):
        if f"same:{behaviour.inplace}" in behaviour.outputs[0].alias:
            return wrap(machine.autograd.write(name, behaviour, behaviour.inplace, inputs))
        machine.autograd.bump(inputs[behaviour.inplace][0], name)  # `embedding(max_norm=...)` renorms under no_grad.
    count = _count(name, behaviour, inputs, bound)
    if count is not None:
        behaviour = replace(behaviour, outputs=behaviour.outputs[:1] * count[0])
    if not behaviour.outputs:
        return machine.unknown(f"result of {name}", None, tuple(bound.values()))
    results = machine.autograd.apply(name, behaviour, inputs)
    _shape_results(name, behaviour, results, inputs, bound)
    values = [wrap(result) for result in results]
    if count is not None:
        _shape_parts(name, results, inputs, bound)
        return tuple(values) if not count[1] else List(list(values), open=True)
    return _returned(machine, behaviour, behaviour.returns, values, top=True)


def _returned(
    machine: Machine, behaviour: Behaviour, structure: ops.Structure, values: Sequence[Value], *, top: bool = False
) -> Value:
    match structure:
        case None:
            return None
        case int():
            return values[structure] if structure < len(values) else machine.unknown("output")
        case tuple():
            items = tuple(_returned(machine, behaviour, each, values) for each in structure)
            if top and behaviour.fields:
                return Fields(items, behaviour.fields)
            return items
        case _:
            return values[0] if len(values) == 1 else List(list(values), open=True)


def bind(parameters: Sequence[Parameter], arguments: Arguments) -> dict[str, Value]:
    """Arguments by parameter name; what does not fit the signature is kept under its own name or dropped."""
    bound: dict[str, Value] = {}
    positional = list(arguments.positional)
    for parameter in parameters:
        if parameter.kind == "varargs":
            if positional:
                single = len(positional) == 1 and isinstance(positional[0], (tuple, List))
                bound[parameter.name] = positional[0] if single else tuple(positional)
                positional = []
        elif parameter.kind == "positional" and positional:
            bound[parameter.name] = positional.pop(0)
    for name, value in arguments.keywords.items():
        bound[_synonym(name, parameters)] = value
    return bound


_SYNONYMS = {
    "axis": "dim",
    "x": "input",
    "x1": "input",
    "x2": "other",
    "keepdims": "keepdim",
    "self": "input",
    "a": "input",
}
"""NumPy's names for parameters, which PyTorch accepts too."""


def _synonym(name: str, parameters: Sequence[Parameter]) -> str:
    if any(parameter.name == name for parameter in parameters):
        return name
    return _SYNONYMS.get(name, name)


def kind_of(value: Value) -> object:
    """What the op table's conditions see of an argument."""
    match value:
        case TensorValue():
            return ops.TENSOR
        case Unknown():
            return ops.UNKNOWN if value.tensor is None else ops.TENSOR
        case DType():
            return f"torch.{value.name}"
        case tuple() | List() | range():
            return ops.SEQUENCE
        case Object():
            return ops.OBJECT
        case _:
            return value


def note_facts(kinds: dict[str, object], parameter: str, value: Value) -> None:
    """Add the facts that conditions of the table may ask for: a tensor's rank and contiguity, a list's length."""
    if isinstance(value, TensorValue):
        if value.tensor.shape is not None:
            kinds[f"{parameter}.ndim"] = len(value.tensor.shape)
        shape = value.tensor.shape
        if not value.tensor.contiguous and (
            shape is None or len(shape) > 2
        ):  # BLAS takes a transposed matrix as it is.
            kinds[f"{parameter}.contiguous"] = ops.UNKNOWN if value.tensor.contiguous is None else False
    elif isinstance(value, tuple):
        kinds[f"{parameter}.len"] = len(value)
    elif isinstance(value, List) and not value.open:
        kinds[f"{parameter}.len"] = len(value.items)


def tensors_in(machine: Machine, value: Value, *, presume: bool = False, depth: int = 3) -> list[Tensor]:
    """The tensors in a value, in order; with `presume` an unknown counts as one."""
    match value:
        case TensorValue():
            return [value.tensor]
        case Unknown():
            if isinstance(value.tensor, TensorValue):
                return [value.tensor.tensor]
            presume = presume or value.presumption in ("graph", "cut", "row")
            return [presume_tensor(machine, value).tensor] if presume else []
        case tuple() | List() | Fields() | Dict() if depth > 0:
            parts = value if isinstance(value, tuple) else value.parts()
            return [t for part in parts for t in tensors_in(machine, part, presume=presume, depth=depth - 1)]
        case Instance() if depth > 0 and isinstance(value.cls.find("_fields"), tuple):  # A named tuple.
            return [t for part in value.parts() for t in tensors_in(machine, part, presume=presume, depth=depth - 1)]
        case Object() if presume and depth > 0 and value.type_name() == "generator":
            items, _ = sample(machine, value)
            return [t for part in items for t in tensors_in(machine, part, presume=presume, depth=depth - 1)]
        case _:
            return []


_TENSOR_PARAMETERS: dict[str, frozenset[str]] = {}


def _tensor_parameters(op: Op) -> frozenset[str]:
    """The parameters through which a gradient can flow, or which are saved."""
    known = _TENSOR_PARAMETERS.get(op.name)
    if known is None:
        behaviour = op.behaviour({parameter.name: ops.TENSOR for parameter in op.parameters[:1]})
        names: set[str] = set()
        for output in behaviour.outputs:
            names |= output.grad | output.maybe_grad
        for table in (behaviour.saves, behaviour.maybe_saves):
            names |= {name for name in table if not name.startswith("out")}
        known = _TENSOR_PARAMETERS[op.name] = frozenset(names)
    return known


def _count(
    name: str, behaviour: Behaviour, inputs: Mapping[str, Sequence[Tensor]], bound: Mapping[str, Value]
) -> tuple[int, bool] | None:
    """How many tensors a `chunk`, `split` or `unbind` gives, and whether that is a guess; None for other operations."""
    if behaviour.returns != "*" or not name.endswith(("chunk", "split", "unbind", "tensors", "meshgrid", "_dispatch")):
        return None
    source = next((tensors[0] for tensors in inputs.values() if tensors), None)
    for value in (bound.get("chunks"), bound.get("sections")):
        if isinstance(value, int):
            return value, False
    for parameter in ("split_size_or_sections", "split_size", "indices_or_sections", "tensor_indices_or_sections"):
        value = bound.get(parameter)
        if isinstance(value, (tuple, List)):
            return len(value if isinstance(value, tuple) else value.items), False
        if isinstance(value, int) and name.endswith("split") and "indices" in parameter:
            return value, False
    dimension = bound.get("dim", 0)
    if (
        source is not None
        and source.shape
        and isinstance(dimension, int)
        and -len(source.shape) <= dimension < len(source.shape)
    ):
        size = source.shape[dimension]
        each = bound.get("split_size_or_sections", bound.get("split_size"))
        if size is not None and 0 < size <= 16 and name.endswith("unbind"):
            return size, False
        if size is not None and isinstance(each, int) and each > 0 and -(-size // each) <= 16:
            return -(-size // each), False
    multiple = len(bound.get("tensors", ())) if isinstance(bound.get("tensors"), tuple) else 0  # type: ignore[arg-type]
    if multiple:
        return multiple, False
    return 3, True


def _shape_results(
    name: str,
    behaviour: Behaviour,
    results: Sequence[Tensor],
    inputs: Mapping[str, Sequence[Tensor]],
    bound: Mapping[str, Value],
) -> None:
    """Sizes that hang on plain arguments: reductions over a dimension, views."""
    source = next((tensors[0] for tensors in inputs.values() if tensors), None)
    if source is None:
        return
    short = name.rpartition(".")[2]
    for output, result in zip(behaviour.outputs, results, strict=False):
        if output.dtype is None and short in _KEEPING and (source.dtype or "").startswith(("float", "bfloat")):
            result.dtype = source.dtype
        if output.shape == "reduce" or (output.shape is None and short in _REDUCTIONS):
            result.shape = _reduced(source.shape, bound.get("dim"), bound.get("keepdim", False))
    if "reduction" in bound or short.endswith(("loss", "entropy", "entropy_with_logits")):
        for result in results[:1]:
            if result.shape is None:
                result.shape = _loss_shape(source, bound.get("reduction", "mean"))
    if short == "cat":
        results[0].shape = _joined([tensor.shape for tensor in inputs.get("tensors", ())], bound.get("dim", 0))
    if short == "stack" and inputs.get("tensors"):
        first = inputs["tensors"][0].shape
        results[0].shape = (len(inputs["tensors"]), *first) if first is not None and bound.get("dim", 0) == 0 else None
    if short == "linear" and source.shape and "weight" in inputs:
        width = inputs["weight"][0].shape
        results[0].shape = None if width is None else (*source.shape[:-1], *width[:-1])
    if short in ("matmul", "mm", "mv", "bmm") and len(inputs) == 2:
        left, right = (each[0].shape for each in inputs.values())
        results[0].shape = matmul(left, right)
    if short == "diag" and source.shape is not None and None not in source.shape:
        results[0].shape = source.shape * 2 if len(source.shape) == 1 else (min(size or 0 for size in source.shape),)
    if short == "einsum":
        results[0].shape = _einsum_shape(bound.get("equation"), [each.shape for each in inputs.get("operands", ())])
    if short == "outer" and len(inputs) == 2:
        sizes = [tensors[0].shape for tensors in inputs.values()]
        results[0].shape = None if None in sizes else tuple(size for shape in sizes for size in shape or ())
    rule = _VIEW_SHAPES.get(short)
    if rule is not None and len(results) == 1 and results[0] is not source:
        results[0].shape = rule(source.shape, bound)
    if short in ("expand", "expand_as", "broadcast_to") and results[0] is not source:
        shapes = (source.shape, results[0].shape)
        results[0].expanded = shapes[0] != shapes[1] if None not in shapes else short == "expand"
        results[0].contiguous = False if results[0].expanded else None
    if short in ("t", "transpose", "permute", "mT", "T", "H", "swapaxes") and results[0] is not source:
        results[0].contiguous = _still_contiguous(source.shape)
    for parameter in ("dtype",):
        value = bound.get(parameter)
        if isinstance(value, DType):
            for result in results:
                if result is not source:
                    result.dtype = value.name


def _loss_shape(source: Tensor, reduction: Value) -> Shape | None:
    """The shape of a loss: a scalar, or without reduction a value for each item of the batch."""
    if reduction in ("mean", "sum"):
        return ()
    if reduction != "none":
        return None
    return (MANY,) if source.shape is None or source.shape[:1] in ((None,), ()) else source.shape[:1]


def _einsum_shape(equation: Value, shapes: list[Shape | None]) -> Shape | None:
    """The shape of `einsum("ij,jk->ik", ...)`, where the equation is spelled out."""
    if not isinstance(equation, str) or "->" not in equation or "." in equation:
        return None
    left, _, right = equation.replace(" ", "").partition("->")
    sizes: dict[str, int | None] = {}
    for letters, shape in zip(left.split(","), shapes, strict=False):
        if shape is not None and len(shape) == len(letters):
            sizes.update(zip(letters, shape, strict=True))
    return tuple(sizes.get(letter) for letter in right)


def _still_contiguous(shape: Shape | None) -> bool | None:
    """Whether a tensor is contiguous after two dimensions changed places; None where that hangs on its sizes."""
    if shape is None or None in shape:
        return None
    return sum(1 for size in shape if size != 1) < 2


def _shape_parts(
    name: str, results: Sequence[Tensor], inputs: Mapping[str, Sequence[Tensor]], bound: Mapping[str, Value]
) -> None:
    """The shapes of what `unbind`, `chunk` and `split` give."""
    source = next((tensors[0] for tensors in inputs.values() if tensors), None)
    dim = bound.get("dim", 0)
    if (
        source is None
        or not source.shape
        or not isinstance(dim, int)
        or not -len(source.shape) <= dim < len(source.shape)
    ):
        return
    position = dim % len(source.shape)
    before, size, after = source.shape[:position], source.shape[position], source.shape[position + 1 :]
    for result in results:
        if name.endswith("unbind"):
            result.shape = (*before, *after)
        elif name.endswith(("chunk", "split")):
            even = size is not None and size > 0 and size % len(results) == 0
            result.shape = (*before, size // len(results) if even and size is not None else None, *after)


_KEEPING = frozenset({"sum", "nansum", "prod", "cumsum", "cumprod", "mean"})
"""Reductions that keep a floating dtype, and make int64 of others."""

_REDUCTIONS = frozenset(
    [
        "max",
        "min",
        "median",
        "mode",
        "norm",
        "logsumexp",
        "std",
        "var",
        "prod",
        "amax",
        "amin",
        "aminmax",
        "vector_norm",
    ]
)


def _joined(shapes: list[Shape | None], dim: Value) -> Shape | None:
    """The shape of `cat`: sizes add up along one dimension."""
    first = shapes[0] if shapes else None
    if not first or not isinstance(dim, int) or not -len(first) <= dim < len(first):
        return None
    total: int | None = 0
    for shape in shapes:
        if shape is None or len(shape) != len(first):
            return None
        size = shape[dim]
        total = None if total is None or size is None else total + size
    position = dim % len(first)
    return (*first[:position], total, *first[position + 1 :])


def _reduced(shape: Shape | None, dim: Value, keep: Value) -> Shape | None:
    if dim is None or dim is UNDEFINED:
        return () if keep is not True else None
    if shape is None or not isinstance(dim, (int, tuple, List)):
        return None
    dims = [dim] if isinstance(dim, int) else list(dim if isinstance(dim, tuple) else dim.items)
    if not dims or not all(isinstance(each, int) for each in dims) or not shape:
        return None
    positions = {each % len(shape) for each in dims if isinstance(each, int)}
    if keep is True:
        return tuple(1 if index in positions else size for index, size in enumerate(shape))
    return tuple(size for index, size in enumerate(shape) if index not in positions)


def _viewed(shape: Shape | None, bound: Mapping[str, Value]) -> Shape | None:
    sizes = next((bound[name] for name in ("shape", "size", "sizes") if name in bound), UNDEFINED)
    if isinstance(sizes, int):
        sizes = (sizes,)
    items = sizes if isinstance(sizes, tuple) else sizes.items if isinstance(sizes, List) else None
    if items is None:
        return None
    known = [size if isinstance(size, int) and size >= 0 else None for size in items]
    if (
        shape is not None
        and None not in shape
        and known.count(None) == 1
        and -1 in [s for s in items if isinstance(s, int)]
    ):
        total = 1
        for size in shape:
            total *= size or 1
        rest = 1
        for size in known:
            rest *= size if size else 1
        known[known.index(None)] = total // rest if rest else None
    return tuple(known)


def _expanded(shape: Shape | None, bound: Mapping[str, Value]) -> Shape | None:
    sizes = _viewed(None, bound)
    if sizes is None or shape is None:
        return None
    padded = (1,) * (len(sizes) - len(shape)) + tuple(shape)
    return tuple(old if new is None else new for old, new in zip(padded, sizes, strict=False))


def _unsqueezed(shape: Shape | None, bound: Mapping[str, Value]) -> Shape | None:
    dim = bound.get("dim")
    if shape is None or not isinstance(dim, int):
        return None
    position = dim if dim >= 0 else dim + len(shape) + 1
    return (*shape[:position], 1, *shape[position:])


def _squeezed(shape: Shape | None, bound: Mapping[str, Value]) -> Shape | None:
    if shape is None or None in shape:
        return None
    dim = bound.get("dim")
    if dim is None:
        return tuple(size for size in shape if size != 1)
    if not isinstance(dim, int) or not shape:
        return None
    position = dim % len(shape)
    return tuple(size for index, size in enumerate(shape) if index != position or size != 1)


def _transposed(shape: Shape | None, bound: Mapping[str, Value]) -> Shape | None:
    return tuple(reversed(shape)) if shape is not None and len(shape) <= 2 else None


def _permuted(shape: Shape | None, bound: Mapping[str, Value]) -> Shape | None:
    order = bound.get("dims")
    items = list(order) if isinstance(order, tuple) else order.items if isinstance(order, List) else None
    if shape is None or items is None or len(items) != len(shape):
        return None if shape is None else (None,) * len(shape)
    return tuple(
        shape[index] if isinstance(index, int) and -len(shape) <= index < len(shape) else None for index in items
    )


def _swapped(shape: Shape | None, bound: Mapping[str, Value]) -> Shape | None:
    first, second = bound.get("dim0"), bound.get("dim1")
    if shape is None or not isinstance(first, int) or not isinstance(second, int):
        return None if shape is None else (None,) * len(shape)
    sizes = list(shape)
    if -len(sizes) <= first < len(sizes) and -len(sizes) <= second < len(sizes):
        sizes[first], sizes[second] = sizes[second], sizes[first]
    return tuple(sizes)


_VIEW_SHAPES: dict[str, Callable[[Shape | None, Mapping[str, Value]], Shape | None]] = {
    "view": _viewed,
    "reshape": _viewed,
    "expand": _expanded,
    "broadcast_to": _expanded,
    "unsqueeze": _unsqueezed,
    "squeeze": _squeezed,
    "t": _transposed,
    "T": _transposed,
    "permute": _permuted,
    "transpose": _swapped,
    "swapaxes": _swapped,
    "flatten": lambda shape, bound: None,
}
