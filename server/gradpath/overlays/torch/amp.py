"""Mixed precision: `GradScaler` and `autocast`."""

from __future__ import annotations

from gradpath.autograd.ops import op_of
from gradpath.autograd.provenance import OBSERVED, Provenance
from gradpath.interpreter.classes import Context
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Scaled
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import conditions
from gradpath.overlays.torch import scaling
from gradpath.overlays.torch.operations import call_operation
from gradpath.overlays.torch.optim import OptimizerInstance, step
from gradpath.overlays.torch.tensor_value import TensorValue, wrap


class Autocast(Context):
    """`torch.autocast(...)`: for the graph it changes nothing."""

    __slots__ = ()

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return arguments.get(0, "func", None)


class GradScaler(Object):
    """`torch.amp.GradScaler`: `scale(loss)` multiplies by a tensor, `step(optimizer)` steps.

    `enabled` is the provenance of its being in use; it is None for one that does nothing. `flag` is the argument
    of the name `enabled`.
    """

    __slots__ = ("enabled", "flag")

    def __init__(self, enabled: Provenance | None, flag: Value = True) -> None:
        self.enabled = enabled
        self.flag = flag

    def attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case "scale":
                return NativeFunction("scale", _scale)
            case "step":
                return NativeFunction("step", self._step)
            case "unscale_":
                return NativeFunction(name, self._unscale)
            case "update":
                return NativeFunction(name, lambda m, a: scaling.update(m, self))
            case "load_state_dict":
                return NativeFunction(name, lambda m, a: None)
            case "is_enabled":
                return NativeFunction(name, lambda m, a: self._is_enabled(m))
        return super().attribute(machine, name)

    def _is_enabled(self, machine: Machine) -> Value:
        if isinstance(self.flag, Unknown):
            return self.flag
        return machine.unknown("scaler is enabled", ("scaler", machine.id_of(self)), ())

    def _take(self, machine: Machine, optimizer: Value, turn: scaling.Turn) -> None:
        if self.enabled is not None and machine.decided(self._is_enabled(machine)) is not False:
            scaling.take(machine, self, optimizer, turn, self.enabled)

    def _unscale(self, machine: Machine, arguments: Arguments) -> Value:
        self._take(machine, arguments.get(0, "optimizer", None), scaling.Turn.UNSCALED)
        machine.emit(Scaled(None, machine.site()))
        return None

    def _step(self, machine: Machine, arguments: Arguments) -> Value:
        optimizer = arguments.get(0, "optimizer", None)
        self._take(machine, optimizer, scaling.Turn.STEPPED)
        if isinstance(optimizer, OptimizerInstance):
            return step(machine, optimizer, Arguments(arguments.positional[1:], arguments.keywords))
        if isinstance(optimizer, Object):
            return machine.call(machine.attribute(optimizer, "step"), Arguments(arguments.positional[1:]))
        return None


def scaled(machine: Machine, value: Value) -> Value:
    """A loss, or each of several, times a number."""
    if isinstance(value, (tuple, List)):
        parts = value if isinstance(value, tuple) else tuple(value.items)
        return tuple(scaled(machine, part) for part in parts)
    if not isinstance(value, (TensorValue, Unknown)):
        return value
    factor = machine.autograd.tensor(shape=())
    return call_operation(machine, op_of("torch.mul"), Arguments([value, wrap(factor)]))


def _scale(machine: Machine, arguments: Arguments) -> Value:
    value = scaled(machine, arguments.get(0, "outputs", None))
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, TensorValue):
            machine.emit(Scaled(each.tensor, machine.site()))
    return value


def _autocast(machine: Machine, arguments: Arguments) -> Value:
    return Autocast()


def _scaler(machine: Machine, arguments: Arguments) -> Value:
    enabled = arguments.keywords.get("enabled", True)
    if enabled is False:
        return GradScaler(None)
    of_cpu = arguments.get(0, "device", "cuda") == "cpu" and enabled is True and not arguments.open
    return GradScaler(OBSERVED if of_cpu else conditions.ENABLED.of(conditions.callee(None, machine.site())), enabled)


NAMES: Names = {
    **dict.fromkeys(
        ("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.cpu.amp.autocast"), _autocast
    ),
    **dict.fromkeys(("torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.GradScaler"), _scaler),
}
