"""Hooks of tensors: functions of the program that run when a gradient arrives."""

from __future__ import annotations

from collections.abc import Callable

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.tensor import BackwardCall, Node
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Unknown, Value
from gradpath.overlays.torch.tensor_value import TensorValue, wrap


class Handle(Object):
    """The handle of a registered hook, which can remove it."""

    __slots__ = ("remove",)
    kind_name = "RemovableHandle"

    def __init__(self, remove: Callable[[], None]) -> None:
        self.remove = remove

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "remove":
            return NativeFunction(name, lambda m, a: self.remove())
        return super().attribute(machine, name)


def _hooked(node: Node, hook: Callable[[BackwardCall], None]) -> Handle:

    def remove() -> None:
        node.hooks = tuple(each for each in node.hooks if each is not hook)

    node.hooks = (*node.hooks, hook)
    return Handle(remove)


def register_hook(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    """`Tensor.register_hook(hook)`: the hook stays with the node that the tensor has now."""
    if not value.tensor.requires_grad:
        raise AutogradError(FaultKind.HOOK_NO_GRAD, tensor=value.tensor)
    function = arguments.get(0, "hook", None)
    node = machine.autograd.edge(value.tensor)
    if node is None or isinstance(function, Unknown):
        return machine.unknown("hook handle")

    def hook(call: BackwardCall) -> None:
        gradient = machine.autograd.tensor(shape=value.tensor.shape, dtype=value.tensor.dtype)
        with machine.autograd.mode(grad=call.create_graph):
            machine.call(function, Arguments([wrap(gradient)]))

    return _hooked(node, hook)


def register_post_hook(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    """`register_post_accumulate_grad_hook(hook)`: the hook gets the leaf once its gradient is accumulated."""
    function = arguments.get(0, "hook", None)
    node = machine.autograd.edge(value.tensor)
    if node is None or node.accumulates is None or isinstance(function, Unknown):
        return machine.unknown("hook handle")

    def after() -> None:
        with machine.autograd.mode(grad=False):
            machine.call(function, Arguments([value]))

    return _hooked(node, lambda call: call.afterwards.append(after))
