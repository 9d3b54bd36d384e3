"""Lightning: `training_step` returns the loss, and the trainer clears, back-propagates and steps.

As documented for automatic optimization: for each batch `training_step`, `optimizer.zero_grad()`, `loss.backward()`,
`optimizer.step()`; the step may return the loss, a dict with "loss", or None to skip the batch. Before Lightning 2.0,
a step with `optimizer_idx` is run for each optimizer in turn. With
`self.automatic_optimization = False` the step does all of that itself, by `self.optimizers()` and
`self.manual_backward(loss)`. `self.log` keeps numbers alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.classes import innermost
from gradpath.interpreter.containers import List
from gradpath.interpreter.entered import Entered
from gradpath.interpreter.iteration import iterate
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Attribute
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, Function, NativeFunction, Unknown, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import weights
from gradpath.overlays.registry import Caller
from gradpath.overlays.torch.nn import MODULE, ModuleClass, ModuleInstance
from gradpath.overlays.torch.optim import OptimizerInstance, clip, models_of
from gradpath.support.words import words


class LightningInstance(ModuleInstance):
    """A `LightningModule`; `made` optimizers are those of `configure_optimizers`, None before that was called."""

    __slots__ = ("made_optimizers", "switched_off")

    def __init__(self, cls: Class) -> None:
        super().__init__(cls)
        self.made_optimizers: Value = None
        self.switched_off: list[Tensor | Unknown] = []

    def native_attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case _ if name == _AUTOMATIC:
                return True
            case "log" | "log_dict" | "print" | "save_hyperparameters":
                return NativeFunction(name, engines.nothing)
            case "toggle_optimizer":
                return NativeFunction(name, lambda m, a: self._toggle(m, a.get(0, "optimizer", None)))
            case "untoggle_optimizer":
                return NativeFunction(name, lambda m, a: self._untoggle(m))
            case "manual_backward":
                return NativeFunction(name, self._manual_backward)
            case "optimizers":
                return NativeFunction(name, lambda m, a: optimizers_of(m, self))
            case "clip_gradients":
                return NativeFunction(name, lambda m, a: _clip(m, a.get(0, "optimizer", None)))
            case "all_gather":
                return NativeFunction(name, engines.gathered)
            case "freeze" | "unfreeze":
                wanted = name == "unfreeze"
                return NativeFunction(
                    name, lambda m, a: m.call(m.attribute(self, "requires_grad_"), Arguments([wanted]))
                )
        return super().native_attribute(machine, name)

    def _toggle(self, machine: Machine, optimizer: Value) -> Value:
        """Until `untoggle_optimizer`, what the other optimizers have and this one has not requires no gradient."""
        known = [each for each in _each(self.made_optimizers) if isinstance(each, OptimizerInstance)]
        if isinstance(optimizer, OptimizerInstance) and optimizer in known:
            own = _learning(optimizer)
            others = (each for one in known for each in _learning(one) if each not in own)
            self.switched_off = [each for each in others if isinstance(each, Unknown) or each.requires_grad]
            self._switch(machine, False)
        return None

    def _untoggle(self, machine: Machine) -> Value:
        self._switch(machine, True)
        self.switched_off = []
        return None

    def _switch(self, machine: Machine, on: bool) -> None:
        for each in self.switched_off:
            if isinstance(each, Unknown):
                weights.flag(machine, each, on)
            else:
                machine.autograd.set_requires_grad(each, on)

    def _manual_backward(self, machine: Machine, arguments: Arguments) -> Value:
        """Lightning refuses it in a module whose optimization is automatic, so that of this one is not."""
        self.attributes[_AUTOMATIC] = False
        return engines.backward(machine, arguments)


class LightningClass(ModuleClass, Caller):
    """`LightningModule`."""

    __slots__ = ()

    calls = frozenset({"training_step"})
    known_by = frozenset({"training_step", "configure_optimizers"})

    instances = LightningInstance

    def enter(self, machine: Machine, entered: Entered) -> Value:
        """A `training_step` is entered as the trainer runs it."""
        if not isinstance(entered.receiver, LightningInstance):
            return machine.call(entered.made, entered.arguments())
        fit(machine, entered.receiver, machine.unknown("batches"))
        return None


def fit(machine: Machine, module: LightningInstance, batches: Value) -> None:
    """The training loop of the trainer, over the first few batches."""
    step = innermost(module.cls.find("training_step"))
    if step is None:
        return
    optimizers = optimizers_of(machine, module)
    host = iter(()) if batches is None else iterate(machine, batches)[0]

    names = [each.arg for each in (*step.node.args.posonlyargs, *step.node.args.args)][1:]
    turns = _turns(optimizers) if _INDEX in names else [(optimizers, None)]
    count = itertools.count()

    def run(batch: Value) -> None:
        given = [_plain(batch), next(count)][: len(names)]
        for stepped, index in turns:
            arguments = Arguments(given, {} if index is None else {_INDEX: index}, open=True)
            result = machine.call(machine.attribute(module, "training_step"), arguments)
            automatic = machine.attribute(module, _AUTOMATIC)
            wanted = machine.decided(automatic) if isinstance(automatic, Unknown) else automatic
            if wanted is not False:
                _optimize(machine, step, result, stepped, in_turn=len(turns) > 1)

    engines.repeat(machine, step.node, host, run)


_AUTOMATIC = "automatic_optimization"
_INDEX = "optimizer_idx"
"""The parameter by which a step is told, before Lightning 2.0, for which of several optimizers it is run."""


def _turns(optimizers: Value) -> list[tuple[Value, int | None]]:
    """The optimizers one after the other, each with its number; all at once where there is one, or none is seen."""
    several = list(_each(optimizers))
    if len(several) < 2:
        return [(optimizers, None if not several else 0)]
    return [(each, index) for index, each in enumerate(several)]


def _plain(batch: Value) -> Value:
    if isinstance(batch, Unknown):
        batch.kind = Kind.PLAIN
    return batch


def _optimize(machine: Machine, step: Function, result: Value, optimizers: Value, *, in_turn: bool) -> None:
    """Automatic optimization of the result of `training_step`, which is run for one optimizer, or `in_turn`."""
    loss = result.look_up("loss") if isinstance(result, Dict) else result
    if loss is None or loss is UNDEFINED:
        return
    known = [each for each in _each(optimizers) if isinstance(each, OptimizerInstance)]

    def each_one(method: str) -> None:
        for optimizer in known:
            machine.call(machine.attribute(optimizer, method), Arguments())

    def update() -> None:
        engines.back_propagate(machine, loss, Arguments())
        if in_turn:  # What each of several optimizers does is told apart by what the step returned to it.
            each_one("step")

    each_one("zero_grad")
    engines.at_result(machine, step, update)
    if not in_turn:
        each_one("step")


def optimizers_of(machine: Machine, module: LightningInstance) -> Value:
    """The result of `self.optimizers()`: the optimizers of `configure_optimizers`, one alone or a list."""
    if module.made_optimizers is None:
        maker = innermost(module.cls.find("configure_optimizers"))
        made = None if maker is None else machine.call(machine.attribute(module, "configure_optimizers"), Arguments())
        found = list(_each(made))
        if not found:
            origin = Attribute(module, "optimizer", "optimizer of a trainer")
            module.made_optimizers = machine.unknown_from(origin, ("optimizers", id(module)))
        else:
            module.made_optimizers = found[0] if len(found) == 1 else List(found)
    return module.made_optimizers


def _each(made: Value) -> Iterator[Value]:
    """The optimizers in what `configure_optimizers` returns: one, several, dicts, or two lists with the schedules."""
    match made:
        case OptimizerInstance():
            yield made
        case Dict():
            yield from _each(made.look_up("optimizer"))
        case (List() | tuple() as optimizers, List() | tuple()):
            yield from _each(optimizers)
        case List() | tuple():
            for each in made.items if isinstance(made, List) else made:
                yield from _each(each)


def _learning(optimizer: OptimizerInstance) -> list[Tensor | Unknown]:
    """The parameters of an optimizer, and the unseen models that it has."""
    return [*optimizer.parameters(), *models_of(optimizer)]


def _clip(machine: Machine, optimizer: Value) -> Value:
    if isinstance(optimizer, OptimizerInstance):
        parameters = [tensor.handle for tensor in optimizer.parameters()]
        return clip(machine, Arguments([List(parameters, open=optimizer.open)]))
    return None


def _trainer(machine: Machine, arguments: Arguments) -> Value:
    return engines.Helper("Trainer", {"fit": _fit})


def _fit(machine: Machine, arguments: Arguments) -> Value:
    module = arguments.get(0, "model", None)
    if isinstance(module, LightningInstance):
        fit(machine, module, arguments.get(1, "train_dataloaders", machine.unknown("batches")))
    return None


_MODULE = LightningClass("LightningModule", [MODULE])

NAMES: Names = {
    **dict.fromkeys(
        words(
            """lightning.LightningModule lightning.pytorch.LightningModule lightning.pytorch.core.LightningModule
            pytorch_lightning.LightningModule pytorch_lightning.core.LightningModule"""
        ),
        _MODULE,
    ),
    **dict.fromkeys(("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer"), _trainer),
}

FOLLOWED = True
