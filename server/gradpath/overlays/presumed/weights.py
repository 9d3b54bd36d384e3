"""The weights of unknown models, which their calls save and the steps of their optimizers write.

There is one tensor for a model's result, and one for each part of it that is used: what is presumed, and why, is in
`presumptions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.tensor import UNSEEN, Node, Saved, Storage, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Flagged
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Call, Copy, Parameter
from gradpath.interpreter.ownership import Attached
from gradpath.interpreter.values import Instance, Unknown, Value
from gradpath.overlays.presumed import conditions, records, trained_parts
from gradpath.overlays.presumed.model_parts import line, models_of_parameter
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.presumed.successors import predecessor
from gradpath.overlays.presumed.trained_parts import Trained
from gradpath.overlays.torch.nn import ModuleInstance, has_optimizer, note_unseen, tensors_of
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.support.fast_dataclasses import dataclass, field, replace

Part = tuple[object, ...]
"""The indices and attributes that lead from a model's result to a part of it."""


@dataclass(slots=True)
class _Known:
    """All weights of a path: by the model's number and the part of its result that they are for.

    `blind` are those of models that were called only while gradients were off, by the model's number. `put_in` are
    the parameters of modules that the program made parts of an unknown model: `model.head = nn.Linear(8, 2)`. `frozen`
    are those that it has frozen by name, and `left_out` those among them that an optimizer left out, each with what it
    spares. `memory` is that of all weights of a model and of its parts, by the model's number. `trained` has those
    of the models that the program has put into training mode, or whose gradients it has clipped, `alone` those that it
    has called. `saved` is what calls of whole models saved of the weights of a part, `replaced`
    has the results of calls with others, and the weights that took no part in them.
    """

    tensors: dict[tuple[int, Part], Tensor] = field(default_factory=dict)
    models: dict[int, Unknown] = field(default_factory=dict)
    blind: dict[int, Tensor] = field(default_factory=dict)
    put_in: list[tuple[Unknown, list[Tensor]]] = field(default_factory=list)
    frozen: set[Tensor] = field(default_factory=set)
    left_out: list[tuple[frozenset[Tensor], set[Tensor]]] = field(default_factory=list)
    memory: dict[int, list[Storage]] = field(default_factory=dict)
    trained: set[int] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    saved: list[tuple[int, Node, Saved]] = field(default_factory=list)
    replaced: list[tuple[Unknown, Tensor]] = field(default_factory=list)

    def all(self) -> list[tuple[Unknown, Tensor]]:
        return [(self.models[number], tensor) for (number, _), tensor in self.tensors.items()]


@dataclass(frozen=True, slots=True)
class _Called:
    """A call of a model, or a part of its result, with the versions that weights had then.

    `given` are the tensors with a graph that it was handed, with their versions, and `trained` the parts of the model
    that optimizers have. It was `handed` to what called it.
    """

    model: Unknown
    part: Part
    versions: dict[Part, int]
    given: tuple[tuple[Tensor, int], ...] = ()
    handed: bool = False
    trained: tuple[Trained, ...] = ()


def _known(machine: Machine) -> _Known:
    found = machine.remembered.setdefault("weights", _Known())
    assert isinstance(found, _Known)
    return found


FED = "handed to a model"
"""With the number of an unknown, the key under which a path remembers that a model was called with it."""


def note_call(machine: Machine, model: Unknown, result: Unknown) -> None:
    """A model was called: remember in which state its weights were, or that nothing can reach them by this call."""
    known = _known(machine)
    known.models.setdefault(model.number, model)
    if result.kind is Kind.CUT:
        machine.remembered[("called", result.number)] = _Called(model, (), {})
        return
    _of(machine, model, ())
    versions = _versions(known, model)
    _note_alone(known, model)
    for each in result.sources[1:]:
        if isinstance(each, Unknown):
            machine.remembered[FED, each.number] = True
        records.note(machine, each)
    of_module = isinstance(model.origin, Attribute) and isinstance(model.origin.of, Instance)
    is_object = of_module or isinstance(model.root, Parameter)  # What a library gives may be a mere function.
    given = [each.tensor for each in result.sources[1:] if is_object and isinstance(each, TensorValue)]
    handed = tuple((each, each.storage.version) for each in given if each.requires_grad)
    held = [(known.models[number], tensor) for (number, part), tensor in known.tensors.items() if not part]
    trained = trained_parts.of_call(model, result, held, known.alone)
    machine.remembered[("called", result.number)] = _Called(model, (), versions, handed, trained=trained)
    _refuse_inference_tensors(machine, model, result)


