"""The tensors of unknown values, created when they are used as tensors, by the table of `presumptions.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from gradpath.autograd.ops import find_op
from gradpath.autograd.provenance import OBSERVED, OPEN, Presumption, Provenance
from gradpath.autograd.sizes import WIDENING
from gradpath.autograd.tensor import PRESUMED_LOSS, Cut, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Flagged, Site
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Attribute, Call, Computed, Item, Made, Parameter, Undefined
from gradpath.interpreter.values import Object, Unknown, Value
from gradpath.overlays.presumed import branches, conditions, frozen, model_parts, weights
from gradpath.overlays.presumed.as_given import as_given
from gradpath.overlays.presumed.dependence import hearsay
from gradpath.overlays.presumed.roles import names_batches, names_memory, names_penalty, role_of
from gradpath.overlays.torch.module_methods import note_drawn
from gradpath.overlays.torch.tensor_value import TensorValue, wrap


def presume_tensor(machine: Machine, unknown: Unknown) -> TensorValue:
    """The tensor of an unknown value, created when it is first used as one."""
    if isinstance(unknown.tensor, TensorValue):
        return unknown.tensor
    gradient = _gradient_of(machine, unknown)
    if gradient is not None:
        unknown.tensor = found = wrap(gradient)
        return found
    unknown.tensor = _BEING_MADE
    made = None
    try:
        made = wrap(_materialised(machine, unknown))
        if unknown.kind not in (Kind.PLAIN, Kind.CUT, Kind.PARAMETER):
            made.tensor.maker += tuple(hearsay(machine, unknown))
    finally:
        unknown.tensor = made
    made.tensor.label, made.tensor.lone = unknown.label, _is_lone(machine, unknown)
    if isinstance(unknown.origin, Undefined):
        made.tensor.label = unknown.label or unknown.origin.name
    if (given := _handed_in(unknown)) is not None:
        machine.remembered[HANDED_IN, made.tensor] = given
    if unknown.kind is not Kind.CUT:
        made.tensor.inference = False  # It may have been there before the block of `inference_mode` that uses it.
    return made


HANDED_IN = "parameter without an argument"
"""With a tensor, the key under which a path remembers of which such parameter it is a part, or made by methods."""

_BEING_MADE = Object()
"""Stands for the tensor of an unknown value while that is made: a container may hold what it was read from."""


def _handed_in(value: Value) -> Unknown | None:
    """The parameter without an argument that a value is, is a part of, or was made of by methods of tensors alone."""
    while isinstance(value, Unknown) and value.kind is Kind.ANYTHING and not value.is_data:
        match value.origin:
            case Parameter():
                return value
            case Item(of=of):
                value = of
            case Call(of=Unknown() as of, name=name) if is_method_of_tensors(name):
                value = of
            case _:
                return None
    return None


def _materialised(machine: Machine, unknown: Unknown) -> Tensor:
    if unknown.kind is Kind.LIVE:
        return _with_graph(machine, unknown)
    if is_required(machine, unknown):
        return _flagged(machine, unknown)
    sources = as_given(machine, unknown, _sources_of(machine, unknown))
    match unknown.kind:
        case Kind.PLAIN:
            made = machine.autograd.tensor(dtype=None)
            made.maker = (*sources, *_data_upstream(machine, unknown))
            made.provenance = unknown.provenance
            made.several = batch_of(machine, unknown)
            if is_loss(unknown):
                made.operation = PRESUMED_LOSS
            how = _way_out(unknown)
            live = next((each for each in sources if each.requires_grad), None) or _parameter_read(machine, unknown)
            if how and live is not None:
                machine.autograd.cut(made, Cut(how, unknown.site, live))
            return made
        case Kind.PARAMETER:
            made = weights.parameter(machine, model_parts.models_of_parameter(unknown))
            made.provenance = unknown.provenance
            _freeze_with_model(machine, unknown, made)
            return made
        case Kind.CUT:
            made = machine.autograd.tensor(dtype=None)
            made.provenance = unknown.provenance
            if is_loss(unknown):
                made.operation = PRESUMED_LOSS
            whole = branches.whole_of(unknown)
            if whole is not None and isinstance(whole.tensor, TensorValue):
                made.inference = whole.tensor.tensor.inference  # What was made within the block, and used after it.
            how = "inference_mode" if made.inference else "no_grad"
            made.maker = (*sources, *weights.upstream(machine, unknown))
            machine.autograd.cut(made, Cut(how, unknown.site, sources[0] if sources else None, "call"))
            return made
        case Kind.ANYTHING if _is_blind(machine, unknown, sources):
            is_cut = any(one.cut is not None for each in sources for one in each.lineage())
            unknown.kind = Kind.CUT if is_cut else Kind.PLAIN
            unknown.provenance = conditions.GRADIENTS_OFF.of(conditions.callee(unknown))
            return _materialised(machine, unknown)
        case other:
            row = other is Kind.PART
            result = branches.whole_of(unknown) or unknown
            name = conditions.callee(result)
            onward = None if row else conditions.OTHER.of(name)
            provenance = conditions.RESULT.of(name) if row else OPEN
            sources = [] if _is_at_points_of_its_own(result, name) else sources
            made = machine.autograd.presumed(sources, provenance=provenance, onward=onward)
            made.origin = unknown.site
            if made.node is not None:
                weights.attach(machine, unknown, made.node)
            return made


def _is_at_points_of_its_own(result: Unknown, name: str) -> bool:
    """True for a gradient penalty that is handed the model: it is computed of leaves that it makes of its samples."""
    return names_penalty(name) and any(role_of(each) == "model" for each in result.sources)


def _flagged(machine: Machine, unknown: Unknown) -> Tensor:
    """The leaf that something is which the program has flagged."""
    made = machine.autograd.tensor(requires_grad=True, dtype=None)
    made.origin, made.several = unknown.site, batch_of(machine, unknown)
    presumed = machine.remembered[_LEAF, unknown.number]
    if isinstance(presumed, Presumption):
        made.flag_either_way(presumed)
    flagged = machine.remembered[_REQUIRED, unknown.number]
    assert isinstance(flagged, Site)
    machine.emit(Flagged(made, value=True, site=flagged))
    return made


def reads_gradient(machine: Machine, unknown: Unknown, name: str) -> bool:
    """True if an attribute of a gradient that a backward has left is asked for, which leaves it as it is."""
    reads = name == "data" or (is_method_of_tensors(name) and not name.endswith("_"))
    return reads and _gradient_of(machine, unknown) is not None


def _gradient_of(machine: Machine, unknown: Unknown) -> Tensor | None:
    """What backwards without `create_graph` have left in the parameters of an unseen model, if that is what is read."""
    match unknown.origin:
        case Attribute(of=Unknown(kind=Kind.PARAMETER) as parameter, name="grad"):
            held = (each for model in model_parts.models_of_parameter(parameter) for each in weights.of(machine, model))
            found = next((each.grad for each in held if each.grad is not None), None)
            return found if found is not None and not found.requires_grad else None
    return None


def note_gradients_off(machine: Machine, unknown: Unknown) -> None:
    """Gradients are off where an unseen call gives a value."""
    machine.remembered[_OFF, unknown.number] = True


_OFF = "given while gradients are off"


def _is_blind(machine: Machine, unknown: Unknown, sources: Sequence[Tensor]) -> bool:
    """True if gradients were off where a value was computed of tensors, and none of these has a graph."""
    off = (_OFF, unknown.number) in machine.remembered
    return off and bool(sources) and not any(each.requires_grad for each in sources)


def drawn_again(machine: Machine, parameter: Unknown) -> Unknown:
    """A parameter of a model that is known already is drawn: it represents all again, as they are now."""
    note_drawn(machine)
    if isinstance(parameter.tensor, TensorValue):
        _freeze_with_model(machine, parameter, parameter.tensor.tensor)
    return parameter


def _freeze_with_model(machine: Machine, parameter: Unknown, tensor: Tensor) -> None:
    """Let a parameter be frozen if its model is, of which some others may be left as they were."""
    models = model_parts.models_of_parameter(parameter)
    if any(frozen.is_frozen(machine, each) or frozen.may_come_frozen(machine, each) for each in models):
        tensor.flag, tensor.provenance = False, OPEN
    elif tensor.is_open:
        tensor.flag, tensor.provenance = True, parameter.provenance


BATCHED = "several samples of a data set that is seen"
"""With the number of an unknown, the key under which a path remembers that it is such a batch; False for one sample."""


def batch_of(machine: Machine, unknown: Unknown) -> Provenance | None:
    """The provenance of a tensor's having several samples, where a loader gives it, or what it is a part of by name.

    Something else by another type, or in another place, has as many.
    """
    parts = 1
    while True:
        match unknown.origin:
            case Call(of=Unknown() as whole, name=name, arguments=given) if _keeps_samples(name, given):
                unknown = whole
            case Item(of=Unknown() as whole, key=(slice(start=None, stop=None), *_)):  # `text[:, 1:]`
                unknown = whole
            case Call(of=Unknown(), name="sample", arguments=(count, *_)):
                many = isinstance(count, int) and count > 1
                return conditions.BATCH.of(conditions.receiver(unknown.site)) if many else conditions.several(count)
            case Call(of=Unknown(origin=Attribute(of=kept)), name="sample", arguments=()):
                name = conditions.name_of(kept)
                return conditions.BATCH.of(name) if names_memory(name) else None
            case Item(of=Unknown() as loader, key=None):
                gives_batches = names_batches(loader.name or loader.label) and loader.kind is not Kind.PLAIN
                return conditions.BATCH.of(conditions.name_of(loader)) if gives_batches else None
            case Computed(made=Made.BATCH):
                return OBSERVED if machine.remembered.get((BATCHED, unknown.number)) else None
            case Item(of=Unknown() as whole, key=int() | str()) | Attribute(of=Unknown() as whole) if parts:
                if unknown.is_data:
                    return None  # `batch.batch_size`
                unknown, parts = whole, 0
            case _:
                return None


def _is_lone(machine: Machine, unknown: Unknown) -> bool:
    """True for a batch of one: a loader's, or unseen data that was made one (`image.unsqueeze(0).to(device)`)."""
    while True:
        match unknown.origin:
            case Call(of=Unknown(), name="unsqueeze", arguments=arguments):
                return arguments == (0,)
            case Call(of=Unknown() as whole) | Item(of=Unknown() as whole, key=int() | str()):
                unknown = whole
            case Computed(made=Made.BATCH):
                return machine.remembered.get((BATCHED, unknown.number)) is False
            case _:
                return False


