"""The unseen model that something unseen is, or is a part of, by where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.origins import Attribute, Call, Item
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.presumed.roles import role_of


def root_of(model: Unknown) -> Unknown:
    """The model that a part belongs to: `model` for `model.encoder`."""
    while model.owner is not None and role_of(model.owner) == "model":
        model = model.owner
    return model


def is_of_model(thing: Unknown) -> bool:
    """True if something is a model, or a part of one: `model.blocks[0].fc`, `model.get_input_embeddings()`."""
    return next(models_around(thing), None) is not None


def models_around(thing: Unknown) -> Iterator[Unknown]:
    """The models that a module is or is a part of: as an attribute, an item, or what their methods find in them."""
    part: Unknown | None = thing
    while part is not None:
        if role_of(part) == "model":
            yield part
        match part.origin:
            case Attribute(of=Unknown() as whole) | Item(of=Unknown() as whole):
                part = whole
            case Call(of=Unknown(name=name, owner=whole)) if name.startswith("get_") or name in _FINDING:
                part = whole
            case _:
                part = None


CHILDREN = frozenset({"children", "named_children", "modules", "named_modules"})
"""Methods of modules that give parts of them."""

_FINDING = CHILDREN | {"items", "values"}
"""Methods by which a program goes through the parts of a model, and through dicts of them."""


def table_of_parts(items: Sequence[Value]) -> Unknown | None:
    """What an unseen model was asked for of which all items are parts: `dict(model.named_modules())`."""
    pairs = [each.origin.of for each in items if isinstance(each, Unknown) and isinstance(each.origin, Item)]
    wholes = {each.origin.of for each in pairs if isinstance(each, Unknown) and isinstance(each.origin, Item)}
    whole = wholes.pop() if len(wholes) == 1 and len(pairs) == len(items) else None
    match whole.origin if isinstance(whole, Unknown) else None:
        case Call(of=Unknown(name=name)) if name in CHILDREN and isinstance(whole, Unknown):
            return whole
    return None


def models_of_parameter(parameter: Value) -> list[Unknown]:
    """The model that a parameter is of: an item of an unknown `model.parameters()`, or of one of its pairs."""
    return _models(whole_of(parameter))


def models_around_parameter(parameter: Value) -> list[Unknown]:
    """The same, and the whole model of a parameter that is named: `model` for `model.head.weight`."""
    found = models_of_parameter(parameter)
    if not found and isinstance(parameter, Unknown) and parameter.kind is Kind.PARAMETER:
        found = list(models_around(parameter))[-1:]
    return found


def whole_of(parameter: Value) -> Value:
    """The unknown value or list that a parameter is an item of, at any depth."""
    while isinstance(parameter, Unknown) and isinstance(parameter.origin, Item):
        parameter = parameter.origin.of
    return parameter


def model_of_item(source: Unknown, index: Value) -> Unknown | None:
    """The model of which an item is a parameter: any of `model.parameters()`, the second of a named pair."""
    match source.origin:
        case Call(of=Unknown(name="parameters", owner=model)):
            return model
        case Item(of=Unknown(origin=Call(of=Unknown(name="named_parameters", owner=model)))) if index == 1:
            return model
    return None


def _models(source: Value) -> list[Unknown]:
    """The model of an unknown `model.parameters()`."""
    method = source.origin.of if isinstance(source, Unknown) and isinstance(source.origin, Call) else None
    if isinstance(method, Unknown) and method.name in _PARAMETERS and method.owner is not None:
        return [method.owner]
    return []


_PARAMETERS = ("parameters", "named_parameters")


def line(model: Unknown) -> list[int]:
    """The numbers of a model and of all that it is a part of."""
    found = [model.number]
    while (holder := _holder(model)) is not None:
        model = holder
        found.append(model.number)
    return found


def _holder(model: Unknown) -> Unknown | None:
    """The model that a model is a part of: an attribute, an item like `model.blocks[0]`, or what its methods give."""
    if model.owner is not None:
        return model.owner
    match model.origin:
        case Item(of=Unknown() as whole):
            return whole
        case Call(of=Unknown(name=name, owner=Unknown() as whole)):
            known = name in CHILDREN or name.startswith("get_") or whole.name == "_modules"
            return whole if known or role_of(whole) == "model" else None
    return None


def note_layer(layer: Unknown) -> None:
    """What has a weight is a module, and so is each part of a model around it."""
    if not layer.role and isinstance(layer.origin, Attribute):
        layer.role = "model"
        if isinstance(layer.origin.of, Unknown):
            note_layer(layer.origin.of)
