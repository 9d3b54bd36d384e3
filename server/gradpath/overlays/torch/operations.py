"""Calling an operation of the op table: arguments to tensors and kinds, outputs to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from gradpath.autograd import inplace, ops
from gradpath.autograd.behaviour import Behaviour, Structure
from gradpath.autograd.layout import is_foldable
from gradpath.autograd.ops import ModuleSpec, Op, Parameter
from gradpath.autograd.provenance import OBSERVED, OPEN, Presumption, Provenance
from gradpath.autograd.tensor import Saved, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.iteration import COPIED, Container, sample
from gradpath.interpreter.kinds import OF_TENSORS
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Computed, Made
from gradpath.interpreter.values import (
    KINDS,
    Arguments,
    BoundMethod,
    Function,
    Instance,
    NativeFunction,
    Object,
    Unknown,
    Value,
)
from gradpath.overlays.namespace import Fields
from gradpath.overlays.presumed import conditions, targets
from gradpath.overlays.presumed.presumed_tensors import is_unseen, presume_tensor
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.refusals import refuse_fractions, refused_number, refused_source
from gradpath.overlays.torch.sizing import forget_count, given, part_of, parts_of, resize, resolved, settle
from gradpath.overlays.torch.tensor_value import DType, TensorValue, wrap
from gradpath.support.fast_dataclasses import replace
from gradpath.support.words import words


def operation(op: Op, name: str) -> NativeFunction:
    """The operation as a function value."""
    return NativeFunction(name, lambda machine, arguments: call_operation(machine, op, arguments))


def call_operation(machine: Machine, op: Op, arguments: Arguments) -> Value:
    """Run an operation with the arguments of a Python call."""
    bound = bind(op.parameters, arguments)
    missing = missing_from(bound, op.parameters)
    if missing and arguments.open:
        return machine.unknown(f"{op.name} of arguments that are not seen", None, tuple(arguments.all()))
    if missing and missing[0] == op.parameters[0].name:
        raise machine.error("TypeError", f"{op.name}() missing 1 required positional argument: '{missing[0]}'")
    refused = refused_number(op, bound, _tensor_parameters(op))
    if refused is not None:
        kind, parameter = refused
        raise machine.error(kind, f"{op.name}(): argument '{parameter}' must be Tensor, not a number", bound[parameter])
    overlapping = refused_source(op, bound)
    if overlapping is not None:
        raise machine.error("RuntimeError", "some elements of the input tensor and the written-to tensor", overlapping)
    return run_operation(machine, op.name, op, bound)


def missing_from(bound: Mapping[str, Value], parameters: Sequence[Parameter]) -> list[str]:
    """The names of the parameters that must be given and are not."""
    return [each.name for each in parameters if each.default is ops.REQUIRED and each.name not in bound]


def run_operation(machine: Machine, name: str, op: Op, bound: Mapping[str, Value]) -> Value:
    """Run an operation with arguments by parameter name."""
    inputs: dict[str, list[Tensor]] = {}
    kinds: dict[str, object] = {}
    operands = _tensor_parameters(op)
    targets.presume(machine, name, bound)
    for parameter, value in bound.items():
        kinds[parameter] = kind_of(value)
        if parameter == "tensors" and (odd := [each for each in _items(value) if isinstance(each, NO_TENSORS)]):
            raise not_a_tensor(machine, name, parameter, odd[0])
        tensors = tensors_in(machine, value, presume=parameter in operands and not _is_bound(parameter, value))
        if tensors:
            inputs[parameter] = tensors
        elif parameter in operands and isinstance(value, List) and not value.items:
            return machine.unknown(f"{name} of a list that is filled elsewhere", None, (value,))
        elif isinstance(value, NO_TENSORS) and parameter in _OPERANDS and parameter in operands:
            raise not_a_tensor(machine, name, parameter, value)
        elif parameter in operands and _holds_tensors(machine, value):
            return machine.unknown(f"{name} of an object with tensors", None, (value,))
        note_facts(kinds, parameter, value, folded=op.name in FOLDING)
    if op.name == "torch.matmul":
        for parameter in ("input", "other"):
            kinds.setdefault(
                f"{parameter}.ndim", 2
            )  # Matrices, unless known otherwise: operands of other ranks are saved as well.
    behaviour = op.behaviour(kinds)
    if machine.autograd.grad_enabled is False and "out" in bound:
        inputs.pop("out", None)
    return run_behaviour(machine, name, op, behaviour, inputs, bound)


_OPERANDS = frozenset({"input", "self", "other"})
"""Parameters that are always given, where they are tensors."""

NO_TENSORS = (type(None), type(...), str, bytes, ModuleInstance, Function, BoundMethod)
"""What no operation takes for a tensor, such as a module instead of its result, or the dots of code to be written."""


def _items(value: Value) -> Sequence[Value]:
    return value.items if isinstance(value, List) else value if isinstance(value, tuple) else ()


def not_a_tensor(machine: Machine, name: str, parameter: str, value: Value) -> Raised:
    """The refusal of an argument that is none of a tensor."""
    kind = value.type_name() if isinstance(value, Object) else type(value).__name__
    return machine.error("TypeError", f"{name}(): argument '{parameter}' must be Tensor, not {kind}", None)


def _holds_tensors(machine: Machine, value: Value) -> bool:
    """True if an operand is an object that has tensors: its class says what comes of it, or PyTorch refuses it."""
    return (
        isinstance(value, Object)
        and not isinstance(value, (Unknown, TensorValue, Container))
        and any(tensors_in(machine, each) for each in value.parts())
    )


def run_behaviour(
    machine: Machine,
    name: str,
    spec: Op | ModuleSpec,
    behaviour: Behaviour,
    inputs: dict[str, list[Tensor]],
    arguments: Mapping[str, Value],
) -> Value:
    """Apply a behaviour to tensors, and return the result as a value of the program.

    A module's `arguments` are its settings and those of the call together.
    """
    refuse_fractions(machine, name, inputs)
    if behaviour.maybe_inplace and behaviour.inplace is None:
        behaviour = replace(behaviour, saves={}, holds=frozenset())
    if behaviour.inplace is not None and inputs.get(behaviour.inplace):
        if f"same:{behaviour.inplace}" in behaviour.outputs[0].alias:
            written = inplace.write(machine.autograd, name, behaviour, behaviour.inplace, inputs)
            if isinstance(spec, Op):
                resize(spec, written, inputs, arguments)
            return wrap(written)
        machine.autograd.bump(inputs[behaviour.inplace][0], name)  # `embedding(max_norm=...)` renorms under no_grad.
    if not behaviour.outputs:
        return machine.unknown(f"result of {name}", None, tuple(arguments.values()))
    if behaviour.returns == "*" and spec.sizes is not None:
        return _parts(machine, name, spec, behaviour, inputs, arguments)
    behaviour = resolved(machine, spec, behaviour, inputs, arguments)
    others = _ordinary(machine, name, inputs, arguments)
    results = machine.autograd.apply(name, behaviour, {**inputs, **others} if others else inputs)
    settle(spec, behaviour, results, inputs, arguments, partial(_samples, machine, name))
    if behaviour.maybe_saves and spec.name in FOLDING:
        _presume_saved(machine, behaviour, results, inputs)
    if machine.autograd.grad_enabled and any(isinstance(each, Unknown | List) for each in arguments.values()):
        _note_unseen(machine, spec, results, arguments)
    for parameter, value in arguments.items():
        if isinstance(value, List) and len(inputs.get(parameter, ())) > 1 and (value.open or value.is_longer(machine)):
            forget_count(spec, parameter, results, inputs, arguments)
    values = [wrap(result) for result in results]
    if behaviour.returns == "*" and all(arguments.keys().isdisjoint(each.grad) for each in behaviour.outputs):
        return List([*values], open=True)  # `where` and `nonzero` give indices for each dimension.
    return _returned(machine, behaviour, behaviour.returns, values, top=True)


def _presume_saved(
    machine: Machine, behaviour: Behaviour, results: Sequence[Tensor], inputs: Mapping[str, Sequence[Tensor]]
) -> None:
    """Let a node save an operand of unknown rank on condition: a matrix is saved itself, a batch of them as a copy."""
    presumed = conditions.MATRIX.of(conditions.operand(machine.site()))
    for node in {each.node for each in results if each.node is not None}:
        for name, triggers in behaviour.maybe_saves.items():
            if triggers.isdisjoint(node.parameters):
                continue
            for each in inputs.get(name, ()):
                had = each.node is not None
                node.saved.append(Saved(each.storage, each.storage.version, each, name, had, presumed=presumed))


def _samples(machine: Machine, name: str) -> Presumption:
    """The condition that an operation is given a batch of several samples, in the program's name for it."""
    return conditions.SAMPLES.of(conditions.callee(None, machine.site()) or name.rpartition(".")[2])


