"""`nn.Embedding.from_pretrained`: a layer around vectors that are there, which are frozen unless that is declined."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Class, Descriptor, NativeFunction, Unknown, Value
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.overlays.torch.torch import make_parameter


def _from_pretrained(machine: Machine, arguments: Arguments) -> Value:
    cls, vectors = arguments.get(0, "cls"), arguments.get(1, "embeddings", None)
    frozen = arguments.get(2, "freeze", True)
    rest = {name: value for name, value in arguments.keywords.items() if name not in ("embeddings", "freeze")}
    if not isinstance(cls, Class) or isinstance(frozen, Unknown) or arguments.open:
        return machine.unknown("from_pretrained", None, tuple(arguments.all()))
    shape = vectors.tensor.shape if isinstance(vectors, TensorValue) else None
    sizes = shape if shape is not None and len(shape) == 2 else (None, None)
    given: list[Value] = [machine.unknown("size of an embedding") if size is None else size for size in sizes]
    made = machine.call(cls, Arguments(given, rest))
    if isinstance(made, ModuleInstance):
        data = vectors if isinstance(vectors, TensorValue) else None
        weight = make_parameter(machine, Arguments([data], {"requires_grad": not machine.decide(frozen)}))
        made.attributes["weight"] = weight
        if isinstance(weight, TensorValue) and not weight.tensor.requires_grad:
            machine.flagged(weight.tensor, value=False)
    return made


FROM_PRETRAINED = Descriptor("classmethod", NativeFunction("from_pretrained", _from_pretrained))
