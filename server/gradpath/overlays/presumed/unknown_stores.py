"""The values that a program stores in attributes and items of values that are not seen."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.provenance import OPEN
from gradpath.interpreter.containers import List, Slice
from gradpath.interpreter.events import Cleared, Lent, OptionSet
from gradpath.interpreter.iteration import Container
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Computed, Item, Made, Parameter
from gradpath.interpreter.readings import parts_of
from gradpath.interpreter.values import Instance, Unknown, Value, identity, is_data
from gradpath.overlays.presumed import conditions, frozen, model_parts, plain_data, weights
from gradpath.overlays.presumed.absences import note_put
from gradpath.overlays.presumed.asked import has_graph, is_open
from gradpath.overlays.presumed.presumed_tensors import is_computed, is_made_as_tensor, presume_tensor, require
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch import state_dicts
from gradpath.overlays.torch.tensor_value import TensorValue, wrap
from gradpath.source.nodes import nodes, noted
from gradpath.support.words import words


def set_attribute(machine: Machine, unknown: Unknown, name: str, value: Value) -> None:
    """`unknown.name = value`: what is set is remembered; `requires_grad` and `grad` mean what they mean for tensors."""
    is_module = frozen.missed(machine, unknown, name, value)
    if name == "requires_grad" and not is_module:
        frozen.flag(machine, unknown, value)
    elif model_parts.is_of_model(unknown):
        frozen.part_set(machine, unknown, value)
    is_tensor = isinstance(unknown.tensor, TensorValue) or unknown.kind is not Kind.ANYTHING or is_computed(unknown)
    if (name == "requires_grad" and is_tensor) or (name == "data" and unknown.kind is Kind.PARAMETER):
        presume_tensor(machine, unknown).set_attribute(machine, name, value)
        return
    if name == "requires_grad" and value is True and not unknown.is_object and role_of(unknown) != "model":
        require(machine, unknown, refuses=True)
    if name == "grad":
        weights.clear(machine)
        gone = value is None
        machine.emit(Cleared((), machine.site(), None, known=False) if gone else Lent(name, machine.site()))
        if gone and unknown.kind is Kind.PARAMETER:
            return  # Until the next backward, which may be one of unseen code.
    weights.note_put_in(machine, unknown, value, machine.unknowns.get(("attr", unknown.number, name)))
    note_put(machine, value)
    fill(machine, unknown, value)
    if isinstance(value, TensorValue) and value.tensor.requires_grad:
        value = _handed_back(machine, unknown, name, value)
    machine.remember(("attr", unknown.number, name), value)


def put_in(machine: Machine, owner: Unknown, method: str, values: Sequence[Value]) -> None:
    """`model.blocks.append(Block())`, `model.add_module(name, Block())`: a new part, with parameters of its own.

    After `pop` and its like nothing is known of what is in there.
    """
    known = list(machine.remembered) if method in _TAKING else ()
    for key in (each for each in known if isinstance(each, tuple) and each[:2] == ("in", owner.number)):
        del machine.remembered[key]
    for value in values if method in _PUTTING and model_parts.is_of_model(owner) else ():
        if isinstance(value, Instance):
            frozen.part_set(machine, owner, value)
            weights.note_put_in(machine, owner, value, None)


_TAKING = frozenset({"clear", "pop", "popitem"})
_PUTTING = frozenset({"add_module", "append", "insert", "register_module"})


def _handed_back(machine: Machine, unknown: Unknown, name: str, value: TensorValue) -> Value:
    """The value of an attribute to which a tensor with a graph was assigned: that tensor, unless a property changes it.

    `data` does so in any tensor. A leaf stays itself, since optimizers get it.
    """
    if name == "data":
        return machine.unknown("attribute of unknown", None, (unknown,))
    tensor = value.tensor
    if tensor.node is None:
        return value
    said = f"{conditions.name_of(unknown)}.{name}"
    presumed = conditions.KEPT.of(said)
    provenance = presumed if tensor.certainly_requires_grad else OPEN
    made = machine.autograd.presumed([tensor], provenance=provenance, onward=presumed)
    made.shape, made.dtype, made.label, made.origin = tensor.shape, tensor.dtype, said, tensor.origin
    made.aliasing_unsure = True
    return wrap(made)


def set_item(machine: Machine, unknown: Unknown, key: Value, value: Value) -> None:
    """`unknown[key] = value`: what is set is remembered; a parameter is written in place, an array keeps numbers."""
    if not isinstance(key, str) and plain_data.is_array(unknown) and not is_data(value):
        value = machine.unknown("numpy array", None, (value,), made=Made.ARRAY)
    made = has_graph(machine, (value,)) and not isinstance(key, str) and is_made_as_tensor(unknown)
    if unknown.kind is Kind.PARAMETER or made or is_indexed_as_tensor(machine, unknown, key):
        presume_tensor(machine, unknown).set_item(machine, key, value)
        return
    if isinstance(key, str) and key != "params" and _is_parameter_group(unknown):
        option = presume_tensor(machine, value) if isinstance(value, Unknown) and value.kind in OF_TENSORS else value
        if isinstance(option, TensorValue):
            machine.emit(OptionSet(key, option, option.tensor.node, machine.site()))
    if model_parts.is_of_model(unknown):
        frozen.part_set(machine, unknown, value)
    weights.note_put_in(machine, unknown, value, machine.unknowns.get(("item", unknown.number, identity(key))))
    note_put(machine, value)
    fill(machine, unknown, value)
    state_dicts.note_changed(machine, unknown)
    entry = ("item", unknown.number, identity(key))
    machine.remember(entry, value)
    machine.remember(("in", unknown.number, identity(key)), True)
    note_entry(unknown, key, value)
    if isinstance(unknown.origin, Attribute) and isinstance(unknown.origin.of, Unknown):
        within = machine.remembered.setdefault((_WITHIN, unknown.origin.of.number), [])
        assert isinstance(within, list)
        within.append(entry)


_WITHIN = "entries of the attributes of what is not seen"


def forget_entries(machine: Machine, owner: Unknown) -> None:
    """A method of something that is not seen may have put anything into its attributes: `graph.update_all(...)`."""
    entries = machine.remembered.pop((_WITHIN, owner.number), ())
    for entry in entries if isinstance(entries, list) else ():
        machine.remembered.pop(entry, None)


def note_entry(unknown: Unknown, key: Value, value: Value) -> None:
    """Note what is under a text by which the program has indexed something: a dict, as a rule."""
    if isinstance(key, str):
        unknown.named = {**(unknown.named or {}), key: value}


def _is_parameter_group(unknown: Unknown) -> bool:
    """True if it is one of the `param_groups` of an optimizer."""
    groups = unknown.origin.of if isinstance(unknown.origin, Item) else None
    return isinstance(groups, Unknown) and groups.name == "param_groups"


def fill(machine: Machine, holder: Unknown, value: Value) -> None:
    """Let a value without a graph, and what it is a part of, have one after something with a graph was stored in it.

    A part that is asked for again is another value than before.
    """
    if is_data(value) or not (is_open(value) or has_graph(machine, (value,))):
        return
    around = {each.number: each for each in _holders(holder)}
    opened = [each for each in around.values() if not each.is_data and each.kind is not Kind.ANYTHING]
    for each in opened:
        each.kind, each.provenance = Kind.ANYTHING, OPEN
    for key, known in list(machine.remembered.items()) if opened else ():
        origin = known.origin if isinstance(known, Unknown) and known.number not in around else None
        if isinstance(origin, (Attribute, Item)) and any(origin.of is each for each in opened):
            del machine.remembered[key]


def fill_any(machine: Machine, part: Unknown, values: Sequence[Value]) -> None:
    """Put values into each container that a part of an object or a container may be, of which it is not known which.

    `getattr(self, name).append(x)`, `self.lists[key].append(x)`.
    """
    sources = part.origin.sources if isinstance(part.origin, Computed) else ()
    if len(sources) > 1:  # It is one of several.
        found = [each for each in sources if isinstance(each, Container)]
    else:
        inside = (each.attributes.values() if isinstance(each, Instance) else parts_of(each) for each in sources)
        found = [each for parts in inside for each in parts if isinstance(each, Container)]
    lists = [each for each in found if isinstance(each, List)]
    for value in values if lists else ():
        machine.note_stored(lists[0], None, value)  # That stands for all of them.
    for each in found:
        each.open = True
        if isinstance(each, List):
            each.items += values
            each.trim(machine)


def _holders(part: Unknown) -> Iterator[Unknown]:
    """Something and all that it is an attribute or a certain item of."""
    yield part
    origin = part.origin
    while (isinstance(origin, Attribute) or (isinstance(origin, Item) and origin.key is not None)) and isinstance(
        origin.of, Unknown
    ):
        yield origin.of
        origin = origin.of.origin


def is_indexed_as_tensor(machine: Machine, unknown: Unknown, index: Value) -> bool:
    """True if only a tensor is indexed like that: `x[:, 0]`, `x[..., 1]`, or `x[i] = y` beside `x.shape`."""
    if unknown.is_data or unknown.kind not in (Kind.ANYTHING, *OF_TENSORS):
        return False
    if isinstance(index, tuple) and any(isinstance(each, (slice, Slice)) or each is ... for each in index):
        return True
    if unknown.kind is not Kind.ANYTHING:
        return False
    function = machine.frame.function
    if function is None or not isinstance(unknown.origin, Parameter) or isinstance(index, str):
        return False
    return unknown.origin.name in _written_tensors(function.node)


@noted
def _written_tensors(body: ast.AST) -> frozenset[str]:
    """The variables into whose items a function writes, and which it asks for what only tensors have."""
    written, asked = set[str](), set[str]()
    for node in nodes(body):
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                written.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute in _OF_TENSORS:
                asked.add(name)
    return frozenset(written & asked)


_OF_TENSORS = words(
    """clone cpu cuda device dim dtype mean new_zeros permute reshape shape size sum to transpose unsqueeze view"""
)
"""Attributes of tensors that lists and dicts lack."""
