"""Reading and writing `tensor[...]`: basic keys make views, lists, masks and tensors copy."""

from __future__ import annotations

from gradpath.autograd.layout import Order
from gradpath.autograd.ops import op_of
from gradpath.autograd.provenance import OBSERVED, OPEN, Provenance
from gradpath.autograd.shapes import is_differentiable
from gradpath.autograd.sizes import indices
from gradpath.autograd.tensor import Shape
from gradpath.interpreter.containers import List, Slice
from gradpath.interpreter.iteration import Iteration
from gradpath.interpreter.kinds import OF_TENSORS
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import AtLeast
from gradpath.interpreter.ranges import Numbers
from gradpath.interpreter.values import Arguments, Unknown, Value
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.presumed_tensors import is_unseen, presume_tensor
from gradpath.overlays.torch.operations import call_operation, run_operation
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue, wrap


def kind_of_key(key: Value) -> str:
    """The op table's name for a kind of index (`int`, `slice`, `mask`, ...); "" where it is not known."""
    match key:
        case bool():
            return "mask"
        case int() | TensorNumber() | AtLeast():
            return "int"
        case slice() | Slice():
            return "slice"
        case None:
            return "none"
        case TensorValue():
            return "mask" if key.tensor.dtype in ("bool", "uint8") else "tensor"
        case List() | range() | Iteration(numbers=Numbers()):
            return "list"
        case tuple():
            kinds = {kind_of_key(part) for part in key}
            advanced = kinds & {"mask", "tensor", "list", ""}
            if not advanced:
                return "tuple_basic"
            picks = advanced & {"tensor", "list"}  # One that is not known goes with it: `probs[rows, actions]`.
            return "" if "" in advanced and not picks else "mask" if "mask" in advanced else "tensor"
    return "ellipsis" if key is ... else ""


def _refuse_fractions(machine: Machine, key: Value) -> None:
    """Refuse an index of floating point numbers, as PyTorch does (python_variable_indexing.cpp)."""
    if isinstance(key, TensorValue) and is_differentiable(key.tensor.dtype) is True:
        raise machine.error("IndexError", "tensors used as indices must be long, int, byte or bool tensors", key)


def get_item(machine: Machine, value: TensorValue, key: Value) -> Value:
    """`value[key]`."""
    _refuse_fractions(machine, key)
    kind = kind_of_key(key)
    if kind == "":
        made = machine.autograd.presumed([value.tensor], name="index")
        made.aliasing_unsure = True
        if not value.tensor.requires_grad:
            made.node = None
            made.dtype = value.tensor.dtype
        elif made.node is not None and machine.autograd.grad_enabled:
            sure = value.tensor.certainly_requires_grad  # The graph continues, whatever the key is.
            made.provenance = made.node.provenance = OBSERVED if sure else OPEN
        return wrap(made)
    if kind in ("int", "slice", "none", "ellipsis", "tuple_basic"):
        return _view(machine, value, key)
    indices = [part for part in (key if isinstance(key, tuple) else (key,)) if isinstance(part, (TensorValue, List))]
    op = op_of(f"getitem:{kind}")
    tensors = [part for part in indices if isinstance(part, TensorValue)]
    index: Value = tuple(tensors) if len(tensors) > 1 else tensors[0] if tensors else key
    made_value = run_operation(machine, "index", op, {"self": value, "index": index})
    if isinstance(made_value, TensorValue):
        made_value.tensor.dtype = value.tensor.dtype
        made_value.tensor.shape = indexed(value.tensor.shape, key)
        picked = map(_several, key if isinstance(key, tuple) else (key,))
        made_value.tensor.several = next((each for each in picked if each is not None), None)
    return made_value


def _several(part: Value) -> Provenance | None:
    """The provenance of picking more than one element by a tensor or a range."""
    match part:
        case TensorValue():
            return part.tensor.several
        case Iteration(numbers=Numbers(stop=stop)):
            return conditions.several(stop)
    return None