def _is_bound(parameter: str, value: Value) -> bool:
    """True for a bound of `clamp` about a number, as `1 - self.eps` is: that is a number, too, as a rule."""
    match value:
        case Unknown(origin=Computed(made=Made.ARITHMETIC, sources=sources)) if parameter in ("min", "max"):
            return any(isinstance(each, (int, float)) for each in sources)
    return False


def _absence(parameter: str, value: Value) -> Provenance:
    """The provenance of "no graph" for an argument that was not used as a tensor."""
    if isinstance(value, List) and value.open and all(type(each) in KINDS for each in value.items):
        return OPEN
    if not isinstance(value, Unknown) or value.tensor is not None:
        return OBSERVED
    if _is_bound(parameter, value):
        return conditions.DATA.of(conditions.name_of(value) or parameter)
    return OPEN if is_unseen(value) else value.provenance


def _note_unseen(
    machine: Machine, spec: Op | ModuleSpec, results: Sequence[Tensor], arguments: Mapping[str, Value]
) -> None:
    """Give results without a graph the provenance of that: unseen arguments might give them one.

    To those with a graph such an argument may give another way to a leaf: a backward proves nothing of the rest.
    """
    if not isinstance(spec, Op):
        return
    behaviour = spec.behaviour({parameter.name: ops.TENSOR for parameter in spec.parameters})
    for output, result in zip(behaviour.outputs, results, strict=False):
        grounds = {_absence(name, arguments.get(name)) for name in (*output.grad, *output.maybe_grad)} - {OBSERVED}
        if grounds and not result.requires_grad:
            result.provenance = OPEN if OPEN in grounds else next(iter(grounds))
        elif OPEN in grounds and result.node is not None:
            for name in output.grad | output.maybe_grad:
                value = arguments.get(name)
                if isinstance(value, Unknown) and is_unseen(value):
                    edge = machine.autograd.edge(presume_tensor(machine, value).tensor)
                    result.node.edges += () if edge is None else (edge,)
                    result.node.parameters += () if edge is None else (name,)