def has_computed(machine: Machine, model: Unknown) -> bool:
    """True if a model, or a part of it, was called."""
    calls = (each for each in machine.remembered.values() if isinstance(each, _Called))
    return any(is_in(each.model, model) for each in calls)


def _note_alone(known: _Known, part: Unknown) -> None:
    """What is called by itself may be no part of what the model around it computes: a discriminator."""
    known.alone.add(part.number)
    for number, node, saved in known.saved:
        if number == part.number and saved in node.saved:
            node.saved.remove(saved)


def forget_call(machine: Machine, model: Unknown, result: Unknown) -> None:
    """What a model gave was computed with other parameters than its own."""
    machine.remembered.pop(("called", result.number), None)
    _known(machine).replaced.append((result, weights_of(machine, model)))


def is_replaced(machine: Machine, weight: Tensor, outputs: Sequence[Tensor]) -> bool:
    """True if all outputs come from calls of a model with other parameters than its own, of which `weight` is one."""
    calls = [result.tensor for result, own in _known(machine).replaced if own in (weight, weight.member_of)]
    made = {id(each.tensor) for each in calls if isinstance(each, TensorValue)}
    return bool(made) and all(any(id(each) in made for each in output.lineage()) for output in outputs)


def is_handed(machine: Machine, result: Unknown) -> bool:
    """True if what unseen code gives is presumed to be computed with the weights of a model that it was handed."""
    called = machine.remembered.get(("called", result.number))
    return isinstance(called, _Called) and called.handed


def note_handed(machine: Machine, model: Unknown, result: Unknown) -> None:
    """What computes a loss was handed a model: the result depends on its weights, as they are now."""
    known = _known(machine)
    known.models.setdefault(model.number, model)
    _of(machine, model, ())
    machine.remembered[("called", result.number)] = _Called(model, (), _versions(known, model), handed=True)


def _versions(known: _Known, model: Unknown) -> dict[Part, int]:
    return {part: tensor.storage.version for (number, part), tensor in known.tensors.items() if number == model.number}


def _refuse_inference_tensors(machine: Machine, model: Unknown, result: Unknown) -> None:
    """Raise where a trained network is handed a tensor of `inference_mode`, which its first layer saves."""
    if model.role != "model" or any(not each.flag for each in of(machine, model)):
        return
    for each in result.sources[1:]:
        given = each.tensor if isinstance(each, Unknown) and each.kind is Kind.CUT else each
        if isinstance(given, TensorValue) and given.tensor.inference and not machine.autograd.inference:
            error = AutogradError(FaultKind.INFERENCE_SAVED, tensor=given.tensor)
            error.presumed = (conditions.GIVEN.of(conditions.name_of(model)),)
            raise error


def note_part(machine: Machine, whole: Unknown, part: Unknown, index: Value) -> None:
    """A part of a model's result has weights of its own, unless it is picked by an unknown index, as by a mask."""
    called = machine.remembered.get(("called", whole.number))
    by_name = isinstance(index, (int, str))
    if isinstance(called, _Called) and (by_name or whole.kind is not Kind.CUT):
        own = (*called.part, index) if by_name else called.part
        machine.remembered.setdefault(("called", part.number), replace(called, part=own))


def _of(machine: Machine, model: Unknown, part: Part) -> Tensor:
    tensors = _known(machine).tensors
    found = tensors.get((model.number, part))
    if found is None:
        before = None if part else _known(machine).blind.pop(model.number, None)
        found = tensors[model.number, part] = before or _new(machine, model)
        found.member_of = tensors.get((model.number, ())) if part else None
    return found


def _new(machine: Machine, model: Unknown) -> Tensor:
    """Weights that require grad, unless the model is a part of one that the program has frozen."""
    known = _known(machine)
    made = machine.autograd.tensor(requires_grad=_whole(known, model) not in known.frozen, dtype=None)
    known.frozen.update(() if made.requires_grad else (made,))
    for number in line(model):
        known.memory.setdefault(number, []).append(made.storage)
    made.storage.parts = known.memory[model.number]
    made.is_parameter = True
    made.operation = UNSEEN
    made.label = model.name or conditions.name_of(model)
    made.origin = model.site
    match model.origin:
        case Copy(of=Unknown() as original):
            made.copied = weights_of(machine, original)
        case _ if (before := predecessor(machine, model)) is not None:
            made.succeeds = weights_of(machine, before) if isinstance(before, Unknown) else before
    return made


