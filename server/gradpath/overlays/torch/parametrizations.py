"""`torch.nn.utils.parametrize`: a weight that is computed from other parameters at each access."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradpath.autograd.ops import op_of
from gradpath.interpreter.classes import Context
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.nn import MODULE, ModuleInstance
from gradpath.overlays.torch.operations import call_operation
from gradpath.overlays.torch.tensor_value import TensorValue, wrap

Native = Callable[[Machine, Arguments], Value]

_CACHE = "parametrizations"


def _normed(place: Callable[[ModuleInstance, str], ModuleInstance], *keys: str) -> Native:
    """`weight_norm(module, name="weight")` and its kin: the weight becomes a product of the parameters `keys`.

    These are a norm and a direction, or the original alone, by whose own norm it is divided. `place` says where
    they lie; `{}` in a key is the name of the parameter.
    """

    def parametrized(machine: Machine, arguments: Arguments) -> Value:
        module = arguments.get(0, "module", None)
        name = arguments.get(1, "name", "weight")
        if not isinstance(module, ModuleInstance) or not isinstance(name, str):
            return module
        weight = module.attributes.pop(name, None)
        if not isinstance(weight, TensorValue):
            return module
        *norms, original = (key.format(name) for key in keys)
        for key in norms:
            norm = machine.autograd.tensor(requires_grad=True)
            norm.is_parameter = True
            place(module, name).attributes[key] = wrap(norm)
        place(module, name).attributes[original] = weight
        module.computed[name] = lambda m, own: _product(m, place(own, name), original, norms)
        return module

    return parametrized


def _product(machine: Machine, holder: ModuleInstance, original: str, norms: Sequence[str]) -> Value:
    weight = holder.attributes[original]
    norm = holder.attributes[norms[0]] if norms else _operated(machine, "torch.sum", weight)
    return _operated(machine, "torch.mul", weight, norm)


def _operated(machine: Machine, name: str, *values: Value) -> Value:
    return call_operation(machine, op_of(name), Arguments(list(values)))


def _itself(module: ModuleInstance, _name: str) -> ModuleInstance:
    return module


def _originals(module: ModuleInstance, name: str) -> ModuleInstance:
    """`module.parametrizations.weight`: the original parameter, and the modules that are applied to it."""
    for key in ("parametrizations", name):
        found = module.attributes.get(key)
        if not isinstance(found, ModuleInstance):
            found = module.attributes[key] = ModuleInstance(MODULE)
        module = found
    return module


def _register(machine: Machine, arguments: Arguments) -> Value:
    """`register_parametrization(module, name, parametrization)`: a module that is applied to the weight."""
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
    _originals(module, name).attributes.update({"original": original, "0": through})
    module.computed[name] = lambda m, own: _cached(m, own, name)
    return module


def _cached(machine: Machine, module: ModuleInstance, name: str) -> Value:
    """The weight, computed again; within `parametrize.cached()` as it was computed first."""
    known = machine.remembered.get(_CACHE)
    key = (machine.id_of(module), name)
    if isinstance(known, dict) and key in known:
        return known[key]
    held = _originals(module, name).attributes
    value = machine.call(held["0"], Arguments([held["original"]]))
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
    "torch.nn.utils.parametrizations.weight_norm": _normed(_originals, "original0", "original1"),
    "torch.nn.utils.parametrizations.spectral_norm": _normed(_originals, "original"),
    "torch.nn.utils.parametrizations.orthogonal": _normed(_originals, "original"),
    "torch.nn.utils.weight_norm": _normed(_itself, "{}_g", "{}_v"),
    "torch.nn.utils.spectral_norm": _normed(_itself, "{}_orig"),
    "torch.nn.utils.parametrize.register_parametrization": _register,
    "torch.nn.utils.parametrize.cached": lambda machine, arguments: _Caching(),
}