def _keeps_samples(method: str, arguments: tuple[Value, ...]) -> bool:
    """True if what a method of tensors gives has an entry for each sample, as `labels.view(-1, 1)` has."""
    op = find_op(f"torch.Tensor.{method}") if is_method_of_tensors(method) else None
    word = op.size[0] if op is not None and op.size else ""
    return word in WIDENING or (word == "unsqueeze" and arguments != (0,))


def _way_out(unknown: Unknown) -> str:
    """The operation that took a value without a graph from one that may have one; "" if none did."""
    match unknown.origin:
        case Attribute(name="data"):
            return "data"
        case Computed(made=Made.DETACHED):
            return "detach"
    return ""


def _parameter_read(machine: Machine, unknown: Unknown) -> Tensor | None:
    """The parameter of which a tensor is the `data`: an attribute of an unseen model that has such a thing."""
    match unknown.origin:
        case Attribute(name="data", of=Unknown(origin=Attribute(), kind=Kind.ANYTHING) as part):
            if part.role or not model_parts.is_of_model(part) or frozen.is_frozen(machine, part):
                return None
            part.kind, part.provenance = Kind.PARAMETER, conditions.PARAMETER.of(conditions.name_of(part))
            return presume_tensor(machine, part).tensor
    return None


def is_known_data(unknown: Unknown) -> bool:
    """True if data was used as a tensor already, or was taken from what may have a graph."""
    return isinstance(unknown.tensor, TensorValue) or bool(_way_out(unknown))


