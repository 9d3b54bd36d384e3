"""Predicates on what an unknown call may do to gradients, by names and places, for the rows of `presumptions.py`."""

from __future__ import annotations

import re
from functools import cache

from gradpath.interpreter.containers import List, everything_in
from gradpath.interpreter.iteration import Container
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Attribute, Call, Computed, Item, Library, Origin, Undefined
from gradpath.interpreter.values import Instance, Unknown, Value, is_data
from gradpath.overlays.presumed.roles import ENGINE, role_of
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.support.lazy_regex import regex
from gradpath.support.traversal import reachable
from gradpath.support.words import words


def is_engine(value: Unknown) -> bool:
    """True if an unknown is named like an engine of a framework, such as Accelerate's."""
    return _names_engine(value.name or value.label)


@cache
def _names_engine(name: str) -> bool:
    return ENGINE.match(name) is not None


@cache
def trains(name: str) -> bool:
    """True if a name says that a model trains itself, or is made ready for that."""
    return _TRAINING.search(name) is not None and not only_computes(name)


@cache
def only_computes(name: str) -> bool:
    """True if a name, or the last two of a dotted one, says that something is computed, or looked at, and no more.

    So do `critic_forward`, `get_loss`, `adjust_learning_rate`, `ema.update`, `validate`, `save_checkpoint`.
    """
    *_, last = parts = name.split(".")[-2:]
    return any(map(_COMPUTING.search, parts)) and not _CHANGING.search(last)


@cache
def follows(name: str) -> bool:
    """True if a name says that one network follows another: `soft_update`, `copy_weights`, `sync_target`."""
    return _FOLLOWING.search(name) is not None


@cache
def clears(name: str) -> bool:
    """True if the purpose of a function of that name is, or may be, to clear gradients."""
    return _CLEARING.search(name) is not None


def is_own(origin: Origin) -> bool:
    """True if it is a method of `self` that is not seen: it reaches all that `self` has."""
    return isinstance(origin, Attribute) and isinstance(origin.of, Instance)


def is_result(origin: Origin) -> bool:
    """True if it is a function that another one gave."""
    return isinstance(origin, (Call, Computed)) or (isinstance(origin, Item) and origin.key is None)


_CLEARING = regex(r"(zero|clear|reset|drop|null)\w*grad|^zero_|grads?$|gradients?$", re.I)

_TRAINING = regex(
    r"(^|_)(backward|begin|closure|fit|learn|on|optimi[sz]e\w*|prepare|reset|start|steps?|toggle\w*|train\w*|updates?)(_|$)",
    re.I,
)

_COMPUTING = regex(
    r"(^|_)(accuracy|check\w*|decode|ema|encode|eval\w*|forward|infer\w*|learning_rate|log\w*|loss|losses|lr|metrics?|plot\w*|predict\w*"
    r"|print\w*|save\w*|summary|test|valid\w*|visuali[sz]\w*)(_|$)"
)
_FOLLOWING = regex(r"(^|_)(copy\w*|ema|hard|mirror|polyak|soft|sync\w*|targets?|update\w*)(_|$)")
_CHANGING = regex(
    r"backward|clear|closure|drop|fit|grad|learn(?!ing_rate)|optim|reset|train|zero|(^|_)(load|restore|resume)(_|$)",
    re.I,
)

HARMLESS = words(
    """accumulate autocast clip_grad_norm_ clip_grad_value_ clip_gradients log no_backward_sync no_sync save save_model
    save_state unscale_ unscale_gradients"""
)
"""Methods of engines and scalers that leave gradients where they are, whatever they are handed."""

ASKING = frozenset({"load_state_dict", "parameters", "state_dict"})
"""Methods of optimizers that leave gradients where they are."""


OVERWRITING = frozenset({"copy_", "fill_", "set_", "zero_"})
"""Methods of a gradient after which nothing of it is left; others scale, clip or mask it, as `clamp_` does."""


def is_gradient(value: Unknown | None) -> bool:
    """True if an unknown is `p.grad`, or `p.grad.data`."""
    while value is not None and value.name == "data":
        value = value.owner
    return value is not None and value.name == "grad"


def has_state(value: Value) -> bool:
    """True if a callee could clear gradients or step through this argument."""
    if isinstance(value, List | Dict):
        return any(_has_state_itself(each) or _is_parameter(each) for each in everything_in(value))
    return _has_state_itself(value)


def _has_state_itself(value: Value) -> bool:
    match value:
        case Unknown():
            return role_of(value) in ("model", "optimizer")
        case ModuleInstance():
            return bool(value.parameters()) or value.has_unknown_parts  # A loss such as `nn.MSELoss()` has nothing.
        case Instance():
            return not _is_record(value)
    return False


def _is_record(value: Instance) -> bool:
    """True if an instance holds nothing but numbers, texts and records of such: a configuration."""
    records = reachable([value], lambda each: [part for part in _parts(each) if isinstance(part, Instance)])
    held = (part for each in records for part in _parts(each))
    return not value.cls.open and all(
        is_data(part) or isinstance(part, Container | tuple) or (isinstance(part, Instance) and not part.cls.open)
        for part in held
    )


def _parts(instance: Instance) -> list[Value]:
    return [*everything_in(*instance.attributes.values())]


def _is_parameter(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.tensor.is_parameter


def dotted_name(unknown: Unknown) -> str:
    """The name of an unknown callee, with its library where that is known."""
    if isinstance(unknown.origin, (Undefined, Library)):
        return unknown.origin.name
    return f"{dotted_name(unknown.owner)}.{unknown.name}" if unknown.owner is not None else unknown.name
