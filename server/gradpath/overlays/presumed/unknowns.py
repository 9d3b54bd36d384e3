"""Operations on unknown values; `presumptions.py` says what these are."""

from __future__ import annotations

import ast
import operator as host

from gradpath.autograd.ops import find_op
from gradpath.autograd.provenance import OBSERVED, OPEN
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import BackwardRan, Cleared, Lent
from gradpath.interpreter.iteration import ORDINAL
from gradpath.interpreter.kinds import COMPUTED_WITH, OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.operators import negation
from gradpath.interpreter.origins import Attribute, Call, Item, Made, Parameter
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
from gradpath.overlays.presumed import (
    branches,
    built_optimizers,
    chosen_classes,
    conditions,
    effects,
    equalities,
    frozen,
    items,
    kept_lists,
    model_parts,
    pieces,
    plain_data,
    presumptions,
    unknown_stores,
    unseen_mappings,
    uses,
    weights,
)
from gradpath.overlays.presumed.absences import is_cleared, note_handed
from gradpath.overlays.presumed.as_given import note_graphs
from gradpath.overlays.presumed.asked import computed_without_gradients, is_open
from gradpath.overlays.presumed.callbacks import hand_over
from gradpath.overlays.presumed.clearing import ASKING, OVERWRITING, dotted_name, is_gradient
from gradpath.overlays.presumed.presumed_methods import CALLED, METHODS, train_by_scaler
from gradpath.overlays.presumed.presumed_tensors import (
    drawn_again,
    is_loss,
    is_made_leaf,
    is_method_of_tensors,
    is_required,
    presume_tensor,
    reads_gradient,
)
from gradpath.overlays.presumed.roles import SETTINGS, is_option, role_of, role_of_name
from gradpath.overlays.torch import module_hooks, scaling, state_dicts
from gradpath.overlays.torch.module_methods import note_drawn
from gradpath.overlays.torch.optim import OptimizerInstance
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def unknown_operation(machine: Machine, unknown: Unknown, operator: str, other: Value, reflected: bool) -> Value:
    """`unknown + other`, `unknown < other`: what a model or a loss gives is a tensor where it meets numbers or tensors.

    The answer to the same comparison of the same operands is the same, and so are the branches that it decides.
    """
    if other is None and operator not in _COMPARISONS:
        names = "'NoneType' and 'float'" if reflected else "'float' and 'NoneType'"
        raise machine.error("TypeError", f"unsupported operand type(s): {names}", (unknown, other))
    if other is ... and operator not in _COMPARISONS:
        raise machine.error("TypeError", "unsupported operand type(s)", other)
    is_tensor = _is_tensor(machine, unknown) or reads_gradient(machine, unknown, "data")
    is_tensor = is_tensor or (machine.autograd.inference and unknown.kind is Kind.CUT)
    if _meets_as_tensor(unknown, operator, other) or (is_tensor and operator not in _COMPARISONS):
        tensor = presume_tensor(machine, unknown)
        return (tensor.compare if operator in _COMPARISONS else tensor.binary)(machine, operator, other, reflected)
    if (
        isinstance(other, Unknown)
        and operator not in _COMPARISONS
        and (_is_tensor(machine, other) or _meets_as_tensor(other, operator, unknown))
    ):
        return presume_tensor(machine, other).binary(machine, operator, unknown, not reflected)
    if operator in ("eq", "ne") and isinstance(other, bool):
        same = other is (operator == "eq")  # Only a flag is compared with True or False.
        return negation(machine, negation(machine, unknown) if same else unknown)
    if operator in _COMPARISONS:
        key = ("compare", operator, reflected, unknown.number, identity(other))
        if (answer := equalities.settled(machine, unknown, operator, other, key)) is not None:
            return answer
        made = machine.unknown("comparison", key, (unknown, other))
        if isinstance(made, Unknown) and unknown.hint is not UNDEFINED:
            made.hint = _compared(operator, unknown.hint, other)
        return made
    key = ("binary", operator, reflected, unknown.number, identity(other))
    made = machine.unknown("arithmetic", key, (unknown, other), fresh=True, made=Made.ARITHMETIC)
    if isinstance(made, Unknown) and not machine.autograd.grad_enabled:
        made.kind = Kind.PLAIN
    elif isinstance(made, Unknown) and unknown.kind is Kind.PLAIN and _is_without_graph(other):
        made.kind, made.provenance = Kind.PLAIN, unknown.provenance
    return made