def _ordinary(
    machine: Machine, name: str, inputs: Mapping[str, Sequence[Tensor]], arguments: Mapping[str, Value]
) -> dict[str, list[Tensor]]:
    """An ordinary tensor among the inputs of an operation on inference tensors that the program does not name, if any.

    PyTorch makes a tensor of a number beside a tensor, and a copy writes into a new one; so a leaf from inference mode
    has a graph upstream of `leaf * 2` and `leaf.clone()`, and none upstream of `leaf * leaf` or `leaf.exp()`.
    """
    if not machine.autograd.grad_enabled or not all(each.inference for tensors in inputs.values() for each in tensors):
        return {}
    operation = name.rpartition(".")[2]
    wraps = operation in _WRAPPING and isinstance(arguments.get("other"), (int, float))
    return {"ordinary": [machine.autograd.tensor()]} if wraps or operation in _COPYING else {}


_WRAPPING = frozenset({"add", "div", "divide", "floor_divide", "fmod", "mul", "multiply", "remainder", "rsub", "sub"})
"""Operations that make a tensor of a number."""

_COPYING = frozenset({"bfloat16", "clone", "double", "float", "half", "to", "type"})
"""Operations that copy, where they do not give back the tensor itself."""


def _parts(
    machine: Machine,
    name: str,
    spec: Op | ModuleSpec,
    behaviour: Behaviour,
    inputs: dict[str, list[Tensor]],
    arguments: Mapping[str, Value],
) -> Value:
    """The result of `chunk`, `split` or `unbind`: a tuple, or a few items of an unknown number."""
    call = given(spec, inputs, arguments)
    known = parts_of(spec, call)
    shapes = [part_of(spec, call)] * 3 if known is None else known
    behaviour = replace(behaviour, outputs=behaviour.outputs[:1] * len(shapes))
    results = machine.autograd.apply(name, behaviour, inputs)
    settle(spec, behaviour, results, inputs, arguments, partial(_samples, machine, name), shapes)
    values: list[Value] = [wrap(result) for result in results]
    return List(values, open=True) if known is None else tuple(values)


