"""Hooks of modules: functions of the program that run before and after a call, or in each backward through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from gradpath.autograd.tensor import HOOKED, BackwardCall, Creation, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.values import Arguments, Object, Unknown, Value
from gradpath.overlays.torch.hooks import Handle
from gradpath.overlays.torch.tensor_value import TensorValue, wrap


class Hooks:
    """The hooks of a module: `before` and `after` a call, and in a backward that has been `through` it.

    `ahead` are those of a backward that get the gradients of the outputs alone, and `whole` those that are to get the
    gradients of all inputs: for either what goes in and out is a view that a custom Function of PyTorch gives.
    """

    __slots__ = ("after", "ahead", "before", "through", "whole")

    def __init__(self) -> None:
        self.before: list[Value] = []
        self.after: list[Value] = []
        self.ahead: list[Value] = []
        self.through: list[Value] = []
        self.whole: list[Value] = []

    def copied(self) -> Hooks:
        """A copy for a copied module: the same functions, each of which can be removed separately."""
        made = Hooks()
        made.before, made.after, made.ahead, made.through, made.whole = (
            list(each) for each in (self.before, self.after, self.ahead, self.through, self.whole)
        )
        return made


def _kept_in(hooks_of: Callable[[Hooks], list[Value]]) -> Callable[[Hooks, Arguments], Value]:
    def register(hooks: Hooks, arguments: Arguments) -> Value:
        hook, own = arguments.get(0, "hook", None), hooks_of(hooks)
        own.append(hook)

        def remove() -> None:
            own[:] = [each for each in own if each is not hook]

        return Handle(remove)

    return register


REGISTER: dict[str, Callable[[Hooks, Arguments], Value]] = {
    "register_forward_hook": _kept_in(lambda hooks: hooks.after),
    "register_forward_pre_hook": _kept_in(lambda hooks: hooks.before),
    "register_backward_hook": _kept_in(lambda hooks: hooks.through),
    "register_full_backward_hook": _kept_in(lambda hooks: hooks.whole),
    "register_full_backward_pre_hook": _kept_in(lambda hooks: hooks.ahead),
}
"""The methods of modules that take a hook."""


def of_unseen(machine: Machine, model: Unknown) -> list[UnseenHook]:
    """The hooks after calls that the program has given to a model that is not seen, and to parts of it."""
    return cast("list[UnseenHook]", machine.remembered.setdefault(("hooks", model.number), []))


Presuming = Callable[[Machine, Unknown], TensorValue]

UnseenHook = tuple[Unknown, Value, Presuming | None]
"""A module that is not seen, and a hook that it was given; for one of backwards, what makes tensors of results."""


def register_unseen(
    machine: Machine, module: Unknown, models: Sequence[Unknown], hook: Value, backward: Presuming | None
) -> Handle:
    """Let a hook run after each call of a module that is not seen, and of the models that it is a part of.

    One for a `backward` runs in each that goes through the result of such a call.
    """
    made = module, hook, backward
    every = [of_unseen(machine, model) for model in models]
    for hooks in every:
        hooks.append(made)

    def remove() -> None:
        for hooks in every:
            hooks[:] = [each for each in hooks if each is not made]

    return Handle(remove)


def copy(machine: Machine, model: Unknown, made: Unknown) -> None:
    """A copy of a model that is not seen has its hooks."""
    hooks = [(made if module is model else module, *hook) for module, *hook in of_unseen(machine, model)]
    machine.remembered["hooks", made.number] = hooks


def run_unseen(machine: Machine, model: Unknown, arguments: Arguments, result: Unknown) -> Value:
    """Run the hooks after the call of a model that is not seen; one of its own may replace the result.

    What its parts are given and return is in the graph of the result.
    """
    current: Value = result
    for module, hook, backward in tuple(of_unseen(machine, model)):
        if backward is not None:
            if machine.autograd.grad_enabled:
                _tell_of_unseen(machine, module, hook, backward(machine, result).tensor)
        elif module is model:
            changed = machine.call(hook, Arguments([model, tuple(arguments.positional), current]))
            current = current if changed is None or isinstance(changed, Unknown) else changed
        else:
            of = f"{module.name} {module.number}"
            given, made = (machine.library.unknown_item(machine, result, key) for key in (f"input of {of}", of))
            machine.call(hook, Arguments([module, (given,), made]))
    return current


def _tell_of_unseen(machine: Machine, module: Unknown, hook: Value, result: Tensor) -> None:
    """Let a hook run in each backward through what a model that is not seen returned."""
    node = machine.autograd.edge(result)
    told: list[BackwardCall] = []

    def tell(call: BackwardCall) -> None:
        if call not in told:
            told.append(call)
            gradients = wrap(machine.autograd.tensor(dtype=None))
            with machine.autograd.mode(grad=call.create_graph):
                machine.call(hook, Arguments([module, _of_inputs(machine), (gradients,)]))

    if node is not None:
        node.hooks = (*node.hooks, tell)


def run(
    machine: Machine, module: Object, hooks: Hooks, arguments: Arguments, forward: Callable[[Arguments], Value]
) -> Value:
    """Call a module's `forward` between its hooks, each of which may replace its inputs or its result."""
    for hook in tuple(hooks.before):
        changed = machine.call(hook, Arguments([module, tuple(arguments.positional)]))
        if changed is not None and not isinstance(changed, Unknown):
            arguments = Arguments(list(changed) if isinstance(changed, tuple) else [changed], arguments.keywords)
    watched = bool(hooks.ahead or hooks.whole) and machine.autograd.grad_enabled
    if watched:
        arguments = Arguments(list(_handed_on(machine, tuple(arguments.positional))), arguments.keywords)
    result = forward(arguments)
    for hook in tuple(hooks.after):
        changed = machine.call(hook, Arguments([module, tuple(arguments.positional), result]))
        if changed is not None and not isinstance(changed, Unknown):
            result = changed
    if watched:
        result = _handed_on(machine, result) if isinstance(result, tuple) else _handed_on(machine, (result,))[0]
    if watched or (hooks.through and machine.autograd.grad_enabled):
        _tell_of_backwards(machine, module, hooks, result)
    return result