def _is_tensor(machine: Machine, unknown: Unknown) -> bool:
    return is_required(machine, unknown) or is_made_leaf(unknown) or _is_loss_of_data(unknown)


def _is_without_graph(value: Value) -> bool:
    return is_data(value) or (isinstance(value, Unknown) and value.kind is Kind.PLAIN and not is_made_leaf(value))


def unknown_inplace(machine: Machine, unknown: Unknown, operator: str, other: Value) -> Value:
    """`unknown += other`: what is a parameter, a leaf or the result of a model is written in place."""
    item = _item_of_parameter(machine, unknown)
    if item is not None:
        return item.inplace(machine, operator, other)
    if _is_trained_by_hand(machine, unknown):
        unknown.kind, unknown.provenance = Kind.PARAMETER, conditions.LEAF.of(conditions.name_of(unknown))
    if unknown.kind is Kind.PARAMETER or is_made_leaf(unknown) or _meets_as_tensor(unknown, operator, other):
        return presume_tensor(machine, unknown).inplace(machine, operator, other)
    if isinstance(other, TensorValue) and not machine.autograd.grad_enabled and not unknown.is_data:
        return unknown  # A tensor that is written under `no_grad` keeps the graph that it has.
    return pieces.write(machine, unknown, (other,), lambda piece: piece.inplace(machine, operator, other))


def _is_trained_by_hand(machine: Machine, unknown: Unknown) -> bool:
    """True if a program reads a gradient after a backward of its own: `w -= lr * w.grad`."""
    if unknown.kind is not Kind.ANYTHING or unknown.is_data or role_of(unknown) or not machine.autograd.grad_enabled:
        return False
    return ("attr", unknown.number, "grad") in machine.unknowns and bool(machine.trace.of(BackwardRan))


def _item_of_parameter(machine: Machine, unknown: Unknown) -> TensorValue | None:
    """The view of a parameter that something is: `model.weight[3]`."""
    match unknown.origin:
        case Item(of=Unknown(kind=Kind.PARAMETER) as parameter, key=key) if key is not None:
            item = presume_tensor(machine, parameter).item(machine, key)
            return item if isinstance(item, TensorValue) else None
    return None


def unknown_sign(machine: Machine, unknown: Unknown, operator: str) -> Value:
    """`-unknown` and its like; `float(unknown)` reads a number out of what a model or a loss gives."""
    if operator in ("float", "int"):
        is_tensor = unknown.kind in OF_TENSORS
        return presume_tensor(machine, unknown).to_number(machine, operator) if is_tensor else NotImplemented
    if unknown.kind in COMPUTED_WITH:
        return presume_tensor(machine, unknown).unary(machine, operator)
    key = ("unary", operator, unknown.number)
    made = machine.unknown("arithmetic", key, (unknown,), fresh=True, made=Made.ARITHMETIC)
    if isinstance(made, Unknown) and unknown.kind is Kind.PLAIN:
        made.kind, made.provenance = Kind.PLAIN, unknown.provenance
    return made


def _compared(operator: str, hint: Value, other: Value) -> Value:
    """The result of comparing two values that probably equal these constants; `UNDEFINED` where that is unknown."""
    probable = other.hint if isinstance(other, Unknown) else other
    if not isinstance(hint, (int, float, str)) or not isinstance(probable, (int, float, str)):
        return UNDEFINED
    if isinstance(hint, str) is not isinstance(probable, str):
        return UNDEFINED
    return bool(getattr(host, operator)(hint, probable))


