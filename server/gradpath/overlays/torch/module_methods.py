"""The methods that every `torch.nn.Module` has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.classes import named
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Cleared
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Function, Instance, Unknown, Value
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch import state_dicts
from gradpath.overlays.torch.nn import Method, ModuleInstance, as_part, note_attached, note_overlooked, tensors_of
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.overlays.torch.used_up import Drawn

DRAWN = "what had been met when parameters were drawn"


def note_drawn(machine: Machine) -> None:
    """Parameters are drawn, be they known already: from here on, one of them represents all of its model."""
    machine.remembered[DRAWN] = (machine.unknown_count, machine.questions)


def _parameters(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    note_overlooked(machine, module)
    recurse = _recurses(arguments, 0)
    found: list[Value] = [value for _, value in module.parameters(recurse=recurse)]
    found += _unseen(machine, module, "parameters") if recurse else []
    note_drawn(machine)
    return Drawn(machine, module, found, open=module.has_unknown_parts)


def _unseen(machine: Machine, module: ModuleInstance, method: str) -> Iterator[Value]:
    """What a method gives for each part of a module that is not seen: one of its parameters, which represents all."""
    for part in module.unknown_parts():
        if role_of(part) == "model":
            unseen = machine.call(machine.attribute(part, method), Arguments())
            yield machine.library.unknown_item(machine, unseen, None) if isinstance(unseen, Unknown) else unseen


def _named_parameters(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    note_overlooked(machine, module)
    recurse = _recurses(arguments, 1)
    found = _prefixed(arguments, module.parameters(recurse=recurse))
    found += _unseen(machine, module, "named_parameters") if recurse else []
    return Drawn(machine, module, found, open=module.has_unknown_parts)


def _buffers(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    return List([value for _, value in module.named_buffers(recurse=_recurses(arguments, 0))])


def _named_buffers(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    return List(_prefixed(arguments, module.named_buffers(recurse=_recurses(arguments, 1))))


def _recurses(arguments: Arguments, index: int) -> bool:
    return arguments.get(index, "recurse", True) is not False


def _prefixed(arguments: Arguments, named: Sequence[tuple[str, Value]]) -> list[Value]:
    prefix = arguments.get(0, "prefix", "")
    before = f"{prefix}." if prefix and isinstance(prefix, str) else ""
    return [(f"{before}{name}", value) for name, value in named]


def _set_training(value: bool) -> Method:
    """`train(mode)` and `eval()`, which call the `train` that a class of the program defines for itself."""

    def method(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
        wanted = arguments.get(0, "mode", value) if value else False
        if not value and isinstance(module.cls.find("train"), Function):
            return machine.call(machine.attribute(module, "train"), Arguments([False]))
        todo, seen = [module], {id(module)}
        while todo:
            each = todo.pop()
            each.set_mode(wanted)
            for _, child in list(each.children()):
                if id(child) in seen:
                    continue
                seen.add(id(child))
                if isinstance(child.cls.find("train"), Function):
                    machine.call(machine.attribute(child, "train"), Arguments([wanted]))
                else:
                    todo.append(child)
        return module

    return method


def _requires_grad(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    wanted = machine.decide(arguments.get(0, "requires_grad", True))
    for _, value in module.parameters():
        machine.autograd.set_requires_grad(value.tensor, wanted)
    for part in module.unknown_parts():
        if role_of(part) == "model":
            machine.call(machine.attribute(part, "requires_grad_"), Arguments([wanted]))
    return module


def _zero_grad(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    tensors = tensors_of(module.parameters())
    to_none = arguments.get(0, "set_to_none", True)
    clear_gradients(machine, tensors, to_none, module, not module.has_unknown_parts)
    return None


def clear_gradients(
    machine: Machine, parameters: tuple[Tensor, ...], to_none: Value, owner: Instance, known: bool
) -> None:
    """`zero_grad`: drop the gradients, or with `set_to_none=False` zero them in place."""
    for parameter in parameters:
        gradient = parameter.grad
        if gradient is None:
            continue
        if to_none is False:
            if gradient.node is not None:
                gradient.node = None
            machine.autograd.bump(gradient, "torch.Tensor.zero_")
        else:
            parameter.grad = None
    steps = not isinstance(owner, ModuleInstance)
    machine.emit(Cleared(parameters, machine.site(), owner, known, steps, kept=to_none is not True))


def _itself(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    return module


def _moved(device: str | None) -> Method:
    """A method that moves all parameters and buffers, to a device that is None where it is not known."""

    def method(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
        for _, value in [*module.parameters(), *module.named_buffers()]:
            if isinstance(value, TensorValue):
                value.tensor.device = device
        return module

    return method


def _double(dtype: str) -> Method:
    def method(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
        for _, value in module.parameters():
            value.tensor.dtype = dtype
        return module

    return method


def _apply(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    for _, each in list(module.modules()):
        machine.call(arguments.get(0, "fn", None), Arguments([each]))
    return module


def _register_buffer(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    name = arguments.get(0, "name", None)
    if isinstance(name, str):
        value = arguments.get(1, "tensor", None)
        module.attributes[name] = value
        module.buffers.add(name)
        if isinstance(value, TensorValue):
            machine.note_binding(name, machine.library.bound(machine, name, value))
    return None


def _register(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    value = arguments.get(1, "param", None)
    note_attached(machine, module, value)
    module.attributes[named(module, arguments.get(0, "name", None))] = value
    return None


def _add_module(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    value = as_part(arguments.get(1, "module", None))
    note_attached(machine, module, value)
    module.attributes[named(module, arguments.get(0, "name", None))] = value
    return None


def _get(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    name = arguments.get(0, "target", None)
    if not isinstance(name, str):
        return machine.unknown("part of a module", None, (module, name))
    value: Value = module
    for part in name.split("."):
        value = machine.attribute(value, part)
    return value


ModuleInstance.methods = {
    "parameters": _parameters,
    "named_parameters": _named_parameters,
    "buffers": _buffers,
    "named_buffers": _named_buffers,
    "children": lambda m, s, a: List([child for _, child in s.children()]),
    "named_children": lambda m, s, a: List([(name, child) for name, child in s.children()]),
    "modules": lambda m, s, a: List([module for _, module in s.modules()]),
    "named_modules": lambda m, s, a: List([(name, module) for name, module in s.modules()]),
    "train": _set_training(True),
    "eval": _set_training(False),
    "requires_grad_": _requires_grad,
    "zero_grad": _zero_grad,
    "to": _moved(None),
    "cuda": _moved(None),
    "cpu": _moved("cpu"),
    "float": _double("float32"),
    "double": _double("float64"),
    "half": _double("float16"),
    "bfloat16": _double("bfloat16"),
    "share_memory": _itself,
    "state_dict": state_dicts.state_dict,
    "load_state_dict": state_dicts.load_state_dict,
    "apply": _apply,
    "register_buffer": _register_buffer,
    "register_parameter": _register,
    "register_module": _add_module,
    "add_module": _add_module,
    "get_submodule": _get,
    "get_parameter": _get,
    "extra_repr": lambda m, s, a: "",
    "_get_name": lambda m, s, a: s.cls.name,
    "compile": lambda m, s, a: None,
}
