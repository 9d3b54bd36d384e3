"""`torch.nn.utils.parametrizations`: a weight that is computed from other parameters at each access."""

from __future__ import annotations

from gradpath.autograd.ops import find_op
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.nn import ModuleInstance
from gradpath.overlays.operations import call_operation
from gradpath.overlays.tensor_value import TensorValue, wrap


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
    module.computed[name] = lambda m: call_operation(m, op, Arguments([weight, wrap(norm)]))
    return module


NAMES: Names = {
    f"torch.nn.utils.{name}": parametrized
    for name in (
        "parametrizations.weight_norm",
        "parametrizations.spectral_norm",
        "parametrizations.orthogonal",
        "weight_norm",
        "spectral_norm",
    )
}
