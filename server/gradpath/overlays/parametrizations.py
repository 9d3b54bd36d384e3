"""`torch.nn.utils.parametrize`: a weight that is computed from other parameters at each access."""

from __future__ import annotations

from gradpath.autograd.ops import find_op
from gradpath.interpreter.classes import Context
from gradpath.interpreter.machine import Machine, Raised
from gradpath.interpreter.values import Arguments, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.nn import ModuleInstance
from gradpath.overlays.operations import call_operation
from gradpath.overlays.tensor_value import TensorValue, wrap

_CACHE = "parametrizations"


def parametrized(machine: Machine, arguments: Arguments) -> Value:
    """`weight_norm(module, name="weight")` and its kin: the named parameter becomes a product of two."""
    module = arguments.get(0, "module", None)
    name = arguments.get(1, "name", "weight")
    if not isinstance(module, ModuleInstance) or not isinstance(name, str):
        return module
    weight = module.attributes.pop(name, None)
    if not isinstance(weight, TensorValue):
        return module
    norm = machine.autograd.tensor(requires_grad=True)
    norm.is_parameter = True
    module.attributes[f"{name}_g"] = wrap(norm)
    module.attributes[f"{name}_v"] = weight
    op = find_op("torch.mul")
    assert op is not None
    module.computed[name] = lambda m, own: call_operation(
        m, op, Arguments([own.attributes[f"{name}_v"], own.attributes[f"{name}_g"]])
    )
    return module


def _register(machine: Machine, arguments: Arguments) -> Value:
    """`register_parametrization(module, name, parametrization)`: a module that the weight goes through."""
    module, name = arguments.get(0, "module", None), arguments.get(1, "tensor_name", None)
    through = arguments.get(2, "parametrization", None)
    if not isinstance(module, ModuleInstance) or not isinstance(name, str):
        return module
    original = module.attributes.get(name)
    if not isinstance(original, TensorValue) or not isinstance(through, ModuleInstance):
        module.computed.pop(name, None)
        module.attributes[name] = machine.unknown("parametrized weight")
        return module
    del module.attributes[name]
    module.attributes[f"{name}_original"] = original
    module.attributes[f"{name}_through"] = through
    module.computed[name] = lambda m, own: _cached(m, own, name)
    return module


def _cached(machine: Machine, module: ModuleInstance, name: str) -> Value:
    """The weight, computed anew; within `parametrize.cached()` as it was computed first."""
    known = machine.remembered.get(_CACHE)
    key = (machine.id_of(module), name)
    if isinstance(known, dict) and key in known:
        return known[key]
    through, original = module.attributes[f"{name}_through"], module.attributes[f"{name}_original"]
    value = machine.call(through, Arguments([original]))
    if isinstance(known, dict) and not isinstance(value, Unknown):
        machine.remembered[_CACHE] = {**known, key: value}
    return value


class _Caching(Context):
    """`with parametrize.cached():`."""

    __slots__ = ("before",)

    def __init__(self) -> None:
        self.before: object = None

    def enter(self, machine: Machine) -> Value:
        self.before = machine.remembered.get(_CACHE)
        machine.remembered.setdefault(_CACHE, {})
        return self

    def leave(self, machine: Machine, raised: Raised | None) -> bool:
        if self.before is None:
            machine.remembered.pop(_CACHE, None)
        return False


NAMES: Names = {
    **{
        f"torch.nn.utils.{name}": parametrized
        for name in (
            "parametrizations.weight_norm",
            "parametrizations.spectral_norm",
            "parametrizations.orthogonal",
            "weight_norm",
            "spectral_norm",
        )
    },
    "torch.nn.utils.parametrize.register_parametrization": _register,
    "torch.nn.utils.parametrize.cached": lambda machine, arguments: _Caching(),
}
