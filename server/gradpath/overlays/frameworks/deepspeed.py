"""DeepSpeed: the engine is the model; `engine.backward(loss)` runs the backward, `engine.step()` steps and clears."""

from __future__ import annotations

from gradpath.interpreter.events import Cleared, Stepped
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Unknown, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.module_methods import clear_gradients
from gradpath.overlays.torch.nn import ModuleInstance, tensors_of
from gradpath.overlays.torch.optim import TORCH_OPTIM, OptimizerInstance, write_parameters


class DeepSpeedEngine(Object):
    """The engine that `deepspeed.initialize` returns: it is called like the model and has its attributes."""

    __slots__ = ("model", "optimizer")
    kind_name = "DeepSpeedEngine"

    def __init__(self, model: Value, optimizer: Value) -> None:
        self.model = model
        self.optimizer = optimizer

    def parts(self) -> tuple[Value, ...]:
        return (self.model,)

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.call(self.model, arguments)

    def attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case "backward":
                return NativeFunction(name, engines.backward)
            case "step":
                return NativeFunction(name, lambda m, a: self._step(m))
            case "zero_grad":
                return NativeFunction(name, lambda m, a: self._clear(m))
            case "module":
                return self.model
            case "optimizer":
                return self.optimizer
            case "train" | "eval" | "to" | "cuda":
                return NativeFunction(name, lambda m, a: self)
            case "save_checkpoint" | "load_checkpoint" | "set_gradient_accumulation_boundary":
                return NativeFunction(name, engines.nothing)
        return machine.attribute(self.model, name)

    def _step(self, machine: Machine) -> Value:
        """Step and clear, or not: the configuration decides when the accumulation is complete."""
        if isinstance(self.optimizer, OptimizerInstance):
            write_parameters(machine, self.optimizer)
        elif isinstance(self.model, ModuleInstance):  # By an optimizer that is not seen.
            updated = tuple(t for t in tensors_of(self.model.parameters()) if t.grad is not None)
            for tensor in updated:
                machine.autograd.bump(tensor, "step")
            machine.emit(Stepped(self, updated, machine.site()))
        return self._clear(machine)

    def _clear(self, machine: Machine) -> Value:
        if isinstance(self.model, ModuleInstance):
            clear_gradients(machine, tensors_of(self.model.parameters()), True, self.model, False)
        else:
            machine.emit(Cleared((), machine.site(), self, known=False))
        return None


def _initialize(machine: Machine, arguments: Arguments) -> Value:
    """`initialize(args, model, optimizer, ...)`: the engine, the optimizer, the loader and the schedule."""
    model = arguments.get(1, "model", None)
    optimizer = arguments.get(2, "optimizer", None)
    if optimizer is None and isinstance(model, ModuleInstance):
        optimizer = _configured(machine, model, arguments.get(3, "model_parameters", None))
    seen = isinstance(optimizer, Object) and not isinstance(optimizer, Unknown)
    engine = DeepSpeedEngine(model, optimizer if seen else None)
    other = optimizer if seen else machine.unknown("optimizer of the configuration")
    return (engine, other, machine.unknown("loader of the configuration"), machine.unknown("schedule"))


def _configured(machine: Machine, model: ModuleInstance, parameters: Value) -> Value:
    """The optimizer that the configuration names: which one makes no difference to what it has."""
    if parameters is None:
        parameters = machine.call(model.attribute(machine, "parameters"), Arguments())
    return machine.call(TORCH_OPTIM["AdamW"], Arguments([parameters]))


NAMES: Names = {"deepspeed.initialize": _initialize}

FOLLOWED = True