def _view(machine: Machine, value: TensorValue, key: Value) -> TensorValue:
    view = machine.autograd.view(value.tensor, "index")
    parts = _parts(key)
    if parts is not None:
        view.shape = indices.indexed(value.tensor.shape, parts)
        view.layout = indices.layout_of_index(value.tensor.shape, value.tensor.layout, parts, view.shape)
    else:
        view.layout = Order.UNKNOWN
    first = key[0] if isinstance(key, tuple) and key else key
    if isinstance(key, tuple) and len(key) > 1 and first == slice(None):
        view.several = value.tensor.several or value.tensor.rows
    elif isinstance(first, Slice) and value.tensor.several is not None:
        view.several = conditions.several(first.count)
    view.lone = first is None
    return wrap(view)


def set_item(machine: Machine, value: TensorValue, key: Value, new: Value) -> None:
    """`value[key] = new`: basic keys write through a view, others write the tensor itself."""
    _refuse_fractions(machine, key)
    kind = kind_of_key(key)
    if kind in ("int", "slice", "none", "ellipsis", "tuple_basic", ""):
        whole = key is ... or key == slice(
            None
        )  # PyTorch writes the tensor itself then (python_variable_indexing.cpp).
        write(machine, value if whole else _view(machine, value, key), new)
        return
    op = op_of(f"setitem:{kind}")
    parts = key if isinstance(key, tuple) else (key,)
    tensors = tuple(part for part in parts if isinstance(part, TensorValue))
    index: Value = tensors if len(tensors) != 1 else tensors[0]
    run_operation(
        machine, "index assignment", op, {"self": value, "index": index, "value": _written(machine, value, new)}
    )


def write(machine: Machine, target: TensorValue, new: Value) -> None:
    """Copy `new` into `target`, as `copy_` and `fill_` do."""
    plain = _written(machine, target, new)
    name = "torch.Tensor.copy_" if isinstance(plain, TensorValue) else "torch.Tensor.fill_"
    call_operation(machine, op_of(name), Arguments([target, plain]))


def _written(machine: Machine, target: TensorValue, value: Value) -> Value:
    """The value to write: a tensor, or any number."""
    if isinstance(value, Unknown):
        takes = machine.autograd.grad_enabled and is_differentiable(target.tensor.dtype) is not False
        if takes and (is_unseen(value) or value.kind in OF_TENSORS):
            return presume_tensor(machine, value)
        return value.tensor if isinstance(value.tensor, TensorValue) else 0.5
    return 0.5 if isinstance(value, TensorNumber) else value


def indexed(shape: Shape | None, key: Value) -> Shape | None:
    """The shape of an index of a tensor of this shape; None where it is not known."""
    parts = _parts(key)
    return None if parts is None else indices.indexed(shape, parts)


def _parts(key: Value) -> list[indices.Part] | None:
    """An index as the rule of sizes sees it; None where that is unknown."""
    parts: list[indices.Part] = []
    for part in key if isinstance(key, tuple) else (key,):
        found = _part(part)
        if found is None and part is not None:
            return None
        parts.append(found)
    return parts


def _part(key: Value) -> indices.Part:
    """One index as the rule of sizes sees it; None for None, and where that is unknown."""
    match key:
        case bool():
            return None
        case int() | TensorNumber() | AtLeast():
            return indices.Number()
        case slice():
            return key if all(bound is None or isinstance(bound, int) for bound in _bounds(key)) else indices.Stretch()
        case Slice():
            return indices.Stretch()
        case range():
            return indices.Pick((len(key),))
        case List() if not key.open:
            return _listed(key.items)
        case TensorValue():
            shape = key.tensor.shape
            if key.tensor.dtype is None or key.tensor.dtype not in ("bool", "uint8"):
                return None if key.tensor.dtype is None else indices.Pick(shape)
            return None if shape is None else indices.Mask(len(shape))
    return ... if key is ... else None


def _bounds(key: slice) -> tuple[object, object, object]:
    return (key.start, key.stop, key.step)


def _listed(items: list[Value]) -> indices.Part:
    if items and all(isinstance(item, bool) for item in items):
        return indices.Mask(1)
    if all(isinstance(item, (int, TensorNumber, AtLeast)) for item in items):
        return indices.Pick((len(items),))
    return None