def _handed_on(machine: Machine, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values, with views in place of tensors that require grad (`torch/utils/hooks.py`, `BackwardHookFunction`)."""
    return tuple(_seen_by_hook(machine, each) if isinstance(each, TensorValue) else each for each in values)


def _seen_by_hook(machine: Machine, value: TensorValue) -> Value:
    tensor = value.tensor
    if not tensor.requires_grad:
        return value
    view = machine.autograd.view(tensor, HOOKED, told=False)
    view.shape, view.layout = tensor.shape, tensor.layout
    view.creation = Creation.CUSTOM
    return wrap(view)


def _tell_of_backwards(machine: Machine, module: Object, hooks: Hooks, result: Value) -> None:
    """Let the hooks that a module has now run in each backward through what it returned, once in each."""
    outputs = list(_tensors_of(result))
    ahead, through = tuple(hooks.ahead), (*hooks.through, *hooks.whole)
    told: list[BackwardCall] = []

    def tell(call: BackwardCall) -> None:
        if call in told:
            return
        told.append(call)
        with machine.autograd.mode(grad=call.create_graph):
            gradients = _gradients(machine, outputs)
            for hook in ahead:
                machine.call(hook, Arguments([module, gradients]))
            for hook in through:
                machine.call(hook, Arguments([module, _of_inputs(machine), gradients]))

    for output in outputs:
        node = machine.autograd.edge(output.tensor)
        if node is not None:
            node.hooks = (*node.hooks, tell)


def _gradients(machine: Machine, outputs: Sequence[TensorValue]) -> tuple[Value, ...]:
    tensors = (each.tensor for each in outputs)
    return tuple(wrap(machine.autograd.tensor(shape=each.shape, dtype=each.dtype)) for each in tensors)


def _of_inputs(machine: Machine) -> Value:
    """The gradients of the inputs: they have no graph, and more is not known of them."""
    made = machine.unknown("gradients of a module's inputs")
    if isinstance(made, Unknown):
        made.kind = Kind.PLAIN
    return made


def _tensors_of(result: Value) -> Iterator[TensorValue]:
    match result:
        case TensorValue():
            yield result
        case tuple():
            for each in result:
                yield from _tensors_of(each)
        case List() | Dict():
            for each in result.parts():
                yield from _tensors_of(each)