def _meets_as_tensor(unknown: Unknown, operator: str, other: Value) -> bool:
    """A loss that is compared stays unknown: it decides branches, and asked twice it must be the same question."""
    if unknown.kind not in COMPUTED_WITH or not isinstance(
        other, (bool, int, float, TensorValue, TensorNumber, Unknown)
    ):
        return False
    result = branches.whole_of(unknown) or unknown
    from_model = not result.sources or role_of(result.sources[0]) == "model"  # Else a caller gives the prediction.
    return operator not in _COMPARISONS or (from_model and operator not in ("eq", "ne"))


def _is_loss_of_data(unknown: Unknown) -> bool:
    return unknown.kind is Kind.PLAIN and is_loss(unknown)


def unknown_parameter(machine: Machine, argument: ast.arg, default: Value, role: str = "") -> Value:
    """A parameter without an argument, which the program uses as `role` says.

    Repeated calls of a function get the same model and the same optimizer.
    """
    data = role == SETTINGS or (not role and plain_data.is_parameter(argument, default))
    lasts = (role or role_of_name(argument.arg)) in ("model", "optimizer")
    made = machine.unknown_from(Parameter(argument.arg), ("parameter", argument) if lasts else None, data=data)
    if isinstance(made, Unknown):
        made.role = role
        made.hint = default
        if data:
            number = isinstance(default, (bool, int, float))
            made.provenance = (conditions.NUMBER if number else conditions.DATA).of(argument.arg)
    return made


def _may_get_graph(method: Unknown, arguments: Arguments) -> bool:
    """True if data may have a graph after a method of it: it is made a leaf, or something unseen is written into it."""
    if method.name == "requires_grad_":
        return True
    return method.name.endswith("_") and any(map(is_open, arguments.all()))


def unknown_attribute(machine: Machine, unknown: Unknown, name: str) -> Value:
    """`unknown.name`: methods of tensors, modules and optimizers are presumed by their names."""
    key = ("attr", unknown.number, name)
    if key in machine.remembered:
        return machine.remembered[key]
    unknown.is_object = unknown.is_object or not TensorValue.protocol.knows(name)
    if name == "module" and role_of(unknown) == "model":
        return unknown  # What DataParallel and its kin wrap.
    if unknown.kind is Kind.PARAMETER and name == "grad" and is_cleared(machine, unknown):
        return None
    own = (unknown.kind, name) in ((Kind.PARAMETER, "data"), (Kind.LIVE, "grad"))
    own = own or reads_gradient(machine, unknown, name)
    if own or (isinstance(unknown.tensor, TensorValue) and name not in METHODS and not _may_be_part(unknown, name)):
        return presume_tensor(machine, unknown).attribute(machine, name)
    data = name in plain_data.TELLING or is_option(name) or plain_data.is_part(unknown, name)
    made = machine.unknown_from(Attribute(unknown, name), key, data=data)
    if isinstance(made, Unknown):
        _inherit(made, unknown)
        row = presumptions.of_attribute(machine, unknown, name)
        if data and name not in plain_data.TELLING:
            made.kind, made.provenance = Kind.PLAIN, conditions.DATA.of(name)
        elif made.is_data:
            made.kind = Kind.PLAIN
        elif row is not None:
            if row.kind is Kind.PARAMETER:
                model_parts.note_layer(unknown)
            said = conditions.name_of(unknown) if row.kind is Kind.PARAMETER else name
            made.kind, made.provenance = row.kind, row.provenance(said, unknown)
        weights.note_part(machine, unknown, made, name)
        items.note_attribute(machine, unknown, made)
    return made


def _inherit(part: Unknown, whole: Unknown) -> None:
    """The kind of a part: that of the whole, except that the gradient of a parameter is not a parameter."""
    if whole.kind is not Kind.PARAMETER:
        part.kind, part.provenance = whole.kind, whole.provenance


def _may_be_part(unknown: Unknown, name: str) -> bool:
    """True if `x.name` may be a part of what a model gives, such as `outputs.logits`, rather than a tensor's own.

    The gradient of a parameter comes from backwards that reach the model, of which the parameter knows nothing.
    """
    return unknown.kind is Kind.PARAMETER or (unknown.kind in OF_TENSORS and not is_method_of_tensors(name))