def _data_upstream(machine: Machine, unknown: Unknown) -> list[Tensor]:
    """The tensors without a graph that data was made of: what a frozen model gave, and its parameters."""
    frozen_weights = frozen.frozen_whole(machine, unknown.origin.of) if isinstance(unknown.origin, Call) else []
    for each in _operands(unknown):
        if isinstance(each, Unknown) and is_of_frozen(machine, each):
            frozen_weights.append(presume_tensor(machine, each).tensor)
    return frozen_weights


def is_of_frozen(machine: Machine, value: object) -> bool:
    """True if a frozen model has computed something, or it was computed from such."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        each = todo.pop()
        if not isinstance(each, Unknown) or each.kind is not Kind.PLAIN or each.number in seen:
            continue
        if isinstance(each.origin, Call) and frozen.frozen_whole(machine, each.origin.of):
            return True
        seen.add(each.number)
        machine.budget.spend()
        todo += _operands(each)
    return False


def _operands(unknown: Unknown) -> tuple[Value, ...]:
    """What a value was computed from: for the result of a method, also the object that has it."""
    called = unknown.origin.of if isinstance(unknown.origin, Call) else None
    owner = called.owner if isinstance(called, Unknown) else None
    return unknown.sources if owner is None else (owner, *unknown.sources)


def _sources_of(machine: Machine, unknown: Unknown, depth: int = 3) -> list[Tensor]:
    """The same for what one unknown value came from; an item depends on its index as well."""
    key = unknown.origin.key if isinstance(unknown.origin, Item) else None
    found = graph_sources(machine, (*unknown.sources, key) if isinstance(key, Object) else unknown.sources, depth)
    receiver = _hidden_receiver(unknown)
    if found and receiver is not None:
        # The graph may as well be the receiver's, so that a backward proves nothing of the arguments'.
        found += graph_sources(machine, (receiver,)) or [presume_tensor(machine, receiver).tensor]
    return list(dict.fromkeys(found))


def _hidden_receiver(unknown: Unknown) -> Unknown | None:
    """The receiver of the tensor method that returned an unknown value, if it was not used as a tensor yet."""
    if not isinstance(unknown.origin, Call):
        return None
    receiver = unknown.origin.of
    if not isinstance(receiver, Unknown) or receiver.tensor is not None or receiver.kind is Kind.PLAIN:
        return None
    is_method = is_method_of_tensors(unknown.origin.name)
    return receiver if is_method and not role_of(receiver) else None


def _with_graph(machine: Machine, unknown: Unknown) -> Tensor:
    """The tensor of a model's or a loss's result, or of a part of it."""
    whole = branches.whole_of(unknown)
    result = unknown if whole is None else whole
    if not result.sources:  # A caller gives it.
        made = machine.autograd.presumed(
            (), holds=True, provenance=unknown.provenance, saves=conditions.SAVES.of(conditions.name_of(result))
        )
        made.origin = unknown.site
        return made
    given = graph_sources(machine, branches.lively(machine, result.sources, result.sources[0]))
    sources = as_given(machine, result, given)
    model = role_of(result.sources[0]) == "model"
    name = conditions.callee(result)
    onward = (conditions.INPUT if model else conditions.LOSS).of(name)
    if whole is not None or model:
        sources = [branches.trunk(machine, result, sources, onward)]
        if whole is not None and model and sources[0].node is not None:
            weights.attach_trunk(machine, result, sources[0].node)
        onward = (conditions.PARTS if whole is not None else conditions.INPUT).of(name)
    provenance, saves = conditions.RESULT.of(name), conditions.SAVES.of(name)
    made = machine.autograd.presumed(sources, holds=True, provenance=provenance, onward=onward, saves=saves)
    assert made.node is not None
    made.origin = made.node.site = unknown.site if whole is None else result.site
    made.rows = _rows_of(machine, result) if model else None
    weights.attach(machine, unknown, made.node)
    return made


def _rows_of(machine: Machine, result: Unknown) -> Provenance | None:
    """The presumption that a network was given several samples, by the first argument that is a batch of them."""
    for each in result.sources[1:]:
        several = batch_of(machine, each) if isinstance(each, Unknown) else None
        if isinstance(each, TensorValue):
            several = each.tensor.presumed_several or each.tensor.rows
        if several is not None and several is not OBSERVED:
            return several
    return None


def is_unseen(value: Value) -> bool:
    """True if a value may be a tensor with a graph, though it was not taken for one."""
    return isinstance(value, Unknown) and value.tensor is None and value.kind is Kind.ANYTHING and not value.is_data


def graph_sources(machine: Machine, values: tuple[Value, ...], depth: int = 3) -> list[Tensor]:
    """The tensors among what a value came from, through which a graph may run."""
    found: list[Tensor] = []
    for value in values:
        machine.budget.spend()
        match value:
            case TensorValue():
                found.append(value.tensor)
            case Unknown() if value.tensor is _BEING_MADE or role_of(value):
                continue
            case Unknown(kind=Kind.PLAIN) if not is_made_leaf(value):
                found += [presume_tensor(machine, value).tensor] if is_known_data(value) else []
            case Unknown() if isinstance(value.tensor, TensorValue):
                found.append(value.tensor.tensor)
            case Unknown() if (
                value.kind in OF_TENSORS or is_required(machine, value) or weights.is_handed(machine, value)
            ):
                found.append(presume_tensor(machine, value).tensor)
            case Unknown(origin=Call(name=name, of=of, arguments=arguments)) if not is_of_tensors(of):
                given = (of, *arguments) if is_method_of_tensors(name) else arguments
                if graph_sources(machine, given, depth - 1):
                    found.append(presume_tensor(machine, value).tensor)
            case Unknown(origin=Computed(sources=sources, made=Made.RECURSION)):
                if graph_sources(machine, sources, depth - 1):
                    found.append(presume_tensor(machine, value).tensor)
            case Unknown() if depth > 0:
                found.extend(_sources_of(machine, value, depth - 1))
            case tuple():
                found.extend(graph_sources(machine, value, depth - 1))
            case List() | Dict() if depth > 0:
                found.extend(graph_sources(machine, tuple(value.parts()), depth - 1))
    return list(dict.fromkeys(found))


def require(machine: Machine, unknown: Unknown, *, refuses: bool) -> None:
    """The program has flagged it: as soon as it is used as a tensor, it is a leaf.

    That is presumed unless the way it was flagged `refuses` results: `requires_grad_()` leaves one as it is.
    """
    machine.remembered[_REQUIRED, unknown.number] = machine.site()
    machine.remembered[_LEAF, unknown.number] = None if refuses else conditions.LEAF.of(conditions.name_of(unknown))


def release(machine: Machine, unknown: Unknown) -> None:
    """The program has called `requires_grad_(False)` of it since, or with what is not known."""
    machine.remembered.pop((_REQUIRED, unknown.number), None)


def is_required(machine: Machine, unknown: Unknown) -> bool:
    """True if the program has required a gradient for it."""
    return (_REQUIRED, unknown.number) in machine.remembered


_REQUIRED, _LEAF = "required to have a gradient", "required to have a gradient, if it is a leaf"


def is_made_leaf(unknown: Unknown) -> bool:
    """True if a value that was presumed to have no graph became a leaf since, as by `x.detach().requires_grad_()`."""
    return isinstance(unknown.tensor, TensorValue) and unknown.tensor.tensor.certainly_requires_grad


def is_computed(unknown: Unknown) -> bool:
    """True if arithmetic or a method of tensors gave it: modules have neither."""
    match unknown.origin:
        case Call(name=name, of=Unknown()):
            return is_method_of_tensors(name)
        case Computed(made=made):
            return made is Made.ARITHMETIC
    return False


def is_made_as_tensor(key: Value) -> bool:
    """True if an index is what a loader gives, or what a method of tensors does: no name, and no number."""
    while isinstance(key, Unknown):
        if isinstance(key.provenance, Presumption) and key.provenance.row == conditions.LOADER.row:
            return True
        match key.origin:
            case Item(of=of):
                key = of
            case Call(of=Unknown(), name=name):
                return is_method_of_tensors(name)
            case _:
                return False
    return False


def is_loss(unknown: Unknown) -> bool:
    """True if something that is taken for a loss has returned it."""
    return isinstance(unknown.origin, Call) and role_of(unknown.origin.of) == "loss"


def is_of_tensors(value: Value) -> bool:
    """True if an unknown value is presumed to be a tensor, or to hold some."""
    return isinstance(value, Unknown) and value.kind in OF_TENSORS


@cache
def is_method_of_tensors(name: str) -> bool:
    """True if tensors have a method of that name, and what else models give has none."""
    return name not in _SHARED and find_op(f"torch.Tensor.{name}") is not None


_SHARED = frozenset({"copy", "get", "index", "indices", "numpy", "to", "tolist", "type", "values"})
"""Methods of dicts, lists, arrays and outputs, too."""
