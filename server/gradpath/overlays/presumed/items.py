"""Which items of what is not seen are the same again: parameters of a model, and the objects in a list."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.interpreter.iteration import ORDINAL
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Item, Parameter
from gradpath.interpreter.values import Unknown, Value, identity
from gradpath.overlays.presumed import model_parts
from gradpath.overlays.presumed.roles import role_of

PARAMETER = "parameter of a model"
"""With the number of a model and its place in `parameters()`, the key of a parameter."""


def key_of(machine: Machine, unknown: Unknown, index: Value, ordinal: int | None) -> tuple[object, ...] | None:
    """The key under which an item is the same again; that of the first name in `named_parameters()` is of any model."""
    number = ordinal if index is None else machine.remembered.get((ORDINAL, unknown.number))
    model = model_parts.model_of_item(unknown, index)
    if number is not None and model is not None:
        return PARAMETER, model.number, number
    if number is not None and index == 0 and model_parts.model_of_item(unknown, 1) is not None:
        return "name of a parameter", number
    place = ordinal if index is None else index
    own = ("item", unknown.number, identity(place))
    if isinstance(place, int) and isinstance(unknown.origin, Attribute | Parameter) and role_of(unknown) != "loader":
        for key in ((_DRAWN, unknown.number, place), own):
            if _is_object(machine, machine.unknowns.get(key)):
                return key
    return None if index is None else own


def note_drawn(machine: Machine, holder: Unknown, ordinal: int | None, item: Value) -> None:
    """A loop has drawn an item of what is not seen."""
    if ordinal is not None and isinstance(item, Unknown):
        machine.unknowns[_DRAWN, holder.number, ordinal] = item


def _is_object(machine: Machine, item: Unknown | None) -> bool:
    """True if an item was used as a model or an optimizer, or as an object that has such: it is in the list to stay.

    What a loader gives is another batch each time.
    """
    if item is None:
        return False
    known = _OBJECT, item.number
    if known not in machine.remembered and (
        role_of(item) in _ROLES or any(role_of(each) in _ROLES for each in _attributes(machine, item))
    ):
        machine.remembered[known] = True
    return known in machine.remembered


def note_attribute(machine: Machine, item: Unknown, attribute: Value) -> None:
    """The program asks an item of what is not seen for something: it may be an object that has models."""
    if isinstance(item.origin, Item) and isinstance(attribute, Unknown):
        known = machine.remembered.get((_ATTRIBUTES, item.number), ())
        machine.remembered[_ATTRIBUTES, item.number] = (*known, attribute) if isinstance(known, tuple) else known


def _attributes(machine: Machine, item: Unknown) -> Iterator[Unknown]:
    known = machine.remembered.get((_ATTRIBUTES, item.number), ())
    return (each for each in (known if isinstance(known, tuple) else ()) if isinstance(each, Unknown))


def place_of(machine: Machine, item: Unknown) -> int | str | None:
    """The place in an unseen list, or the name in an unseen mapping, of what is an item of it."""
    key = item.origin.key if isinstance(item.origin, Item) else ()
    place = machine.remembered.get((ORDINAL, item.number)) if key is None else key
    return place if isinstance(place, int | str) else None


_ATTRIBUTES = "attributes of an item"
_OBJECT = "item that is an object"
_DRAWN = "item that a loop has drawn"
_ROLES = ("model", "optimizer")