def unknown_item(machine: Machine, unknown: Unknown, index: Value, ordinal: int | None = None) -> Value:
    """`unknown[index]`, or item number `ordinal` that iterating gives: a fresh one, but for parameters of a model."""
    if is_made_leaf(unknown) or (unknown.kind is Kind.PLAIN and _has_tensor(index)):
        place = machine.unknown("index", made=Made.NUMBER) if index is None else index
        return presume_tensor(machine, unknown).item(machine, place)
    if unknown_stores.is_indexed_as_tensor(machine, unknown, index):
        return presume_tensor(machine, unknown).item(machine, index)
    if index is None:
        uses.note_iteration(machine, unknown)
    if index is None and (name := unseen_mappings.name_at(machine, unknown, ordinal)) is not None:
        return name
    kept = _kept_in_state(machine, unknown, index)
    if kept is not None:
        return kept
    index = unseen_mappings.name_of_entry(machine, unknown, index)
    key = items.key_of(machine, unknown, index, ordinal)
    known = machine.unknowns.get(key) if key is not None and key[0] == items.PARAMETER else None
    if known is not None and known.kind is Kind.PARAMETER:
        return drawn_again(machine, known)  # Whatever list or call it is an item of.
    made = machine.unknown_from(Item(unknown, index), key)
    items.note_drawn(machine, unknown, ordinal, made)
    if isinstance(made, Unknown) and made.kind is Kind.ANYTHING:
        row = presumptions.of_item(machine, unknown, index)
        if row is None:
            _inherit(made, unknown)
        elif row.kind is not Kind.ANYTHING:
            named = model_parts.model_of_item(unknown, index) or unknown
            made.kind, made.provenance = row.kind, row.provenance(conditions.name_of(named), unknown)
        weights.note_part(machine, unknown, made, index)
    if isinstance(made, Unknown) and made.kind is Kind.PARAMETER:
        note_drawn(machine)
    unknown_stores.note_entry(unknown, index, made)
    return made


def _kept_in_state(machine: Machine, state: Unknown, name: Value) -> TensorValue | None:
    """The entry of the state of an unseen model for the name that `named_parameters()` has just given a parameter."""
    owner = state_dicts.owner_of(machine, state)
    if owner is None or not isinstance(name, Unknown) or not isinstance(name.origin, Item) or name.origin.key != 0:
        return None
    pair = name.origin.of
    ordinal = machine.remembered.get((ORDINAL, pair.number)) if isinstance(pair, Unknown) else None
    known = machine.unknowns.get((items.PARAMETER, owner.number, ordinal))
    if known is None or known.kind is not Kind.PARAMETER:
        return None
    return state_dicts.entry(machine, presume_tensor(machine, known).tensor)


def _meets_tensors(method: Unknown, arguments: Arguments) -> bool:
    """True if data is used as a tensor is, and a set is not: `target.gather(1, order)`."""
    if method.owner is None or method.owner.kind is not Kind.PLAIN or hasattr(set, method.name):
        return False
    return any(map(_has_tensor, arguments.all()))


def _has_tensor(value: Value) -> bool:
    return isinstance(value, TensorValue) or (isinstance(value, tuple) and any(map(_has_tensor, value)))


def _lend(machine: Machine, callee: Unknown, arguments: Arguments) -> None:
    """Arguments of unseen code may be frozen by it, be detached in place, or be made to require gradients."""
    said = conditions.LEFT.of(conditions.callee(None, machine.site()) or conditions.name_of(callee))
    todo = list(arguments.all())
    while todo:
        value = todo.pop()
        match value:
            case List():
                todo += [each for each in value.items if isinstance(each, TensorValue)]
            case tuple():
                todo += [each for each in value if isinstance(each, TensorValue)]
            case TensorValue() if value.tensor.requires_grad:
                value.tensor.lend(said)
            case TensorValue() if value.tensor.node is None and value.tensor.provenance is OBSERVED:
                value.tensor.provenance = said


