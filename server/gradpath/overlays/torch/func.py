"""`torch.func`: `functional_call` runs a module with other parameters; transforms give values without a known graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradpath.autograd import backward as engine
from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.values import Arguments, Instance, NativeFunction, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import weights
from gradpath.overlays.presumed.absences import note_anything_handed
from gradpath.overlays.presumed.presumed_tensors import presume_tensor
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.operations import tensors_in
from gradpath.overlays.torch.tensor_value import TensorValue, wrap
from gradpath.support.traversal import reachable


def functional_call(machine: Machine, arguments: Arguments) -> Value:
    """`functional_call(module, parameters, args, kwargs)`: the attributes are put back afterwards."""
    module = arguments.get(0, "module", None)
    replacements = arguments.get(1, "parameter_and_buffer_dicts", None)
    values = arguments.get(2, "args", ())
    keywords = arguments.get(3, "kwargs", None)
    tables = [*replacements] if isinstance(replacements, tuple) else [replacements]
    whole = all(isinstance(each, Dict) and _is_whole(each) for each in tables)
    if not whole:
        note_anything_handed(machine)
    if isinstance(module, Unknown):
        positional = values if isinstance(values, tuple) else (values,)
        result = machine.call(module, Arguments([*positional, *tables], open=True))
        if isinstance(result, Unknown) and _are_of_others(machine, module, tables):
            weights.forget_call(machine, module, result)
        return result
    if not isinstance(module, Instance) or not whole:
        return machine.unknown("functional_call", None, tuple(arguments.all()))
    before: list[tuple[Instance, str, Value]] = []
    for key, value in (entry for each in tables if isinstance(each, Dict) for entry in each.entries.values()):
        owner: Value = module
        *path, name = str(key).split(".")
        for part in path:
            owner = machine.attribute(owner, part)
        if isinstance(owner, Instance) and name in owner.attributes:
            before.append((owner, name, owner.attributes[name]))
            owner.attributes[name] = value
    given = {str(key): value for key, value in keywords.entries.values()} if isinstance(keywords, Dict) else {}
    try:
        return machine.call(module, Arguments(list(values) if isinstance(values, tuple) else [values], given))
    finally:
        for owner, name, value in before:
            owner.attributes[name] = value


def _are_of_others(machine: Machine, model: Unknown, tables: Sequence[Value]) -> bool:
    """True if no parameter of a model takes part in a call of it with tables of others, itself or on a graph."""
    own = weights.weights_of(machine, model)
    parts = [part for table in tables if isinstance(table, Dict) for part in table.parts()]
    tensors = [_parameter(machine, part) for part in parts]
    if not parts or not all(isinstance(each, Dict) for each in tables):
        return False
    leaves = [leaf for each in tensors if each is not None for leaf in _leaves(each)]
    return (
        None not in tensors and None not in leaves and all(own not in (leaf, leaf.member_of) for leaf in leaves if leaf)
    )


def _parameter(machine: Machine, part: Value) -> Tensor | None:
    """The tensor of an entry, also of one that is a parameter of an unseen model."""
    if isinstance(part, Unknown) and part.kind is Kind.PARAMETER:
        part = presume_tensor(machine, part)
    return part.tensor if isinstance(part, TensorValue) else None


def _leaves(tensor: Tensor) -> Iterator[Tensor | None]:
    """The leaves of the graph of a tensor, or itself; None for those that are not seen."""
    if tensor.node is None:
        yield tensor
        return
    for node in reachable([tensor.node], lambda node: node.edges):
        if node.is_open:
            yield None
        if node.accumulates is not None:
            yield node.accumulates


def _is_whole(table: Dict) -> bool:
    """True if all entries of a table of parameters are known, by names."""
    return not table.open and all(isinstance(key, str) for key, _ in table.entries.values())


def _stack_module_state(machine: Machine, arguments: Arguments) -> Value:
    """`stack_module_state(models)`: new leaves, each the stack of one parameter of all models; and the buffers."""
    models = arguments.get(0, "models", None)
    first = models.items[0] if isinstance(models, List) and models.items and not models.open else None
    if not isinstance(first, ModuleInstance) or first.has_unknown_parts or not isinstance(models, List):
        return machine.unknown("stack_module_state", None, (models,))
    parameters, buffers = Dict(), Dict()
    for name, value in first.parameters():
        shape = None if value.tensor.shape is None else (len(models.items), *value.tensor.shape)
        parameters.store(name, wrap(machine.autograd.tensor(requires_grad=value.tensor.requires_grad, shape=shape)))
    for name, _ in first.named_buffers():
        buffers.store(name, wrap(machine.autograd.tensor(dtype=None)))
    return parameters, buffers


def _gradient(machine: Machine, arguments: Arguments) -> Value:
    """`torch.func.grad(f)`: a function whose result has a graph only where its inputs have one."""

    def run(machine: Machine, values: Arguments) -> Value:
        tensors = tensors_in(machine, tuple(values.all()))
        if tensors and not any(tensor.requires_grad for tensor in tensors):
            return wrap(machine.autograd.tensor(shape=tensors[0].shape))
        result = machine.call(arguments.get(0, "func", None), values)
        if not isinstance(result, TensorValue) or not tensors or not result.tensor.requires_grad:
            return machine.unknown("torch.func.grad", None, tuple(values.all()))
        found = engine.gradients(machine.autograd, [result.tensor], tensors[:1], create_graph=True)
        return wrap(found[0]) if found[0] is not None else None

    return NativeFunction("grad", run)


def _vmap(machine: Machine, arguments: Arguments) -> Value:
    """`vmap(f)`: `f` runs once, on the whole tensors, which look to it as if they had no first dimension."""
    function = arguments.get(0, "func", None)
    if len(arguments.positional) > 1 or arguments.keywords.keys() - {"func", "randomness", "chunk_size"}:
        return _transform("vmap").call(machine, arguments)

    def run(machine: Machine, values: Arguments) -> Value:
        inputs = {tensor: tensor.shape for tensor in tensors_in(machine, tuple(values.all()))}
        for tensor, shape in inputs.items():
            tensor.shape = shape[1:] if shape else None
        try:
            result = machine.call(function, values)
        finally:
            for tensor, shape in inputs.items():
                tensor.shape = shape
        size = next((shape[0] for shape in inputs.values() if shape), None)
        for tensor in dict.fromkeys(tensors_in(machine, result)):
            if tensor not in inputs and tensor.shape is not None:
                tensor.shape = (size, *tensor.shape)
        return result

    return NativeFunction("vmap", run)


def _jvp(machine: Machine, arguments: Arguments) -> Value:
    """`jvp(f, primals, tangents)`: what `f` gives, on its graph, and the derivative, which is not worked out."""
    primals, derivative = arguments.get(1, "primals", None), _derivative(machine, "jvp", arguments)
    if not isinstance(primals, tuple) or "has_aux" in arguments.keywords:
        return derivative
    return machine.call(arguments.get(0, "func", None), Arguments(list(primals))), derivative


def _vjp(machine: Machine, arguments: Arguments) -> Value:
    """`vjp(f, *primals)`: what `f` gives, on its graph, and a function of which nothing is worked out."""
    if "has_aux" in arguments.keywords or arguments.open:
        return _derivative(machine, "vjp", arguments)
    result = machine.call(arguments.get(0, "func", None), Arguments(arguments.positional[1:]))
    return result, NativeFunction("vjp", lambda m, a: m.unknown("torch.func.vjp", None, (result, *a.all())))


def _derivative(machine: Machine, name: str, arguments: Arguments) -> Value:
    return machine.unknown(f"torch.func.{name}", None, tuple(arguments.all()))


def _transform(name: str) -> NativeFunction:
    return NativeFunction(
        name,
        lambda machine, arguments: NativeFunction(
            name, lambda m, a: m.unknown(f"torch.func.{name}", None, tuple(a.all()))
        ),
    )


NAMES: Names = {
    "torch.func.functional_call": functional_call,
    "torch.nn.utils.stateless.functional_call": functional_call,
    **{f"torch.func.{name}": _transform(name) for name in ("grad_and_value", "jacrev", "jacfwd", "hessian")},
    "torch.func.stack_module_state": _stack_module_state,
    "torch.func.grad": _gradient,
    "torch.func.jvp": _jvp,
    "torch.func.vjp": _vjp,
    "torch.func.vmap": _vmap,
    "torch.vmap": _vmap,
}
