"""Sizes and dtypes of what operations return: what the table's words say of a call's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from gradpath.autograd.behaviour import Behaviour
from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.layout import Layout, Order, steps_of
from gradpath.autograd.ops import ModuleSpec, Op
from gradpath.autograd.provenance import OBSERVED, Presumption, Provenance
from gradpath.autograd.shapes import promote
from gradpath.autograd.sizes import (
    LIKE,
    OF_FIRST,
    RULES,
    UNSURE,
    Given,
    has_columns,
    is_unreduced,
    keeps_samples,
    size,
    sizes,
)
from gradpath.autograd.sizes.given import product
from gradpath.autograd.sizes.parts import any_part
from gradpath.autograd.sizes.steps import layout_of_part, layout_of_view, pointwise, regrouped
from gradpath.autograd.tensor import MANY, PRESUMED, Shape, Tensor
from gradpath.interpreter.assignment import UNPACKED
from gradpath.interpreter.containers import List, is_slender
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import AtLeast
from gradpath.interpreter.values import Value, identity
from gradpath.overlays.torch.tensor_value import DType, TensorNumber
from gradpath.support.fast_dataclasses import replace

Inputs = Mapping[str, Sequence[Tensor]]


def given(spec: Op | ModuleSpec, inputs: Inputs, arguments: Mapping[str, Value]) -> Given:
    """A call as the rules of sizes see it."""
    shapes = {name: [tensor.shape for tensor in tensors] for name, tensors in inputs.items()}
    return Given(shapes, arguments, spec.defaults, _plain)


def _plain(value: object) -> object:
    if type(value) in _PLAIN:
        return value
    match value:
        case tuple() | List() if not is_slender(value):
            return UNSURE
        case tuple():
            return tuple(map(_plain, value))
        case List():
            return UNSURE if value.open else tuple(map(_plain, value.items))
    return UNSURE


_PLAIN = frozenset({type(None), bool, int, float, str})


def parts_of(spec: Op | ModuleSpec, call: Given) -> list[Shape | None] | None:
    """The shapes of the tensors in the list that comes back; None where their number is not known."""
    return None if spec.sizes is None else sizes(spec.sizes, call)


def part_of(spec: Op | ModuleSpec, call: Given) -> Shape | None:
    """The sizes of each tensor in the list that comes back, where their number is not known."""
    return None if spec.sizes is None else any_part(spec.sizes, call)


_REGROUPING = frozenset({"view", "flatten", "ravel"})


def resolved(
    machine: Machine, spec: Op | ModuleSpec, behaviour: Behaviour, inputs: Inputs, arguments: Mapping[str, Value]
) -> Behaviour:
    """The behaviour where sizes and layout settle whether the tensor itself comes back, a view of it or a copy."""
    output = behaviour.outputs[0]
    if spec.name == "torch.Tensor.view":
        _refuse_view(spec, inputs, arguments)
    if len(output.alias) == 1 or len(behaviour.outputs) > 1 or not any(spec.size):
        return behaviour
    aliases = {each.partition(":")[0]: each for each in output.alias}
    source = next((inputs[name][0] for each in output.alias if (name := each.partition(":")[2]) in inputs), None)
    word = spec.size[0]
    if source is None or word is None or word == "same":
        return behaviour
    shape = size(word, given(spec, inputs, arguments))
    if "same" in aliases and (shape is None or None in shape or shape == source.shape):
        chosen = aliases["same"] if shape is not None and shape == source.shape and None not in shape else None
    elif word in _REGROUPING:
        steps = None if shape is None else steps_of(source.shape, source.layout)
        if source.layout is Order.ROWS or _splits(machine, source, arguments.get("shape")):
            chosen = aliases.get("view")
        elif source.shape is None or steps is None or shape is None or None in shape:
            chosen = None
        else:
            chosen = aliases.get("fresh" if regrouped(source.shape, steps, shape) is None else "view")
    else:
        chosen = aliases.get("view") if "fresh" not in aliases else None
    return behaviour if chosen is None else replace(behaviour, outputs=(replace(output, alias=(chosen,)),))


def _splits(machine: Machine, source: Tensor, asked: Value) -> bool:
    """True if `reshape` keeps all dimensions but one, by the sizes that the program has: always a view."""
    while isinstance(asked, tuple) and len(asked) == 1 and isinstance(asked[0], (tuple, List)):
        asked = asked[0]
    wanted = asked.items if isinstance(asked, List) else asked
    own = _told(machine, source) if isinstance(wanted, (tuple, list)) else []
    if not own or not isinstance(wanted, (tuple, list)) or len(wanted) < len(own):
        return False
    kept = _common(own[:-1], wanted)
    return kept + _common(own[:kept:-1], wanted[:kept:-1]) == len(own) - 1


def _told(machine: Machine, source: Tensor) -> list[Value]:
    """The sizes of a tensor, each a number or what stands for one in the program; nothing where their count is open."""
    number, shape = machine.id_of(source), source.shape
    if shape is not None:
        known = machine.unknowns
        return [known.get(("size", number, at)) if size in (None, MANY) else size for at, size in enumerate(shape)]
    whole = machine.unknowns.get(("shape", number))
    count = None if whole is None else machine.remembered.get((UNPACKED, whole.number))
    if whole is None or not isinstance(count, int):
        return []
    return [machine.unknowns.get(("item", whole.number, identity(place))) for place in range(count)]


def _common(one: Sequence[Value], other: Sequence[Value]) -> int:
    """How many values at the beginning of two sequences are the same."""
    alike = (each is not None and identity(each) == identity(their) for each, their in zip(one, other, strict=False))
    return sum(1 for _ in takewhile(bool, alike))


def _refuse_view(spec: Op | ModuleSpec, inputs: Inputs, arguments: Mapping[str, Value]) -> None:
    """Raise what PyTorch raises where no view has the sizes that `view` asks for: `expand`, then `view`."""
    source = inputs["self"][0]
    steps = steps_of(source.shape, source.layout)
    if source.layout is Order.ROWS or source.shape is None or steps is None:
        return
    shape = size("view", given(spec, inputs, arguments))
    known = shape is not None and None not in shape and product(shape) == product(source.shape) is not None
    if shape is not None and known and regrouped(source.shape, steps, shape) is None:
        raise AutogradError(FaultKind.NO_VIEW, tensor=source)


def settle(
    spec: Op | ModuleSpec,
    behaviour: Behaviour,
    results: Sequence[Tensor],
    inputs: Inputs,
    arguments: Mapping[str, Value],
    presumed: Callable[[], Presumption],
    shapes: Sequence[Shape | None] | None = None,
) -> None:
    """Give the results their sizes, dtypes and layouts; `shapes` are those of a list's parts.

    Under the condition `presumed` the call is given a batch of several samples.
    """
    everything = [tensor for tensors in inputs.values() for tensor in tensors]
    call = given(spec, inputs, arguments) if everything else None
    for index, (output, result) in enumerate(zip(behaviour.outputs, results, strict=False)):
        if result in everything:
            continue
        result.dtype = _dtype(output.dtype, everything, arguments)
        result.device = _device(everything, arguments)
        if call is None:
            continue
        word = spec.size[index] if index < len(spec.size) else None
        if shapes is not None:
            result.shape = shapes[index]
        elif word is not None:
            result.shape = size(word, call)
            result.several = _several(word, call, inputs, presumed, result.shape, divides=spec.name in _DIVISIONS)
            result.rows = next((each.rows for each in everything if each.rows is not None and word in _WIDENING), None)
            result.lone = word == "unsqueeze" and call.value("dim") == 0
        kind, _, parameter = output.alias[0].partition(":")
        source = inputs[parameter][0] if parameter and inputs.get(parameter) else None
        if source is None or (source.storage is not result.storage and kind != "storage"):
            result.layout = _fresh(spec.layout, result.shape, everything)
        elif shapes is not None:
            result.layout = layout_of_part(spec.sizes, call, source, result.shape)
        else:
            result.layout = layout_of_view(word, RULES.get(word or ""), call, source, result.shape)


_WIDENING = frozenset({"broadcast", "same"})
"""Words for results that have at least as many elements as each operand."""


_DIVISIONS = frozenset({"torch.div", "torch.true_divide"})


def _several(
    word: str,
    call: Given,
    inputs: Inputs,
    presumed: Callable[[], Presumption],
    shape: Shape | None,
    *,
    divides: bool = False,
) -> Provenance | None:
    """The provenance of a result's having more than one element: as its operands have, or each sample has a loss.

    What a tensor is divided by may be a count that came with the batch: `loss / batch["num_tokens"]`.
    """
    operands = [tensor for tensors in inputs.values() for tensor in tensors]
    if shape is None and word in _WIDENING and any(each.one_element is False for each in operands):
        return OBSERVED
    if is_unreduced(word, call):
        told = [each.several for each in inputs.get("target", ()) if each.several is not None]
        if OBSERVED in told:
            return OBSERVED
        alone = any(each.lone for operand in operands for each in operand.lineage())
        return next(iter(told), None) if alone else presumed()
    batches = operands[:1] if word in OF_FIRST or divides else operands
    if word.startswith(LIKE):
        batches = list(inputs.get(word.removeprefix(LIKE), ()))
    several = next((each.several for each in batches if isinstance(each.several, Presumption)), None)
    if several is not None and keeps_samples(word, call):
        return several
    first = operands[0]
    whole = first.node is not None and first.node.name == PRESUMED  # Its last dimension may be its only one.
    return first.rows if first.rows is not None and has_columns(word, call, last=not whole) else None


def forget_count(
    spec: Op | ModuleSpec, parameter: str, results: Sequence[Tensor], inputs: Inputs, arguments: Mapping[str, Value]
) -> None:
    """Forget the sizes of results that depend on the length of a list that may be longer."""
    longer = {**inputs, parameter: [*inputs[parameter], inputs[parameter][-1]]}
    for word, result in zip(spec.size, results, strict=False):
        shape, other = result.shape, None if word is None else size(word, given(spec, longer, arguments))
        if shape is not None and other is not None and len(shape) == len(other):
            result.shape = tuple(one if one == two else None for one, two in zip(shape, other, strict=True))


def _fresh(word: str, shape: Shape | None, operands: Sequence[Tensor]) -> Layout:
    """The layout of a fresh result of an operation."""
    if shape is not None and len(shape) < 2:
        return Order.ROWS
    if word == "odd":
        return Order.UNKNOWN
    if not word or all(operand.layout is Order.ROWS for operand in operands):
        return Order.ROWS
    if word != "like":
        return Order.UNKNOWN
    return pointwise(shape, [(operand.shape, operand.layout) for operand in operands])


def resize(spec: Op, tensor: Tensor, inputs: Inputs, arguments: Mapping[str, Value]) -> None:
    """Note what an in-place operation makes of the sizes of the tensor that it writes: `unsqueeze_`, `t_`."""
    word = spec.size[0] if spec.size else None
    if word is None or word in ("same", "broadcast"):
        return
    call = given(spec, inputs, arguments)
    shape = size(word, call)
    tensor.layout = layout_of_view(word, RULES[word], call, tensor, shape)
    tensor.shape = shape


_OPERANDS = ("input", "self", "other", "exponent", "min", "max", "value", "end", "weight")


def _device(everything: Sequence[Tensor], arguments: Mapping[str, Value]) -> str | None:
    """The device of a result: that of all operands, where it is known that they have the same."""
    first = everything[0].device if everything and arguments.get("device") is None else None
    return first if all(each.device == first for each in everything) else None


def _dtype(word: str | None, everything: Sequence[Tensor], arguments: Mapping[str, Value]) -> str | None:
    asked = arguments.get("dtype")
    if isinstance(asked, DType):
        return asked.name
    if not everything:
        return None
    match word:
        case "promote" | "floating" | "floats":
            found = promote(everything, [_number(arguments[name]) for name in _OPERANDS if name in arguments])
            if found is None or found.startswith(("float", "bfloat", "complex")) or word == "promote":
                return found
            return "float32" if word == "floating" else None
        case "input":
            return everything[0].dtype
        case "summed":
            first = everything[0].dtype
            return first if first is None or first.startswith(("float", "bfloat", "complex")) else "int64"
    return word


def _number(value: Value) -> type:
    """The type of a Python number among the operands; NoneType for anything else."""
    match value:
        case bool():
            return bool
        case int() | AtLeast():
            return int
        case float():
            return float
        case TensorNumber():
            return int if value.kind == "int" else float
    return type(None)