def _in_hands(unknown: Unknown, arguments: Arguments) -> tuple[object, ...] | None:
    """The modules, optimizers and unknown values that a call gets at, also through objects of the program.

    None where that is not known: functions of the program may speak of anything.
    """
    found: dict[int, object] = {}
    seen: dict[int, object] = {}  # What a container gives is made when it is asked, and must outlive its number.
    todo = list(arguments.all())
    if isinstance(unknown.origin, Attribute) and isinstance(unknown.origin.of, Instance):
        todo.append(unknown.origin.of)
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        match value:
            case List() | Dict():
                todo += value.parts()
            case tuple():
                todo += value
            case Function() | BoundMethod():
                return None
            case OptimizerInstance() | Unknown():
                found[id(value)] = value
            case Instance():
                found[id(value)] = value
                todo += value.attributes.values()
    return tuple(found.values())


def unknown_call(machine: Machine, unknown: Unknown, arguments: Arguments) -> Value:
    """The result of calling something unknown."""
    if (chosen := chosen_classes.chosen(machine, unknown)) is not None:
        return machine.call(chosen, arguments)
    hooked = unknown.name != "forward"
    if unknown.name == "forward" and unknown.owner is not None and role_of(unknown.owner) == "model":
        unknown = unknown.owner  # All that calling the model itself adds is its hooks.
    hand_over(machine, arguments)
    if unknown.name not in ASKING:
        state_dicts.note_changed(machine, *arguments.all())
    uses.note_call(machine, unknown)
    weights.note_module(machine, unknown, arguments.all())
    if not unknown.is_data:
        note_handed(machine, arguments, computes=role_of(unknown) in ("model", "loss"))
    machine.remembered[CALLED, unknown.number] = True
    owner = unknown.owner
    if owner is not None and unknown.name == "append" and kept_lists.append(machine, owner, arguments):
        return None
    kept_lists.lent(machine, unknown, arguments)
    if owner is not None:
        result = _method_call(machine, unknown, owner, arguments)
        if result is not NotImplemented:
            return result
        _change_owner(machine, unknown, owner, arguments)
    frozen.called(machine, unknown, arguments)
    scaling.may_have_updated(machine, unknown, arguments)
    data = plain_data.gives_data(unknown)
    _change_gradients(machine, unknown, arguments, data=data)
    callee = owner if owner is not None and is_method_of_tensors(unknown.name) else unknown
    made = machine.unknown_from(Call(callee, unknown.name, tuple(arguments.all())), _key(unknown, arguments), data=data)
    if isinstance(made, Unknown):
        note_graphs(machine, made, arguments.all())
        built_optimizers.note(machine, made, arguments)
        model = _settle(machine, unknown, arguments, made)
        is_model = model is not None and role_of(model) == "model"
        if model is not None and is_model and made.kind in (Kind.LIVE, Kind.CUT):
            weights.note_call(machine, model, made)
        elif made.kind in (Kind.LIVE, Kind.ANYTHING) and effects.only_computes(machine, unknown, arguments):
            given = [each for each in (owner, *arguments.all()) if isinstance(each, Unknown)]
            handed = {each.number: each for each in given if role_of(each) == "model"}
            for each in handed.values() if len(handed) == 1 and machine.autograd.grad_enabled else ():
                weights.note_handed(machine, each, made)
        if is_model and hooked and model is unknown:
            return module_hooks.run_unseen(machine, unknown, arguments, made)
    return made


_OF_TEXTS = frozenset({"casefold", "endswith", "find", "lower", "rfind", "startswith", "strip", "upper"})
"""Methods of texts, which nothing changes: they answer the same each time."""


def _key(method: Unknown, arguments: Arguments) -> tuple[object, ...] | None:
    given = arguments.all()
    if method.owner is None or method.name not in _OF_TEXTS or not all(isinstance(each, str) for each in given):
        return None
    return "text", method.owner.number, method.name, *given


