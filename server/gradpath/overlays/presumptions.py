"""What is presumed of unknown things: one table, each row with its reason.

| unknown thing | presumed | because |
|---|---|---|
| the result of calling something named like a model (`model(x)`, `self.net(x)`, `G(z)`) | a tensor that requires grad, on a graph that saved something | that is what networks are for; a frozen one is frozen where it can be seen, as a rule |
| the result of calling something named like a loss (`criterion(out, y)`) on such a tensor | the same, on that tensor's graph | a criterion that cuts the graph could not be trained with |
| the result of any other unknown call, attribute or item | a tensor that may require grad, on a graph of which nothing is known: nothing is reported of it | it may as well be data |
| a value on which `backward()` is called and went through | has a graph, and that graph is freed | PyTorch would have raised |
| the items of a loader | fresh tensors that require no grad | that is what data sets give |
| an unknown call | neither writes nor frees its arguments | in-place functions end in `_`, as a rule |
| items of a model's result (`a, b = model(x)`) | share the trunk, but no node that saved something | two heads need not share one |
| the argument of an unknown decorator | is what the decorator gives back | most decorators wrap |
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from gradpath.autograd.tensor import Cut, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.trace import Cleared, Lent, ReadOut, Stepped
from gradpath.interpreter.values import (
    UNDEFINED,
    Arguments,
    Class,
    Function,
    Instance,
    Object,
    Unknown,
    Value,
    identity,
)
from gradpath.overlays.tensor_value import TensorNumber, TensorValue, wrap

MODEL = re.compile(
    r"^(?!_?(get|build|create|make|load|init|setup|save|update|train|eval|test|run|fit|step|reset|set|freeze)_)"
    r"_?([a-z0-9_]+_)?(model|net|network|generator|discriminator|encoder|decoder|backbone|actor|critic|policy|classifier|"
    r"student|teacher|gen|disc|unet|rnn|lstm|gru|cnn|mlp|transformer|autoencoder|vae)(_?[a-z0-9A-Z]{1,2})?$"
    r"|^(net|model)[A-Z]\w*$|^(net|model)?_?[GDEF](_[A-Za-z0-9]+|\d)?$"
)
ENGINE = re.compile(
    r"^_?(.*_)?(accelerator|fabric|engine|scaler|optimi[sz]er|manager|strategy|trainer|amp|backend)s?\d?$", re.I
)
LOSS = re.compile(
    r"^_?(.*_)?(criterion\w*|criteria|loss_?(fn|func|function|f|criterion|module)?\d?|lossfn|objective)$", re.I
)
OPTIMIZER = re.compile(r"^_?(.*_)?(opt|optim|optimi[sz]er)s?(_\w+|\w?)$", re.IGNORECASE)
LOADER = re.compile(
    r"^_?(.*_)?(loader|dataloader|batches|dataset|data_iter|iterator|train_iter|train_dl|dl)s?(_\w+)?$", re.I
)

ROLES = (("model", MODEL), ("loss", LOSS), ("optimizer", OPTIMIZER), ("loader", LOADER))


@cache
def role_of_name(name: str) -> str:
    """What a name promises: "model", "loss", "optimizer", "loader", or "" for nothing."""
    return next((role for role, pattern in ROLES if pattern.match(name)), "")


def presume_tensor(machine: Machine, unknown: Unknown) -> TensorValue:
    """The tensor that an unknown value stands for, made when it is first used as one."""
    if isinstance(unknown.tensor, TensorValue):
        return unknown.tensor
    unknown.tensor = made = wrap(_materialised(machine, unknown))
    made.tensor.label = unknown.label
    return made


def _materialised(machine: Machine, unknown: Unknown) -> Tensor:
    if unknown.presumption == "plain":
        return machine.autograd.tensor(dtype=None)
    sources = graph_sources(machine, unknown.sources)
    if unknown.presumption in ("graph", "cut"):
        if unknown.presumption == "cut":
            made = machine.autograd.tensor(dtype=None)
            how = "inference_mode" if machine.autograd.inference else "no_grad"
            machine.autograd.cut(made, Cut(how, unknown.origin, sources[0] if sources else None, "call"))
            return made
        made = machine.autograd.presumed(sources, holds=True)
        assert made.node is not None
        made.node.certain = made.certain = True
        made.origin = made.node.site = unknown.origin
        return made
    made = machine.autograd.presumed(sources)
    made.origin = unknown.origin
    return made


def graph_sources(machine: Machine, values: tuple[Value, ...], depth: int = 3) -> list[Tensor]:
    """The tensors among what a value came from, through which a graph may run."""
    found: list[Tensor] = []
    for value in values:
        match value:
            case TensorValue():
                found.append(value.tensor)
            case Unknown() if role_of(value) or value.presumption == "plain":
                continue
            case Unknown() if isinstance(value.tensor, TensorValue):
                found.append(value.tensor.tensor)
            case Unknown() if value.presumption in ("graph", "cut"):
                found.append(presume_tensor(machine, value).tensor)
            case Unknown() if depth > 0:
                found.extend(graph_sources(machine, value.sources, depth - 1))
            case tuple():
                found.extend(graph_sources(machine, value, depth - 1))
            case List() | Dict() if depth > 0:
                found.extend(graph_sources(machine, tuple(value.parts()), depth - 1))
    return list(dict.fromkeys(found))


def unknown_parameter(machine: Machine, name: str, default: Value) -> Value:
    """A parameter for which nobody gave an argument."""
    made = machine.unknown("parameter", ("parameter", name, machine.unknown_count), ())
    if isinstance(made, Unknown):
        made.name = name
        if default is not UNDEFINED:
            made.hint = default
    return made


def unknown_attribute(machine: Machine, unknown: Unknown, name: str) -> Value:
    """`unknown.name`: methods of tensors, modules and optimizers are presumed by their names."""
    key = ("attr", unknown.number, name)
    if key in machine.remembered:
        return machine.remembered[key]
    if isinstance(unknown.tensor, TensorValue) and name not in _METHODS:
        return unknown.tensor.attribute(machine, name)
    made = machine.unknown("attribute of unknown", key, (unknown,))
    if isinstance(made, Unknown):
        made.name = name
        made.owner = unknown
        made.presumption = _inherited(unknown)
    return made


def unknown_item(machine: Machine, unknown: Unknown, index: Value) -> Value:
    """`unknown[index]`, or an item that iterating gives (a fresh one each time)."""
    key = None if index is None else ("item", unknown.number, identity(index))
    made = machine.unknown("item of unknown", key, (unknown,))
    if isinstance(made, Unknown) and not made.presumption:
        made.presumption = _inherited(unknown)
        if role_of(unknown) == "loader":
            made.presumption = "plain"
    return made


def _inherited(unknown: Unknown) -> str:
    return "plain" if unknown.presumption == "plain" else unknown.presumption


def role_of(value: Value) -> str:
    """What an unknown value or library object is presumed to be."""
    return role_of_name(value.name or value.label) if isinstance(value, Unknown) else ""


def unknown_call(machine: Machine, unknown: Unknown, arguments: Arguments) -> Value:
    """The result of calling something unknown."""
    method = _METHODS.get(unknown.name) if unknown.owner is not None else None
    if method is not None and isinstance(unknown.owner, Unknown):
        result = method(machine, unknown.owner, arguments)
        if result is not NotImplemented:
            return result
    if any(_has_state(value) for value in arguments.all()):
        machine.emit(Lent(_dotted(unknown), machine.site()))
    made = machine.unknown(f"call of {unknown.name or 'unknown'}", None, (unknown, *arguments.all()))
    if isinstance(made, Unknown):
        made.origin = machine.site()
        made.presumption = _call_presumption(machine, unknown, arguments)
    return made


def _has_state(value: Value) -> bool:
    """Whether a callee could clear gradients or step through this argument."""
    if isinstance(value, Unknown):
        return role_of(value) in ("model", "optimizer")
    return isinstance(value, (Instance, List, Dict))


def _dotted(unknown: Unknown) -> str:
    """What an unknown callee is called, with the library that it comes from where that is known."""
    if unknown.key is not None and unknown.key[0] == "name":
        return str(unknown.key[1])
    return f"{_dotted(unknown.owner)}.{unknown.name}" if unknown.owner is not None else unknown.name


def _call_presumption(machine: Machine, unknown: Unknown, arguments: Arguments) -> str:
    role = role_of(unknown)
    if role == "loss" and not graph_sources(machine, tuple(arguments.all())):
        return ""
    if role not in ("model", "loss"):
        return ""
    if role == "loss" and not any(t.requires_grad for t in graph_sources(machine, tuple(arguments.all()))):
        return "plain"
    return "graph" if machine.autograd.grad_enabled else "cut"


# Methods of unknown receivers

Method = Callable[[Machine, Unknown, Arguments], Value]


def _backward(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`loss.backward()`; on an engine it takes the loss: `accelerator.backward(loss)`."""
    loss = arguments.get(0, "loss") if ENGINE.match(receiver.name or receiver.label) else UNDEFINED
    if isinstance(loss, TensorValue):
        return machine.call(machine.attribute(loss, "backward"), Arguments([], _engine_keywords(arguments)))
    if isinstance(loss, Unknown):
        return _backward(machine, loss, Arguments([], _engine_keywords(arguments)))
    if (loss is not UNDEFINED and loss is not None) or _defines_backward(machine):
        return None
    tensor = presume_tensor(machine, receiver).tensor
    if tensor.node is not None and not tensor.node.certain:
        tensor.node.holds = True  # It went through, or PyTorch would have raised: there is a graph, and losses save.
    return wrap(tensor).attribute(machine, "backward").call(machine, arguments)  # type: ignore[attr-defined]