def flag(machine: Machine, model: Unknown, value: bool) -> None:
    """Freeze or unfreeze a model: its weights become distinct from those of the model around it."""
    known = _known(machine)
    known.models.setdefault(model.number, model)
    whole = None if (model.number, ()) in known.tensors else _whole(known, model)
    own = _of(machine, model, ())
    for tensor in of(machine, model):
        machine.autograd.set_requires_grad(tensor, value)
        known.frozen.discard(tensor)
        if not value:
            known.frozen.add(tensor)
    if value and whole in known.frozen:
        machine.emit(Flagged(own, value, machine.site(), whole, looked_up=not isinstance(model.origin, Attribute)))
        for frozen, spared in known.left_out:
            spared.update((own,) if whole in frozen else ())


def _whole(known: _Known, model: Unknown) -> Tensor | None:
    """The weights of the innermost known model that a model is a part of."""
    wholes = (known.tensors.get((number, ())) or known.blind.get(number) for number in line(model)[1:])
    return next((each for each in wholes if each is not None), None)


def leave_out(machine: Machine, parameter: Value, spared: set[Tensor]) -> None:
    """An optimizer takes those parameters that require grad: it spares what is frozen, and parts of that for good."""
    known = _known(machine)
    spared.update(frozen_of(machine, parameter))
    owners = {model.number for model in models_of_parameter(parameter)}
    frozen = (tensor for model, tensor in known.all() if tensor in known.frozen and not owners.isdisjoint(line(model)))
    known.left_out.append((frozenset(frozen), spared))


def is_filtered(machine: Machine, parameter: Value) -> bool:
    """True if the program has asked a parameter whether it requires grad: it takes those that do."""
    return isinstance(parameter, Unknown) and ("attr", parameter.number, "requires_grad") in machine.unknowns


def frozen_of(machine: Machine, parameter: Value) -> list[Tensor]:
    """The weights that are frozen of the models that a parameter is of."""
    return [each for model in models_of_parameter(parameter) for each in of(machine, model) if not each.flag]


def upstream(machine: Machine, result: Unknown) -> list[Tensor]:
    """The weights that the value of what a model gave depends on, though it was called while gradients were off."""
    called = machine.remembered.get(("called", result.number))
    if not isinstance(called, _Called):
        return []
    own = weights_of(machine, called.model)
    return [own, *_parts_of(machine, called.model, own)]


def weights_of(machine: Machine, model: Unknown) -> Tensor:
    """The weights of a model, whether it was called or not."""
    known = _known(machine)
    own = known.tensors.get((model.number, ())) or known.blind.get(model.number)
    if own is None:
        known.models.setdefault(model.number, model)
        own = known.blind[model.number] = _new(machine, model)
    return own


def note_module(machine: Machine, called: Unknown, given: Iterable[Value]) -> None:
    """Something is called: a model that a class has made, by the way classes are written, is a module.

    It has weights if it works on what others computed with theirs: what changes data may be made and called like that.
    """
    made = called.origin
    if (
        isinstance(made, Call)
        and made.name[:1].isupper()
        and role_of(called) == "model"
        and _are_learnt(machine, given)
    ):
        note_unseen(machine, called, partial(weights_of, machine, called))


def _are_learnt(machine: Machine, given: Iterable[Value]) -> bool:
    """True if one of some values was computed with weights by another call than the one that is evaluated."""
    values = (each.tensor if isinstance(each, Unknown) else each for each in given)
    todo = [each.tensor.node for each in values if isinstance(each, TensorValue)]
    seen = set(todo)
    while todo:
        node = todo.pop()
        if node is not None and node.accumulates is None:
            if any(edge.accumulates is not None for edge in node.edges) and node.site.node is not machine.node:
                return True
            todo += [edge for edge in node.edges if edge not in seen]
            seen.update(node.edges)
    return False


