"""`DataParallel`, FSDP and the like: modules around a module, which is their `module`."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Arguments, NativeFunction, Unknown, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.nn import MODULE, ModuleClass, ModuleInstance
from gradpath.overlays.torch.optim import clip_module
from gradpath.support.words import words


class Wrapper(ModuleClass):
    """A module that calls the one that it wraps; one that is not seen is as good as the wrapper around it."""

    __slots__ = ()

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        module = arguments.get(0, "module", None)
        if not isinstance(module, Unknown):
            return super().call(machine, arguments)
        module.role = module.role or "model"
        return module

    def native_member(self, name: str) -> Value:
        match name:
            case "__init__":
                return NativeFunction(f"{self.name}.__init__", _initialise)
            case "forward":
                return NativeFunction(f"{self.name}.forward", call_wrapped)
            case "no_sync" | "join":
                return NativeFunction(name, engines.block)
            case "clip_grad_norm_":
                return NativeFunction(name, clip_module)
        return UNDEFINED


def _initialise(machine: Machine, arguments: Arguments) -> Value:
    wrapper = arguments.get(0, "self", None)
    if isinstance(wrapper, ModuleInstance):
        wrapper.attributes["module"] = arguments.get(1, "module", None)
    return None


def call_wrapped(machine: Machine, arguments: Arguments) -> Value:
    """The `forward` of a wrapper: that of its `module`."""
    wrapper, *values = arguments.positional
    return machine.call(machine.attribute(wrapper, "module"), Arguments(values, arguments.keywords))


def _data_parallel(machine: Machine, arguments: Arguments) -> Value:
    """`data_parallel(module, inputs)`: what the module gives for the inputs."""
    given = arguments.get(1, "inputs", ())
    inputs = list(given) if isinstance(given, tuple) else [given]
    return machine.call(arguments.get(0, "module", None), Arguments(inputs, open=len(arguments.all()) > 4))


NAMES: Names = {
    "torch.nn.parallel.data_parallel": _data_parallel,
    "torch.nn.parallel.data_parallel.data_parallel": _data_parallel,
} | {
    name: Wrapper(name.rpartition(".")[2], [MODULE])
    for name in words(
        """torch.nn.DataParallel torch.nn.parallel.DataParallel torch.distributed.fsdp.FullyShardedDataParallel
        apex.parallel.DistributedDataParallel"""
    )
}
