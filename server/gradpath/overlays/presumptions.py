"""What is presumed of unknown things: one table, each row with its reason.

| unknown thing | presumed | because |
|---|---|---|
| the result of calling something named like a model (`model(x)`, `self.net(x)`, `G(z)`) | a tensor that requires grad, on a graph that saved something | that is what networks are for |
| the same of a model that was frozen (`model.requires_grad_(False)`), where it was given data | may require grad: nothing is reported of it | another part of it may be trained |
| the result of calling something named like a loss (`criterion(out, y)`) on such a tensor | the same, on that tensor's graph | a criterion that cuts the graph could not be trained with |
| the result of any other unknown call, attribute or item | a tensor that may require grad, on a graph of which nothing is known: nothing is reported of it | it may as well be data |
| a value on which `backward()` is called and went through | has a graph, and that graph is freed | PyTorch would have raised |
| what an import gives of a library, or of a file that is not seen | is no loss, whatever its `backward` does | libraries have functions of that name |
| the items of a loader, and what methods of tensors make of them | fresh tensors that require no grad | that is what data sets give |
| what its annotation, default (a text, a truth value) or name (`args`, `n_layers`, `device`) tells to be plain data, what libraries of files, options and arrays give, and what comes of nothing else | is no tensor, and holds none | a number or a text is known of its kind, though not of its value |
| a parameter or an option with a default | probably has it: the path that is tried first goes as it says | that is how programs are started |
| an unknown call | neither writes nor frees its arguments | in-place functions end in `_`, as a rule |
| items and attributes of a model's or a loss's result (`a, b = model(x)`, `out.loss`) | share the trunk, but no node that saved something | two heads need not share one |
| such an item that is handed to the same model again (`out, hidden = model(x, hidden)`) | tells that the trunk saved something | a hidden state and an output come out of one computation |
| an item called `mems`, `memory`, `past`, `cache`, or a slice of the result | may be detached, even if it is handed to the model again | Transformer-XL does so |
| `x[:, 0]`, `x[mask]` of a model's result | is a part of one tensor | tuples and dicts are not indexed like that |
| methods of tensors and arithmetic on a model's or a loss's result | are those of a tensor | nothing else has them |
| `.data`, `.shape` of such a result, and `.numpy()` | tell nothing | packed sequences have `data`, and callers switch gradients off |
| what any other unknown call makes of such a result | has a graph or has none | helpers detach |
| the graph of a model's result | has saved the weights of the model | all layers but the first do |
| an optimizer that was made from `model.parameters()`, or from some of them, alone or with others | owns that model | it says so |
| an optimizer with a name of its own (`opt_g`, `actor_optimizer`) | owns the one model whose name fits (`G`, `actor`) | that is what the name is for |
| an optimizer with a general name (`optimizer`) | owns the model, if all that was called is one | there is nothing else that it could own |
| any other unknown optimizer | owns nothing that is seen | nothing is reported of it |
| an unknown call that is handed a model or an optimizer | may have cleared the gradients | helpers do |
| a method of an optimizer, and one of a model that is named for training (`model.optimize_parameters()`) | may have cleared the gradients | some models train themselves |
| any other method of a model (`model.inference(x)`, `model.set_epoch(3)`) | leaves them alone | what is asked of a model within a step is no business of its gradients |
| `zero_grad()` of a model or an optimizer with a name of its own | clears the gradients of that model, and no others | that is what the name is for |
| a function that is handed to an unknown call | is called at any time from there on | hooks are |
| a function inside a function that nobody called | is called later, with unknown arguments | closures are made to be handed on |
| the argument of an unknown decorator | is what the decorator gives back | most decorators wrap |
| `assertRaises` of a test case whose class is not seen | heads a block that is expected to fail | unittest has it so |
"""  # noqa: E501

from __future__ import annotations

import ast
import operator as host

