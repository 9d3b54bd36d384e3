"""What an unknown call may do to gradients, judged by its name, by whose method it is, and by what it gets."""

from __future__ import annotations

import re
from functools import cache

from gradpath.interpreter.containers import List
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Attribute, Call, Computed, Item, Library, Origin, Undefined
from gradpath.interpreter.values import Arguments, Instance, Unknown, Value
from gradpath.overlays.roles import ENGINE, role_of
from gradpath.patterns import regex


def is_engine(value: Unknown) -> bool:
    """Whether an unknown is named like an engine of a framework, such as Accelerate's."""
    return _names_engine(value.name or value.label)


@cache
def _names_engine(name: str) -> bool:
    return ENGINE.match(name) is not None


def may_clear(unknown: Unknown, arguments: Arguments) -> bool:
    """Whether an unknown callee could clear gradients, or step: by its name, by whose method it is, by what it gets."""
    owner = unknown.owner
    if owner is not None and is_engine(owner) and unknown.name in _HARMLESS:
        return False
    name = dotted_name(unknown).rpartition(".")[2]
    if any(_has_state(value) for value in arguments.all()) or _clears(name):
        return True
    if owner is None:
        reaches = _is_own(unknown.origin) or (_is_result(unknown.origin) and not arguments.all())
        return reaches and not role_of(unknown)
    if unknown.name in _ASKING:
        return False
    role = role_of(owner)
    return role == "optimizer" or (role == "model" and trains(unknown.name))


@cache
def trains(name: str) -> bool:
    """Whether a name says that a model trains itself, or is made ready for that."""
    return _TRAINING.search(name) is not None


@cache
def _clears(name: str) -> bool:
    return _CLEARING.search(name) is not None


def _is_own(origin: Origin) -> bool:
    """Whether it is a method of `self` that is not seen: it reaches all that `self` has."""
    return isinstance(origin, Attribute) and isinstance(origin.of, Instance)


def _is_result(origin: Origin) -> bool:
    """Whether it is a function that another one gave."""
    return isinstance(origin, (Call, Computed)) or (isinstance(origin, Item) and origin.key is None)


_CLEARING = regex(r"(zero|clear|reset|drop|null)\w*grad|^zero_|grads?$|gradients?$", re.I)
"""Names of functions that are there to clear gradients, or may be."""

_TRAINING = regex(
    r"(^|_)(backward|begin|closure|fit|learn|on|optimi[sz]e\w*|prepare|reset|start|steps?|toggle\w*|train\w*|updates?)(_|$)",
    re.I,
)
"""Names of methods by which a model trains itself, or is made ready for that."""

_HARMLESS = frozenset(
    """accumulate autocast clip_grad_norm_ clip_grad_value_ clip_gradients log no_backward_sync no_sync save save_model
    save_state unscale_ unscale_gradients""".split()  # noqa: SIM905 - a table of words.
)
"""Methods of engines and scalers that leave gradients where they are, whatever they are handed."""

_ASKING = frozenset(
    """apply buffers children cpu cuda decode double embed encode eval float forward generate half init_hidden
    load_state_dict log_prob loss modules named_buffers named_children named_modules named_parameters parameters predict
    register_forward_hook sample share_memory state_dict to train""".split()  # noqa: SIM905 - a table of words.
)
"""Methods of models and optimizers that leave gradients where they are."""


def is_gradient(value: Unknown | None) -> bool:
    """Whether an unknown is `p.grad`, or `p.grad.data`."""
    while value is not None and value.name == "data":
        value = value.owner
    return value is not None and value.name == "grad"


def _has_state(value: Value) -> bool:
    """Whether a callee could clear gradients or step through this argument."""
    if isinstance(value, Unknown):
        return role_of(value) in ("model", "optimizer")
    return isinstance(value, (Instance, List, Dict))


def dotted_name(unknown: Unknown) -> str:
    """What an unknown callee is called, with the library that it comes from where that is known."""
    if isinstance(unknown.origin, (Undefined, Library)):
        return unknown.origin.name
    return f"{dotted_name(unknown.owner)}.{unknown.name}" if unknown.owner is not None else unknown.name
