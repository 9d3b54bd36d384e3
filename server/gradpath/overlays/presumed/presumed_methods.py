"""The presumed effects of methods of unknown receivers: `loss.backward()`, `optimizer.step()`, `scaler.scale(loss)`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from gradpath.autograd.provenance import Presumption
from gradpath.interpreter.events import Cleared, ReadOut, Scaled, Site, Stepped, iterations_between
from gradpath.interpreter.kinds import COMPUTED_WITH, OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.operators import get_item
from gradpath.interpreter.origins import Call, Library, Made, Member, Undefined
from gradpath.interpreter.ownership import Overwritten
from gradpath.interpreter.values import (
    UNDEFINED,
    Arguments,
    BoundMethod,
    Class,
    Function,
    Instance,
    Object,
    Unknown,
    Value,
)
from gradpath.overlays.frameworks import engines
from gradpath.overlays.presumed import (
    absences,
    branches,
    carriers,
    conditions,
    frozen,
    held_weights,
    model_parts,
    unseen_mappings,
    weights,
)
from gradpath.overlays.presumed.clearing import is_engine
from gradpath.overlays.presumed.presumed_tensors import (
    is_computed,
    is_made_leaf,
    is_of_tensors,
    is_required,
    presume_tensor,
    release,
    require,
)
from gradpath.overlays.presumed.roles import is_of_its_own, is_scaler, is_schedule, role_of
from gradpath.overlays.torch import module_hooks, scaling, state_dicts
from gradpath.overlays.torch.gradients_on import has_gradients_on
from gradpath.overlays.torch.nn import has_optimizer, note_unseen
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue, wrap
from gradpath.overlays.torch.torch import make_parameter
from gradpath.source.index import methods_called
from gradpath.source.nodes import nodes

CALLED = "called by the program"
"""With the number of an unknown, the key under which a path remembers that it was called."""

Method = Callable[[Machine, Unknown, Arguments], Value]


def _backward(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`loss.backward()`; on an engine it takes the loss: `accelerator.backward(loss)`."""
    if receiver.is_data and not is_engine(receiver):
        return None
    is_none = _names_library(receiver) or _is_no_loss(machine, receiver, arguments) or _has_result(machine)
    if is_none and not is_engine(receiver):
        return NotImplemented
    loss = arguments.get(0, "loss")
    if not is_engine(receiver) and not _is_handed_loss(receiver, loss):
        loss = UNDEFINED
    if isinstance(loss, (TensorValue, Unknown)):
        return _by_engine(machine, receiver, loss, Arguments([], _engine_keywords(arguments)))
    if (loss is not UNDEFINED and loss is not None) or _is_of_class(machine, receiver):
        return None
    if isinstance(receiver.origin, Undefined) and _was_spent_before(machine, receiver):  # Nothing carries its value.
        receiver.tensor = None
    carriers.prove(machine, receiver)
    tensor = presume_tensor(machine, receiver).tensor
    if tensor.node is not None and tensor.node.is_open:
        tensor.node.holds = True  # It went through, or PyTorch would have raised: there is a graph, and losses save.
        tensor.node.saves = conditions.SAVES.of(conditions.name_of(receiver))
    return wrap(tensor).attribute(machine, "backward").call(machine, arguments)  # type: ignore[attr-defined]


def _has_result(machine: Machine) -> bool:
    """True if the result of the call is used, as by `gradients = layer.backward(gradients)`: a loss returns None."""
    match machine.node:
        case ast.Call(func=ast.Attribute(attr="backward")):
            body = nodes(machine.body)
            return any(isinstance(each, (ast.Assign, ast.Return)) and each.value is machine.node for each in body)
    return False  # A framework that calls it on what the program returns.