from gradpath.autograd.ops import find_op
from gradpath.autograd.provenance import OBSERVED, OPEN, Provenance
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.operators import negation
from gradpath.interpreter.trace import Cleared, Lent
from gradpath.interpreter.values import (
    UNDEFINED,
    Arguments,
    BoundMethod,
    Function,
    Instance,
    Unknown,
    Value,
    identity,
    is_data,
)
from gradpath.overlays import branches, conditions, frozen, plain_data, weights
from gradpath.overlays.callbacks import hand_over
from gradpath.overlays.clearing import dotted_name, is_gradient, may_clear
from gradpath.overlays.presumed_methods import METHODS
from gradpath.overlays.presumed_tensors import graph_sources, is_method_of_tensors, presume_tensor
from gradpath.overlays.roles import is_option, role_of
from gradpath.overlays.tensor_value import TensorNumber, TensorValue

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def unknown_operation(machine: Machine, unknown: Unknown, operator: str, other: Value, reflected: bool) -> Value:
    """`unknown + other`, `unknown < other`: what a model or a loss gives is a tensor where it meets numbers or tensors.

    The answer to the same comparison of the same operands is the same, and so are the branches that it decides.
    """
    if _meets_as_tensor(unknown, operator, other):
        tensor = presume_tensor(machine, unknown)
        compared = operator in _COMPARISONS
        return (tensor.compare if compared else tensor.binary)(machine, operator, other, reflected)
    if operator in ("eq", "ne") and isinstance(other, bool):
        same = other is (operator == "eq")  # Nobody compares anything but a flag with True or False.
        return negation(machine, negation(machine, unknown) if same else unknown)
    if operator in _COMPARISONS:
        key = ("compare", operator, reflected, unknown.number, identity(other))
        made = machine.unknown("comparison", key, (unknown, other))
        if isinstance(made, Unknown) and unknown.hint is not UNDEFINED:
            made.hint = _compared(operator, unknown.hint, other)
        return made
    key = ("binary", operator, reflected, unknown.number, identity(other))
    made = machine.unknown("arithmetic", key, (unknown, other), fresh=True)
    if isinstance(made, Unknown) and not machine.autograd.grad_enabled:
        made.kind = Kind.PLAIN
    return made


def _compared(operator: str, hint: Value, other: Value) -> Value:
    """What the comparison of two values that are probably these constants is, `UNDEFINED` where nothing tells."""
    probable = other.hint if isinstance(other, Unknown) else other
    if not isinstance(hint, (int, float, str)) or not isinstance(probable, (int, float, str)):
        return UNDEFINED
    if isinstance(hint, str) is not isinstance(probable, str):
        return UNDEFINED
    return bool(getattr(host, operator)(hint, probable))


def _meets_as_tensor(unknown: Unknown, operator: str, other: Value) -> bool:
    """A loss that is compared stays unknown: it decides branches, and asked twice it must be the same question."""
    if unknown.kind not in OF_TENSORS or not isinstance(other, (bool, int, float, TensorValue, TensorNumber, Unknown)):
        return False
    result = branches.whole_of(unknown) or unknown
    from_model = bool(result.sources) and role_of(result.sources[0]) == "model"
    return operator not in _COMPARISONS or (from_model and operator not in ("eq", "ne"))


def unknown_parameter(machine: Machine, argument: ast.arg, default: Value) -> Value:
    """A parameter for which nobody gave an argument."""
    data = plain_data.is_parameter(argument, default)
    made = machine.unknown("parameter", ("parameter", argument.arg, machine.unknown_count), (), data=data)
    if isinstance(made, Unknown):
        made.name = argument.arg
        if default is not UNDEFINED:
            made.hint = default
    return made


