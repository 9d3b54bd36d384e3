"""Hugging Face Transformers: a `Trainer` back-propagates the loss that `compute_loss` returns.

As documented: `compute_loss(model, inputs, return_outputs=False)` gives the loss, or the loss and the outputs; the
trainer clears the gradients, runs the backward and steps, batch after batch.
"""

from __future__ import annotations

from gradpath.interpreter.classes import OpenClass
from gradpath.interpreter.entered import Entered
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Attribute
from gradpath.interpreter.values import UNDEFINED, Arguments, NativeFunction, Unknown, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.registry import Caller


class TrainerClass(OpenClass, Caller):
    """`transformers.Trainer` and its kin: all but the loss is the library's own business."""

    __slots__ = ()

    calls = frozenset({"compute_loss"})

    def __init__(self, name: str) -> None:
        super().__init__(None)
        self.name = name

    def native_member(self, name: str) -> Value:
        return NativeFunction("Trainer.compute_loss", _compute_loss) if name == "compute_loss" else UNDEFINED

    def enter(self, machine: Machine, entered: Entered) -> Value:
        """A `compute_loss` is entered as the trainer runs it."""
        model = machine.unknown_from(Attribute(entered.receiver, "model", "model of a trainer"))

        def run(inputs: Value) -> None:
            if isinstance(inputs, Unknown):
                inputs.kind = Kind.PLAIN
            result = machine.call(entered.made, Arguments([entered.receiver, model, inputs]))
            loss = result[0] if isinstance(result, tuple) and result else result
            if loss is not None:
                engines.at_result(machine, entered.function, lambda: _back_propagate(machine, loss))

        engines.repeat(machine, entered.function.node, (machine.unknown("batch") for _ in range(engines.FEW)), run)
        return None


def _back_propagate(machine: Machine, loss: Value) -> None:
    engines.back_propagate(machine, loss, Arguments())


def _compute_loss(machine: Machine, arguments: Arguments) -> Value:
    """The library's own: the loss in the outputs of the model, or what `label_smoother` makes of them."""
    model, inputs = arguments.get(1, "model", None), arguments.get(2, "inputs", None)
    values = Arguments([], {}, open=True) if isinstance(inputs, (Dict, Unknown)) else Arguments([inputs])
    outputs = machine.call(model, values)
    loss = machine.attribute(outputs, "loss")
    wanted = arguments.get(3, "return_outputs", False)
    return (loss, outputs) if machine.decide(wanted) else loss


NAMES: Names = {**{f"transformers.{name}": TrainerClass(name) for name in ("Trainer", "Seq2SeqTrainer")}}

FOLLOWED = True