def _defines_backward(machine: Machine) -> bool:
    """Whether a class of the program has a `backward` of its own, so that an unknown may be one of its instances."""
    classes = (value for value in machine.globals.variables.values() if isinstance(value, Class))
    return any(isinstance(value.members.get("backward"), Function) for value in classes)


def _engine_keywords(arguments: Arguments) -> dict[str, Value]:
    kept = ("retain_graph", "create_graph", "inputs")
    return {name: value for name, value in arguments.keywords.items() if name in kept}


def _number(how: str) -> Method:
    def method(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
        return TensorNumber(ReadOut(presume_tensor(machine, receiver).tensor, how, machine.site()))

    return method


def _detached(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    made = machine.unknown("detached", None, (receiver,))
    if isinstance(made, Unknown):
        made.presumption = "plain"
    return made


def _itself(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    return receiver


def _step(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    if role_of(receiver) == "optimizer" or receiver.name.startswith("opt"):
        closure = arguments.get(0, "closure", None)
        if isinstance(closure, Object) and not isinstance(closure, Unknown):
            machine.call(closure, Arguments())
        machine.emit(Stepped(receiver, (), machine.site()))
        return None
    return NotImplemented


def _zero_grad(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    machine.emit(Cleared((), machine.site(), receiver, known=False))
    return None


_METHODS: dict[str, Method] = {
    "backward": _backward,
    "item": _number("item"),
    "detach": _detached,
    "to": _itself,
    "cuda": _itself,
    "cpu": _itself,
    "train": _itself,
    "eval": _itself,
    "float": _itself,
    "step": _step,
    "zero_grad": _zero_grad,
}
