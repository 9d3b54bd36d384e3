"""`torch.optim.swa_utils`: averaged copies of a model, and schedulers, which touch no graph."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Arguments, NativeFunction, Value
from gradpath.overlays.libraries.standard_library import deep_copy
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.nn import MODULE, ModuleClass, ModuleInstance
from gradpath.overlays.torch.parallel import call_wrapped


class AveragedModel(ModuleClass):
    """`AveragedModel(model)`: a copy under `.module`; `update_parameters` writes the copy in place."""

    __slots__ = ()

    def native_member(self, name: str) -> Value:
        match name:
            case "__init__":
                return NativeFunction("AveragedModel.__init__", _initialise)
            case "update_parameters":
                return NativeFunction("AveragedModel.update_parameters", _update)
            case "forward":
                return NativeFunction("AveragedModel.forward", call_wrapped)
        return UNDEFINED


def _initialise(machine: Machine, arguments: Arguments) -> Value:
    averaged, model = arguments.get(0, "self", None), arguments.get(1, "model", None)
    if isinstance(averaged, ModuleInstance):
        averaged.attributes["module"] = deep_copy(machine, model)
    return None


def _update(machine: Machine, arguments: Arguments) -> Value:
    averaged = arguments.get(0, "self", None)
    for _, value in averaged.parameters() if isinstance(averaged, ModuleInstance) else ():
        machine.autograd.bump(value.tensor, "update_parameters")
    return None


NAMES: Names = {"torch.optim.swa_utils.AveragedModel": AveragedModel("AveragedModel", [MODULE])}
