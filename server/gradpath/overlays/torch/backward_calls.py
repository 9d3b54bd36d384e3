"""`Tensor.backward`: which graph it goes through, whether that is kept, and what gets a gradient."""

from __future__ import annotations

from gradpath.autograd import backward as engine
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.presumed import weights
from gradpath.overlays.torch.operations import tensors_in
from gradpath.overlays.torch.tensor_value import TensorValue


def backward(machine: Machine, value: TensorValue, arguments: Arguments) -> Value:
    """`Tensor.backward(gradient, retain_graph, create_graph, inputs)`."""
    strange = next((name for name in arguments.keywords if name not in engines.OF_BACKWARD), None)
    if strange is not None:  # Such as `retain_variables`, which `retain_graph` has replaced.
        raise machine.error("TypeError", f"Tensor.backward() got an unexpected keyword argument '{strange}'")
    gradient = arguments.get(0, "gradient", None)
    retain = arguments.get(1, "retain_graph", None)
    create = arguments.get(2, "create_graph", False)
    inputs = arguments.get(3, "inputs", None)
    engine.backward(
        machine.autograd,
        [value.tensor],
        retain=keeps(machine, retain),
        create_graph=keeps(machine, create) is True,
        inputs=None if inputs is None else [*tensors_in(machine, inputs), *weights.named_in(machine, inputs)],
        seeds=None if gradient is None else tensors_in(machine, gradient),
    )
    return None


def keeps(machine: Machine, value: Value) -> bool | None:
    """A flag such as `retain_graph`: None where it was not given; an unknown one is decided by the path."""
    return None if value is None else machine.decide(value)