def _returned(
    machine: Machine, behaviour: Behaviour, structure: Structure, values: Sequence[Value], *, top: bool = False
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
    return values[0] if len(values) == 1 else List(list(values), open=True)


def bind(parameters: Sequence[Parameter], arguments: Arguments) -> dict[str, Value]:
    """Arguments by parameter name; what does not fit the signature is kept under its own name or dropped."""
    bound: dict[str, Value] = {}
    positional = list(arguments.positional)
    for parameter in parameters:
        if parameter.kind == "varargs":
            if positional:
                single = len(positional) == 1 and isinstance(positional[0], (tuple, List))
                several = List(positional, open=True) if arguments.open else tuple(positional)
                bound[parameter.name] = positional[0] if single else several
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
    """An argument as the conditions of the op table see it."""
    if type(value) in KINDS:
        return ops.SEQUENCE if isinstance(value, range) else value
    match value:
        case TensorValue():
            return ops.TENSOR
        case Unknown():
            return ops.UNKNOWN if value.tensor is None else ops.TENSOR
        case DType():
            return f"torch.{value.name}"
        case tuple() | List():
            return ops.SEQUENCE
        case Object():
            return ops.OBJECT
    return value


FOLDING = words("torch.matmul torch.nn.Linear torch.nn.functional.linear")
"""Operations that see a batch of matrices as one: they save the batch itself, or a copy where one is needed."""


def note_facts(kinds: dict[str, object], parameter: str, value: Value, *, folded: bool = False) -> None:
    """Add the facts that conditions of the table may ask for: a tensor's rank and contiguity, a list's length.

    A tensor that is `folded` without a copy counts as contiguous.
    """
    if isinstance(value, TensorValue):
        shape, contiguous = value.tensor.shape, value.tensor.contiguous
        if shape is not None:
            kinds[f"{parameter}.ndim"] = len(shape)
            if folded and not contiguous:
                contiguous = is_foldable(shape, value.tensor.layout)
        if not contiguous and (shape is None or len(shape) > 2):  # BLAS takes a transposed matrix as it is.
            unsure = contiguous is None or (folded and shape is None)
            kinds[f"{parameter}.contiguous"] = ops.UNKNOWN if unsure else False
    elif isinstance(value, tuple):
        kinds[f"{parameter}.len"] = len(value)
    elif isinstance(value, List) and not value.open:
        kinds[f"{parameter}.len"] = len(value.items)


def tensors_in(machine: Machine, value: Value, *, presume: bool = False, depth: int = 3) -> list[Tensor]:
    """The tensors in a value, in order; with `presume` an unknown counts as one."""
    if type(value) in KINDS:
        return []
    machine.budget.spend()
    match value:
        case TensorValue():
            return [value.tensor]
        case Unknown():
            if isinstance(value.tensor, TensorValue):
                return [value.tensor.tensor]
            presume = presume or value.kind in OF_TENSORS
            return [presume_tensor(machine, value).tensor] if presume else []
        case tuple() | List() | Fields() | Dict() if depth > 0:
            parts = value if isinstance(value, tuple) else value.parts()
            machine.budget.spend(len(parts) // COPIED)
            return [t for part in parts for t in tensors_in(machine, part, presume=presume, depth=depth - 1)]
        case Instance() if depth > 0 and isinstance(value.cls.find("_fields"), tuple):  # A named tuple.
            return [t for part in value.parts() for t in tensors_in(machine, part, presume=presume, depth=depth - 1)]
        case Object() if presume and depth > 0 and value.type_name() in ("generator", "ParameterList"):
            items, _ = sample(machine, value)
            return [t for part in items for t in tensors_in(machine, part, presume=presume, depth=depth - 1)]
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