def parameter(machine: Machine, models: Sequence[Unknown]) -> Tensor:
    """One of the parameters of unseen models: a write into it is one into the weights that their calls saved."""
    made = machine.autograd.tensor(requires_grad=True, dtype=None)
    made.is_parameter = True
    if len(models) == 1:
        made.member_of = weights_of(machine, models[0])
        made.storage.within = _known(machine).memory[models[0].number]
    return made


def computed_with(machine: Machine) -> list[tuple[Unknown, Tensor]]:
    """The weights of all models that have computed something, also of the parts of their results, with their models."""
    return _known(machine).all()


def models(machine: Machine) -> list[Unknown]:
    """All models of which the weights are known so far."""
    return list(_known(machine).models.values())


def stepped(machine: Machine, sources: Sequence[Value]) -> list[Tensor]:
    """The weights of the models whose `parameters()` an optimizer was given, all of them."""
    owners = {model.number for parameter in sources for model in models_of_parameter(parameter)}
    return [tensor for model, tensor in all_of(machine) if not owners.isdisjoint(line(model))]


def all_of(machine: Machine) -> list[tuple[Unknown, Tensor]]:
    """The weights of all models, also of those that were called only while gradients were off, with all their parts."""
    known = _known(machine)
    held = [(known.models[number], tensor) for (number, part), tensor in known.tensors.items() if not part]
    in_use = {number for model, _ in held for number in line(model)}
    return held + [(known.models[number], tensor) for number, tensor in known.blind.items() if number not in in_use]


def attach(machine: Machine, result: Unknown, node: Node) -> None:
    """Let the node of a model's result save the weights as they were when the model was called."""
    called = machine.remembered.get(("called", result.number))
    if isinstance(called, _Called):
        tensor = _of(machine, called.model, called.part)
        parts = _parts_of(machine, called.model, tensor)
        for output in node.outputs:
            output.maker = (*output.maker, tensor, *parts)
        edges = [edge for each in (tensor, *parts) if (edge := machine.autograd.edge(each)) is not None]
        node.edges = (*node.edges, *edges)
        name = conditions.name_of(called.model) or conditions.callee(result)
        presumed = conditions.WEIGHTS.of(name)
        version = called.versions.get(called.part, 0)
        node.saved.append(Saved(tensor.storage, version, tensor, "weights", presumed=presumed))
        for each in trained_parts.of_result(called.part, called.trained):
            saved = Saved(each.weights.storage, each.version, each.weights, "weights", presumed=presumed)
            node.saved.append(saved)
            _known(machine).saved.append((each.part.number, node, saved))
        presumed = conditions.GIVEN.of(name)
        node.saved += [Saved(each.storage, then, each, "given", presumed=presumed) for each, then in called.given]


def attach_trunk(machine: Machine, result: Unknown, node: Node) -> None:
    """The same for what the parts of a model's result have in common, if they share a graph."""
    called = machine.remembered.get(("called", result.number))
    if isinstance(called, _Called) and not node.saved:
        tensor = _of(machine, called.model, _TRUNK)
        edge = machine.autograd.edge(tensor)
        node.edges = node.edges if edge is None else (*node.edges, edge)
        presumed = conditions.PARTS.of(conditions.name_of(called.model) or conditions.callee(result))
        version = called.versions.get(_TRUNK, 0)
        node.saved.append(Saved(tensor.storage, version, tensor, "weights", presumed=presumed))


HANDED = "models of which an optimizer was made"
_TRUNK: Part = ("trunk", None)


def _parts_of(machine: Machine, model: Unknown, own: Tensor) -> list[Tensor]:
    """The parameters of the parts of a model that are distinct from the rest; a call of the model uses each."""
    known = _known(machine)
    trained = [
        tensor for (number, part), tensor in known.tensors.items() if not part and is_in(known.models[number], model)
    ]
    put_in = [tensor for holder, tensors in known.put_in if is_in(holder, model) for tensor in tensors]
    return [tensor for tensor in dict.fromkeys([*trained, *put_in]) if tensor is not own]


def is_in(part: Unknown, model: Unknown) -> bool:
    """True if something is a model or a part of it."""
    return model.number in line(part)


def note_mode(machine: Machine, model: Unknown, *, training: bool) -> None:
    """The program has called `train()` or `eval()` of a model."""
    (_known(machine).trained.add if training else _known(machine).trained.discard)(model.number)


