"""apex: `amp.initialize` and `convert_syncbn_model` hand back what they get; `amp.scale_loss` gives a multiple."""

from __future__ import annotations

from gradpath.interpreter.classes import Context
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Arguments, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.amp import scaled


class ScaledLoss(Context):
    """`with amp.scale_loss(loss, optimizer) as scaled_loss`."""

    __slots__ = ("loss",)

    def __init__(self, loss: Value) -> None:
        self.loss = loss

    def enter(self, machine: Machine) -> Value:
        return scaled(machine, self.loss)


def _initialize(machine: Machine, arguments: Arguments) -> Value:
    models = arguments.get(0, "models", None)
    optimizers = arguments.get(1, "optimizers", UNDEFINED)
    return models if optimizers is UNDEFINED or optimizers is None else (models, optimizers)


NAMES: Names = {
    "apex.amp.initialize": _initialize,
    "apex.amp.scale_loss": lambda machine, arguments: ScaledLoss(arguments.get(0, "loss", None)),
    "apex.amp.master_params": lambda machine, arguments: machine.unknown("master parameters"),
    "apex.amp.state_dict": engines.nothing,
    "apex.parallel.convert_syncbn_model": lambda machine, arguments: arguments.get(0, "module", None),
}

FOLLOWED = True