def _by_engine(machine: Machine, engine: Unknown, loss: TensorValue | Unknown, arguments: Arguments) -> Value:
    """The presumed effect of an engine on the loss that it gets: a call of its `backward()`."""

    def run() -> Value:
        if isinstance(loss, Unknown):
            return _backward(machine, loss, arguments)
        return machine.call(machine.attribute(loss, "backward"), arguments)

    name = conditions.name_of(engine)
    method = f"{name}.backward" if is_engine(engine) and not is_scaler(name) else name
    return _presuming(machine, conditions.ENGINE.of(method), run)


def train_by_scaler(machine: Machine, scaler: Unknown, arguments: Arguments) -> bool:
    """`loss_scaler(loss, optimizer, parameters=..., update_grad=...)`, as timm has it: a backward, and then the step.

    It clears nothing. False for a call of anything else.
    """
    loss, optimizer = arguments.get(0, "loss"), arguments.get(1, "optimizer")
    if not is_scaler(scaler.name or scaler.label) or not isinstance(loss, (TensorValue, Unknown)):
        return False
    if not isinstance(optimizer, Instance) and role_of(optimizer) != "optimizer":
        return False
    _by_engine(machine, scaler, loss, Arguments())
    due = next((name for name in arguments.keywords if "update" in name), "")
    flags = {each.arg: each.value for each in getattr(machine.node, "keywords", ())}
    if machine.decide(arguments.keywords.get(due, True), flags.get(due)):
        machine.call(machine.attribute(optimizer, "step"), Arguments())
    else:
        machine.trace.survived.add(machine.node)  # This path comes to the call, and not to the step in it.
    return True


def _presuming(machine: Machine, condition: Presumption, run: Callable[[], Value]) -> Value:
    """What `run` gives, whose backwards run only if the condition holds."""
    before = machine.autograd.presuming
    machine.autograd.presuming = condition
    try:
        return run()
    finally:
        machine.autograd.presuming = before


def _is_handed_loss(receiver: Unknown, given: Value) -> bool:
    """True if `receiver.backward(given)` is a method of an engine, which takes the loss: a tensor's takes a gradient.

    A model is not a loss, and a value with a graph is not a gradient that is passed in. A leaf may be one.
    """
    if role_of(receiver) == "model":
        return isinstance(given, (TensorValue, Unknown))
    has_graph = isinstance(given, Unknown) and given.kind is Kind.LIVE
    has_graph = has_graph or (isinstance(given, TensorValue) and given.tensor.node is not None)
    return receiver.tensor is None and has_graph


def _is_no_loss(machine: Machine, receiver: Unknown, arguments: Arguments) -> bool:
    """True if its `backward` is a method of its own: no tensor can be called, or takes arguments of other names."""
    if role_of(receiver) == "model":
        return False
    return (CALLED, receiver.number) in machine.remembered or not arguments.keywords.keys() <= _OF_BACKWARD


_OF_BACKWARD = engines.OF_BACKWARD | {"loss", "retain_variables"}


def _was_spent_before(machine: Machine, unknown: Unknown) -> bool:
    """True if a backward of an earlier iteration ran through the tensor of an unknown."""
    node = unknown.tensor.tensor.node if isinstance(unknown.tensor, TensorValue) else None
    freed = None if node is None or node.freed_by is None else node.freed_by.site
    return isinstance(freed, Site) and iterations_between(freed.loops, machine.loops()) is not None


def _names_library(unknown: Unknown) -> bool:
    """True if it is a library or a part of one: not a loss, whatever its `backward` does."""
    while unknown.owner is not None:
        unknown = unknown.owner
    return isinstance(unknown.origin, (Library, Member))


def _is_of_class(machine: Machine, receiver: Unknown) -> bool:
    """True if an unknown is an object with a `backward` of its own, or may be: a class of the program has one."""
    if receiver.is_object and receiver.kind not in OF_TENSORS:
        return True
    if isinstance(receiver.tensor, TensorValue):  # What was computed with is a tensor.
        return False
    classes = (value for value in machine.globals.variables.values() if isinstance(value, Class))
    return any(isinstance(value.members.get("backward"), Function) for value in classes)