def note_clipped(machine: Machine, parameters: Sequence[Value]) -> list[Tensor]:
    """The program has clipped gradients of unseen models: it trains these. Give their weights."""
    models = [model for each in parameters for model in models_of_parameter(each)]
    _known(machine).trained.update(model.number for model in models)
    return list(dict.fromkeys(tensor for model in models for tensor in of(machine, model)))


def meant_to_learn(machine: Machine) -> list[Tensor]:
    """The weights of the models that the program is seen to train: in training mode by name, or clipped."""
    known = _known(machine)
    return [tensor for model, tensor in known.all() if model.number in known.trained]


def named_in(machine: Machine, inputs: Value) -> list[Tensor]:
    """The weights of the models whose parameters `backward(inputs=...)` names."""
    items = inputs.items if isinstance(inputs, List) else inputs if isinstance(inputs, tuple) else (inputs,)
    models = [model for each in items for model in models_of_parameter(each)]
    return list(dict.fromkeys(tensor for model in models for tensor in of(machine, model)))


def note_trained(machine: Machine, parameters: Value) -> None:
    """Make an optimizer for unknown parameters: those of a part of a model become distinct from the rest."""
    for model in models_of_parameter(parameters):
        if model.owner is not None:
            model.role = model.role or "model"
            _known(machine).models.setdefault(model.number, model)
            _of(machine, model, ())


def note_put_in(machine: Machine, holder: Unknown, value: Value, before: Unknown | None) -> None:
    """Something was made a part of something unknown, where `before` was until now.

    A module that is seen, or a parameter, has weights.
    """
    match value:
        case ModuleInstance():
            tensors = list(tensors_of(value.parameters()))
        case TensorValue() if value.tensor.is_parameter:
            tensors = [value.tensor]
        case _:
            return
    _known(machine).put_in.append((holder, tensors))
    if has_optimizer(machine) and tensors:
        around: list[object] = [before, holder]
        while holder.owner is not None:
            holder = holder.owner
            around.append(holder)
        machine.emit(Attached(tuple(tensors), (), tuple(around), machine.site()))


def count_put_in(machine: Machine) -> int:
    """The number of modules that were made parts of unknown models so far."""
    return len(_known(machine).put_in)


def made_from(machine: Machine, sources: Sequence[Value], before: int) -> list[Tensor]:
    """The weights of the models whose `parameters()`, or some of them, an optimizer was given.

    Of the modules that were put into them, it has those `before` which it was made.
    """
    parameters = [source for source in sources if isinstance(source, Unknown)]
    owners = {model.number for parameter in parameters for model in models_of_parameter(parameter)}
    known = _known(machine)
    held = [*known.all(), *_one_by_one(known.put_in[:before])]
    return [tensor for model, tensor in held if not owners.isdisjoint(line(model))]


def clear(machine: Machine, tensors: Sequence[Tensor] | None = None) -> None:
    """The gradients of `tensors`, or of all weights, are gone or may be gone: no later step writes what has none."""
    for tensor in [each for _, each in _known(machine).all()] if tensors is None else tensors:
        tensor.grad = None


def of(machine: Machine, model: Unknown) -> list[Tensor]:
    """The weights of a model and its parts."""
    return [tensor for each, tensor in _held(machine) if is_in(each, model)]


def _held(machine: Machine) -> list[tuple[Unknown, Tensor]]:
    """The weights of unknown models, and the parameters of modules that were put in, each with what holds it."""
    known = _known(machine)
    return [*known.all(), *_one_by_one(known.put_in)]


def _one_by_one(put_in: Sequence[tuple[Unknown, list[Tensor]]]) -> list[tuple[Unknown, Tensor]]:
    return [(holder, tensor) for holder, tensors in put_in for tensor in tensors]


def write(machine: Machine, tensors: Sequence[Tensor], optimizer: Unknown | None = None) -> list[Tensor]:
    """Bump the versions of those of `tensors` that have a gradient, for a step, and return them.

    That an `optimizer` has parameters which the program is not seen to give it is presumed.
    """
    presumed = None if optimizer is None else conditions.HELD.of(optimizer.name or optimizer.label)
    updated = [tensor for tensor in dict.fromkeys(tensors) if tensor.grad is not None]
    for tensor in updated:
        machine.autograd.bump(tensor, "step", on=presumed)
    return updated