def unknown_attribute(machine: Machine, unknown: Unknown, name: str) -> Value:
    """`unknown.name`: methods of tensors, modules and optimizers are presumed by their names."""
    key = ("attr", unknown.number, name)
    if key in machine.remembered:
        return machine.remembered[key]
    if name == "module" and role_of(unknown) == "model":
        return unknown  # What DataParallel and its kin wrap.
    if isinstance(unknown.tensor, TensorValue) and name not in METHODS and not _may_be_part(unknown, name):
        return unknown.tensor.attribute(machine, name)
    data = name in plain_data.TELLING or is_option(name)
    made = machine.unknown("attribute of unknown", key, (unknown,), data=data)
    if isinstance(made, Unknown):
        made.name = name
        made.owner = unknown
        plain = name in _PLAIN or made.is_data
        made.kind = Kind.PLAIN if plain else unknown.kind
        made.provenance = conditions.DATA.of(name) if plain and not made.is_data else unknown.provenance
        weights.note_part(machine, unknown, made, name)
    return made


def _may_be_part(unknown: Unknown, name: str) -> bool:
    """Whether `x.name` may be a part of what a model gives, such as `outputs.logits`, rather than a tensor's own."""
    return unknown.kind in OF_TENSORS and not is_method_of_tensors(name)


_PLAIN = frozenset({"data", "device", "dtype", "grad_fn", "is_leaf", "ndim", "requires_grad", "shape"})
"""Attributes of a model's result that have no graph; `data` of a packed sequence has one, so that nothing is said."""


def set_unknown_attribute(machine: Machine, unknown: Unknown, name: str, value: Value) -> None:
    """`unknown.name = value`: what is set is remembered; `requires_grad` and `grad` mean what they mean for tensors."""
    if name == "requires_grad":
        frozen.flag(machine, unknown, value)
    elif role_of(unknown) == "model":
        frozen.part_set(machine, unknown, value)
    if name == "requires_grad" and (isinstance(unknown.tensor, TensorValue) or unknown.kind is not Kind.ANYTHING):
        presume_tensor(machine, unknown).set_attribute(machine, name, value)
        return
    if name == "grad":
        weights.clear(machine)
        gone = value is None
        machine.emit(Cleared((), machine.site(), None, known=False) if gone else Lent(name, machine.site()))
    _fill(machine, unknown, value)
    machine.remember(("attr", unknown.number, name), value)


def set_unknown_item(machine: Machine, unknown: Unknown, key: Value, value: Value) -> None:
    """`unknown[key] = value`: what is set is remembered."""
    _fill(machine, unknown, value)
    machine.remember(("item", unknown.number, identity(key)), value)


def _fill(machine: Machine, holder: Unknown | None, value: Value) -> None:
    """What had no graph, and what that is an attribute of, may have one after something with a graph was put in."""
    if is_data(value) or not (_is_open(value) or _has_graph(machine, Arguments([value]))):
        return
    while holder is not None:
        if not holder.is_data:
            holder.kind, holder.provenance = Kind.ANYTHING, OPEN
        holder = holder.owner


def unknown_item(machine: Machine, unknown: Unknown, index: Value) -> Value:
    """`unknown[index]`, or an item that iterating gives (a fresh one each time)."""
    key = None if index is None else ("item", unknown.number, identity(index))
    made = machine.unknown("item of unknown", key, (unknown,))
    if isinstance(made, Unknown) and made.kind is Kind.ANYTHING:
        made.kind, made.provenance = unknown.kind, unknown.provenance
        if role_of(unknown) == "loader":
            made.kind, made.provenance = Kind.PLAIN, conditions.LOADER.of(conditions.name_of(unknown))
        elif unknown.kind is Kind.LIVE and _is_of_tensor(index):
            made.kind = Kind.PART
        if isinstance(index, slice):
            made.name = branches.REST
        weights.note_part(machine, unknown, made, index)
    return made


def _is_of_tensor(index: Value) -> bool:
    """Whether only a tensor (or an array) is indexed like that: `x[:, 0]`, `x[..., 1]`, `x[mask]`."""
    return isinstance(index, (tuple, TensorValue)) or index is ...