def _method_call(machine: Machine, unknown: Unknown, owner: Unknown, arguments: Arguments) -> Value:
    """The result of a method whose meaning follows from its name and owner; NotImplemented for any other."""
    if owner.is_data and not role_of(owner):
        return NotImplemented
    method = METHODS.get(unknown.name)
    result = NotImplemented if method is None else method(machine, owner, arguments)
    if result is not NotImplemented:
        return result
    writes = unknown.name.endswith("_")
    of_tensors = owner.kind in COMPUTED_WITH or is_made_leaf(owner) or is_required(machine, owner)
    of_tensors = of_tensors or _meets_tensors(unknown, arguments)
    if (writes and owner.kind is Kind.PARAMETER) or (of_tensors and is_method_of_tensors(unknown.name)):
        return machine.call(presume_tensor(machine, owner).attribute(machine, unknown.name), arguments)
    if writes:
        item = _item_of_parameter(machine, owner)
        if item is not None and is_method_of_tensors(unknown.name):
            return machine.call(item.attribute(machine, unknown.name), arguments)
        pieces.write(
            machine,
            owner,
            arguments.all(),
            lambda piece: machine.call(piece.attribute(machine, unknown.name), arguments),
        )
    return NotImplemented


_STORING = frozenset({"add", "append", "appendleft", "extend", "insert", "update"})
"""Methods that put something into a container."""


def _change_owner(machine: Machine, unknown: Unknown, owner: Unknown, arguments: Arguments) -> None:
    """The effect of a method on its plain data: it may store its arguments there."""
    if unknown.name not in state_dicts.READING:
        state_dicts.note_changed(machine, owner)
    unknown_stores.put_in(machine, owner, unknown.name, arguments.all())
    if arguments.all():
        unknown_stores.forget_entries(machine, owner)
    if unknown.name in _STORING:
        unknown_stores.fill_any(machine, owner, list(arguments.all()))
    if owner.kind is Kind.PLAIN and not find_op(f"torch.Tensor.{unknown.name}"):
        for value in arguments.all():
            unknown_stores.fill(machine, owner, value)
    if owner.kind is Kind.PLAIN and _may_get_graph(unknown, arguments):
        owner.kind, owner.provenance = Kind.ANYTHING, OPEN


def _change_gradients(machine: Machine, unknown: Unknown, arguments: Arguments, *, data: bool) -> None:
    """The effect of a call on gradients: it may clear them, or lend them to unseen code."""
    if train_by_scaler(machine, unknown, arguments):
        return
    if not data and effects.may_clear(machine, unknown, arguments):
        weights.clear(machine)
        given = _in_hands(unknown, arguments)
        machine.emit(Lent(dotted_name(unknown), machine.site(), given or (), free=given is None))
    elif unknown.name in OVERWRITING and is_gradient(unknown.owner):
        weights.clear(machine)
        machine.emit(Cleared((), machine.site(), None, known=False))
    elif unknown.name == "mul_" and is_gradient(unknown.owner):  # By 0, or by less than 1 again and again.
        machine.emit(Lent(dotted_name(unknown), machine.site()))
    if not data and not role_of(unknown):
        _lend(machine, unknown, arguments)


def _settle(machine: Machine, unknown: Unknown, arguments: Arguments, made: Unknown) -> Unknown | None:
    """Settle what the result of a call is presumed to be; return whose result that is."""
    owner = unknown.owner
    row = presumptions.of_call(machine, unknown, arguments)
    made.is_data = made.is_data and (row is None or row.kind not in OF_TENSORS)
    if row is not None and row.kind is not Kind.ANYTHING:
        made.kind, made.provenance = row.kind, row.provenance(conditions.callee(made), owner)
    elif made.is_data:
        made.kind = Kind.PLAIN
    if not machine.autograd.grad_enabled and not made.is_data:
        computed_without_gradients(machine, made, arguments)
    of_owner = uses.is_method(machine, unknown) or (made.kind is Kind.CUT and not role_of(unknown))
    return owner if of_owner else unknown