def _engine_keywords(arguments: Arguments) -> dict[str, Value]:
    kept = ("retain_graph", "create_graph", "inputs")
    return {name: value for name, value in arguments.keywords.items() if name in kept}


def _number(how: str) -> Method:
    def method(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
        return TensorNumber(ReadOut(presume_tensor(machine, receiver).tensor, how, machine.site()))

    return method


def _tolist(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    if receiver.kind in (Kind.LIVE, Kind.PART, Kind.PARAMETER):
        return machine.call(presume_tensor(machine, receiver).attribute(machine, "tolist"), arguments)
    return NotImplemented  # Arrays have one, too.


def _detached(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    if receiver.kind in (Kind.LIVE, Kind.PART, Kind.PARAMETER):
        return machine.call(presume_tensor(machine, receiver).attribute(machine, "detach"), arguments)
    if receiver.is_object:  # It detaches what it holds.
        branches.note_detached(machine, receiver)
    made = machine.unknown("detached", None, (receiver,), made=Made.DETACHED)
    if isinstance(made, Unknown):
        made.kind = Kind.PLAIN
    return made


def _new(name: str) -> Method:
    """`x.new_zeros(...)`: a tensor of its own, whatever `x` is; only tensors have such methods."""

    def method(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
        return machine.call(wrap(machine.autograd.tensor(dtype=None)).attribute(machine, name), arguments)

    return method


def _load_state_dict(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    if role_of(receiver) != "optimizer":  # An optimizer that loads its own state gives it the type of its parameters.
        own = tuple(weights.of(machine, receiver))
        other = state_dicts.note_loaded(machine, receiver, arguments, own)
        for tensor in own:
            machine.autograd.bump(tensor, "load_state_dict")
        if other is not None:
            whole = weights.weights_of(machine, receiver)
            machine.emit(Overwritten(whole, weights.weights_of(machine, other), machine.site()))
    return NotImplemented


def _itself(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    return receiver


def _moved(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    if isinstance(receiver.origin, Call) and not receiver.is_data:
        note_unseen(machine, receiver, partial(weights.weights_of, machine, receiver))
    return receiver


def _train(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    weights.note_mode(machine, receiver, training=arguments.get(0, "mode", True) is True)
    return receiver


def _eval(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    weights.note_mode(machine, receiver, training=False)
    return receiver


def _step(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`optimizer.step(closure)`, and `scaler.step(optimizer)`; one that is given a loss is the program's own."""
    if role_of(receiver) == "optimizer":
        closure = arguments.get(0, "closure", None)
        if isinstance(closure, str):
            return _of_several(machine, receiver, closure, "step")
        if isinstance(closure, Object) and (closure.refuses_calls or is_of_tensors(closure)):
            return NotImplemented
        if isinstance(closure, Object) and not isinstance(closure, Unknown):
            with machine.autograd.mode(grad=True):  # As all optimizers do.
                machine.call(closure, Arguments())
                if _is_for_several_calls(closure):
                    condition = conditions.CLOSURE.of(conditions.name_of(receiver))
                    _presuming(machine, condition, lambda: machine.call(closure, Arguments()))
        owned = held_weights.owned(machine, receiver)
        updated = weights.write(machine, owned)
        seen = held_weights.of_seen(machine, receiver)
        held_weights.note_left_out(machine, (*owned, *seen))
        updated += weights.write(machine, seen, receiver)
        updated += held_weights.shared_out(machine, receiver)
        unseen = (*held_weights.meant_for(machine, receiver), *seen)
        meant = tuple(weights.meant_to_learn(machine))
        machine.emit(Stepped(receiver, tuple(updated), machine.site(), unseen=unseen, meant=meant))
        return None
    optimizer = arguments.get(0, "optimizer", None)
    if is_engine(receiver) and isinstance(optimizer, Object):
        _take(machine, receiver, optimizer, scaling.Turn.STEPPED)
        return machine.call(machine.attribute(optimizer, "step"), Arguments(arguments.positional[1:]))
    if _is_deepspeed(receiver):
        updated = weights.write(machine, weights.of(machine, receiver))
        machine.emit(Stepped(receiver, tuple(updated), machine.site()))
        return _zero_grad(machine, receiver, arguments)
    if not role_of(receiver) and is_schedule(receiver.name or receiver.label) and optimizer is None:
        return None  # Nothing that it holds is on a graph.
    return NotImplemented


def _is_for_several_calls(closure: Object) -> bool:
    """True if a closure clears the gradients of its last call itself."""
    return isinstance(closure, Function) and any(name == "zero_grad" for _, name, _ in methods_called(closure.node))


def _is_deepspeed(value: Unknown) -> bool:
    """True if a name suggests an engine like DeepSpeed's, whose `step()` clears the gradients too."""
    return (value.name or value.label).lower().endswith("engine")


def _prepare(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`accelerator.prepare(model, optimizer)`: what was given."""
    values = arguments.all()
    if not is_engine(receiver) or not values:
        return NotImplemented
    return values[0] if len(values) == 1 else tuple(values)


def _zero_grad(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    key = arguments.get(0, "set_to_none", True)
    if isinstance(key, str) and role_of(receiver) == "optimizer":
        return _of_several(machine, receiver, key, "zero_grad")
    cleared, to_none = held_weights.cleared_by(machine, receiver), key
    weights.clear(machine, cleared if to_none is not False else ())
    known = cleared is not None and is_of_its_own(receiver)
    steps = role_of(receiver) == "optimizer"
    spared = () if known else absences.with_gradients_of_their_own(machine)
    kept = to_none is not True
    machine.emit(Cleared(tuple(cleared or ()), machine.site(), receiver, known, steps, kept, spared))
    return None


def _of_several(machine: Machine, holder: Unknown, key: str, method: str) -> Value:
    """`optimizers.step("actor")` of an object that holds several: what `optimizers["actor"].step()` does."""
    return machine.call(machine.attribute(get_item(machine, holder, key), method), Arguments())


def _scale(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`scaler.scale(loss)`: the loss times a number."""
    loss = arguments.get(0, "outputs", None)
    if isinstance(loss, Unknown) and (loss.kind is not Kind.ANYTHING or isinstance(loss.tensor, TensorValue)):
        loss = presume_tensor(machine, loss)
    if not is_engine(receiver) or not isinstance(loss, TensorValue):
        return NotImplemented
    made = loss.binary(machine, "mul", 65536.0, False)
    if isinstance(made, TensorValue):
        machine.emit(Scaled(made.tensor, machine.site()))
        machine.remembered[_SCALES, receiver.number] = True
    return made


def _unscale(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`scaler.unscale_(optimizer)`: the gradients divided by that number."""
    machine.emit(Scaled(None, machine.site()))
    if (_SCALES, receiver.number) not in machine.remembered:
        return NotImplemented
    _take(machine, receiver, arguments.get(0, "optimizer", None), scaling.Turn.UNSCALED)
    return None


_SCALES = "has scaled a loss"


def _take(machine: Machine, receiver: Unknown, optimizer: Value, turn: scaling.Turn) -> None:
    """A turn of what has scaled a loss, and so is presumed to be a scaler."""
    if (_SCALES, receiver.number) in machine.remembered:
        scaling.take(machine, receiver, optimizer, turn, conditions.SCALER.of(conditions.name_of(receiver)))


def _update(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    scaling.update(machine, receiver)
    return None if (_SCALES, receiver.number) in machine.remembered else NotImplemented


def _requires_grad(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    frozen.flag(machine, receiver, arguments.get(0, "requires_grad", True), looked_up=1)
    if receiver.kind is Kind.ANYTHING and not isinstance(receiver.tensor, TensorValue) and not is_computed(receiver):
        if role_of(receiver) == "model":
            return receiver
        if arguments.get(0, "requires_grad", True) is not True:
            release(machine, receiver)
            return NotImplemented
        require(machine, receiver, refuses=False)  # It may be a module as well, which never is used as a tensor.
        return receiver
    machine.call(presume_tensor(machine, receiver).attribute(machine, "requires_grad_"), arguments)
    if receiver.kind is Kind.PLAIN:
        receiver.kind = Kind.ANYTHING
    return receiver


def _detach_in_place(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`param.detach_()` freezes what it is a parameter of; for the rest it is a method of tensors like others."""
    if receiver.kind is Kind.PARAMETER:
        frozen.flag(machine, receiver, False, looked_up=1)
    branches.note_detached(machine, receiver)
    if is_required(machine, receiver) or is_made_leaf(receiver):
        return machine.call(presume_tensor(machine, receiver).attribute(machine, "detach_"), arguments)
    return NotImplemented


def _module_hook(machine: Machine, receiver: Unknown, arguments: Arguments, *, backward: bool = False) -> Value:
    """`model.register_forward_hook(hook)`: a function of the program can be followed, and an object that is called."""
    hook = arguments.get(0, "hook", None)
    models = list(model_parts.models_around(receiver))
    is_called = isinstance(hook, Instance) and isinstance(hook.cls.find("__call__"), Function)
    if not (is_called or isinstance(hook, (Function, BoundMethod))) or arguments.keywords or not models:
        return NotImplemented
    return module_hooks.register_unseen(machine, receiver, models, hook, presume_tensor if backward else None)


def _resize(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`model.resize_token_embeddings(count)` of Hugging Face: another matrix takes the place of that of the tokens."""
    if has_optimizer(machine) and arguments.get(0, "new_num_tokens", None) is not None:
        made = make_parameter(machine, Arguments([machine.unknown("resized embeddings")]))
        weights.note_put_in(machine, receiver, made, None)
    return NotImplemented


def _apply(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`model.apply(freeze)`: a function that does the same to all modules does it to the whole model."""
    function = arguments.get(0, "fn", None)
    if not isinstance(function, Function) or role_of(receiver) != "model":
        return NotImplemented
    if any(isinstance(each, (ast.If, ast.IfExp, ast.Match)) for each in nodes(function.node)):
        return NotImplemented
    machine.call(function, Arguments([receiver]))
    return receiver


def _numpy(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`out.numpy()` of what was computed with a graph; a model of another library gives arrays so as well."""
    if receiver.kind not in COMPUTED_WITH or not has_gradients_on(machine):
        return NotImplemented
    return machine.call(presume_tensor(machine, receiver).attribute(machine, "numpy"), arguments)


def _hook(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`z.register_hook(hook)`: only tensors have such hooks, which run as soon as a gradient arrives."""
    if receiver.kind is Kind.PLAIN or receiver.is_data:
        return NotImplemented
    return machine.call(presume_tensor(machine, receiver).attribute(machine, "register_hook"), arguments)


METHODS: dict[str, Method] = {
    **unseen_mappings.METHODS,
    "backward": _backward,
    "item": _number("item"),
    "numpy": _numpy,
    "tolist": _tolist,
    "detach": _detached,
    "detach_": _detach_in_place,
    "state_dict": state_dicts.presumed_state_dict,
    "load_state_dict": _load_state_dict,
    "to": _moved,
    "cuda": _moved,
    "cpu": _itself,
    "train": _train,
    "eval": _eval,
    "float": _itself,
    "scale": _scale,
    "unscale_": _unscale,
    "update": _update,
    "step": _step,
    "zero_grad": _zero_grad,
    "requires_grad_": _requires_grad,
    **{name: _new(name) for name in ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")},
    "prepare": _prepare,
    "apply": _apply,
    "register_forward_hook": _module_hook,
    "register_full_backward_hook": partial(_module_hook, backward=True),
    "register_hook": _hook,
    "resize_token_embeddings": _resize,
    "unwrap_model": _prepare,
}