def unknown_call(machine: Machine, unknown: Unknown, arguments: Arguments) -> Value:
    """The result of calling something unknown."""
    hand_over(machine, arguments)
    owner = unknown.owner
    if owner is not None and (not owner.is_data or role_of(owner)):
        method = METHODS.get(unknown.name)
        result = NotImplemented if method is None else method(machine, owner, arguments)
        if result is not NotImplemented:
            return result
        if owner.kind in OF_TENSORS and is_method_of_tensors(unknown.name):
            return machine.call(presume_tensor(machine, owner).attribute(machine, unknown.name), arguments)
    if owner is not None and owner.kind is Kind.PLAIN and not find_op(f"torch.Tensor.{unknown.name}"):
        for value in arguments.all():
            _fill(machine, owner, value)
    frozen.called(machine, unknown, arguments)
    data = plain_data.gives_data(unknown)
    if not data and may_clear(unknown, arguments):
        weights.clear(machine)
        machine.emit(Lent(dotted_name(unknown), machine.site()))
    elif unknown.name.endswith("_") and is_gradient(owner):
        weights.clear(machine)
        machine.emit(Cleared((), machine.site(), None, known=False))
    callee = owner if owner is not None and is_method_of_tensors(unknown.name) else unknown
    made = machine.unknown(f"call of {unknown.name or 'unknown'}", None, (callee, *arguments.all()), data=data)
    if isinstance(made, Unknown):
        made.origin = machine.site()
        kind = _kind_of_call(machine, unknown, arguments)
        made.is_data = made.is_data and kind not in OF_TENSORS
        made.kind = Kind.PLAIN if made.is_data and kind is Kind.ANYTHING else kind
        made.provenance = _provenance_of_call(unknown, kind, made)
        if made.kind is Kind.LIVE and role_of(unknown) == "model":
            weights.note_call(machine, unknown, made)
    return made


def _kind_of_call(machine: Machine, unknown: Unknown, arguments: Arguments) -> Kind:
    if unknown.owner is not None and unknown.owner.kind is Kind.PLAIN and find_op(f"torch.Tensor.{unknown.name}"):
        return Kind.ANYTHING if _has_graph(machine, arguments) else Kind.PLAIN
    match role_of(unknown):
        case "model" if not arguments.all() and not arguments.open:
            return Kind.ANYTHING  # Whoever calls it without a thing may as well make it: `self.net = self.net()`.
        case "model" if frozen.is_frozen(machine, unknown) and not _has_graph(machine, arguments):
            return Kind.ANYTHING
        case "model":
            return Kind.LIVE if machine.autograd.grad_enabled else Kind.CUT
        case "loss":
            sources = graph_sources(machine, tuple(arguments.all()))
            if not sources:
                return Kind.ANYTHING
            if not any(tensor.requires_grad for tensor in sources):
                own = unknown.owner is not None  # `estimator.loss(x, y)` may have parameters of its own.
                return Kind.ANYTHING if own or any(map(_is_open, arguments.all())) else Kind.PLAIN
            return Kind.LIVE if machine.autograd.grad_enabled else Kind.CUT
        case _:
            return Kind.ANYTHING


def _provenance_of_call(callee: Unknown, kind: Kind, made: Unknown) -> Provenance:
    """How surely the result of an unknown call is of its kind."""
    owner = callee.owner
    match kind:
        case Kind.CUT:
            return conditions.GRADIENTS_OFF.of(conditions.callee(made))
        case Kind.PLAIN if owner is not None and owner.kind is Kind.PLAIN and not role_of(callee):
            return owner.provenance
        case Kind.PLAIN:
            return conditions.OWN_PARAMETERS.of(conditions.callee(made))
        case Kind.LIVE:
            return conditions.RESULT.of(conditions.callee(made))
        case _:
            return OBSERVED


def _has_graph(machine: Machine, arguments: Arguments) -> bool:
    return any(tensor.requires_grad for tensor in graph_sources(machine, tuple(arguments.all())))


def _is_open(value: Value) -> bool:
    """Whether a value may have a graph of which nothing is seen: what made it may have parameters of its own."""
    if isinstance(value, (Instance, Function, BoundMethod)):
        return True  # A module that is handed to its loss.
    return isinstance(value, Unknown) and value.kind not in (Kind.PLAIN, Kind.CUT)
