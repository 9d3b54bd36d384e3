"""The effects of unseen calls on gradients: which ones may clear them, or step. The first row that matches decides."""

from __future__ import annotations

from collections.abc import Callable

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call
from gradpath.interpreter.values import Arguments, Object, Unknown, Value
from gradpath.overlays.presumed import clearing, uses
from gradpath.overlays.presumed.asked import Asked
from gradpath.overlays.presumed.places import attributes_made
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.optim import OptimizerInstance
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effect:
    """Whether a call that is not seen may clear gradients, or step, where `match` says yes; `case` is as in a `Row`."""

    id: str
    match: Callable[[Asked], bool]
    clears: bool
    because: str
    case: str


def _is_harmless(asked: Asked) -> bool:
    owner = asked.unknown.owner
    return owner is not None and clearing.is_engine(owner) and asked.unknown.name in clearing.HARMLESS


def _is_called_for_it(asked: Asked) -> bool:
    owner = asked.unknown.owner
    if asked.unknown.name == "zero_" and owner is not None and isinstance(owner.origin, Call):
        return False  # What a call gives is new, such as `weight.new(3)`.
    return clearing.clears(clearing.dotted_name(asked.unknown).rpartition(".")[2])


def _is_given(asked: Asked) -> bool:
    if asked.unknown.owner is not None or asked.role or asked.arguments.all():
        return False
    return clearing.is_result(asked.unknown.origin)


def _gives_loss(asked: Asked) -> bool:
    """True if the program goes backward through what a call gives that is handed no optimizer."""
    if asked.unknown.name in uses.OF_MODULES or any(map(_is_optimizer, asked.arguments.all())):
        return False
    return uses.leads_to_backward(asked.machine)


def _is_optimizer(value: Value) -> bool:
    return isinstance(value, OptimizerInstance) or role_of(value) == "optimizer"


def _is_made_to_train(asked: Asked) -> bool:
    """True for a method, called for training, of an unseen object that was made of what could be trained."""
    owner = asked.unknown.owner
    if owner is None or role_of(owner) or not clearing.trains(asked.unknown.name):
        return False
    made = owner.origin.arguments if isinstance(owner.origin, Call) else ()
    return any(isinstance(each, Object | tuple) and clearing.has_state(each) for each in made)


def _follows(asked: Asked) -> bool:
    roles = ["model" if isinstance(each, ModuleInstance) else role_of(each) for each in asked.arguments.all()]
    named = clearing.follows(clearing.dotted_name(asked.unknown).rpartition(".")[2])
    return named and roles.count("model") == 2 and "optimizer" not in roles


def _makes_part(asked: Asked) -> bool:
    """True if a constructor makes something that it keeps, and that its class calls: a part of the network."""
    function = asked.machine.frame.function
    if (
        function is None
        or getattr(function.node, "name", "") != "__init__"
        or any(map(_is_optimizer, asked.arguments.all()))
    ):
        return False
    kept = attributes_made(function.node).get(asked.machine.node, ())
    return any(uses.is_called(asked.machine, each) for each in kept)


EFFECTS: tuple[Effect, ...] = (
    Effect(
        "harmless method of an engine",
        _is_harmless,
        False,
        "engines and scalers clip, scale and save, whatever they are handed",
        "presumptions/effects.md#an-engine-that-clips",
    ),
    Effect(
        "gives a loss",
        _gives_loss,
        False,
        "whoever goes backward through what a call gives, clears and steps by himself",
        "presumptions/effects.md#a-loss-of-unseen-code",
    ),
    Effect(
        "called a computation",
        lambda asked: clearing.only_computes(clearing.dotted_name(asked.unknown)),
        False,
        "what computes a loss, validates, saves, logs or averages is handed a model for no more than that",
        "presumptions/effects.md#called-a-computation",
    ),
    Effect(
        "one network follows another",
        _follows,
        False,
        "what is handed two networks, and is called an update or a copy, writes the weights of one into the other",
        "presumptions/effects.md#a-target-that-follows",
    ),
    Effect(
        "makes a part",
        _makes_part,
        False,
        "what a constructor makes of a network, and calls later, is a part: nothing has gone backward yet",
        "presumptions/effects.md#a-part-made-of-a-network",
    ),
    Effect(
        "handed a model or an optimizer",
        lambda asked: any(map(clearing.has_state, asked.arguments.all())),
        True,
        "helpers do",
        "presumptions/effects.md#handed-an-optimizer",
    ),
    Effect(
        "called for clearing",
        _is_called_for_it,
        True,
        "that is what the name is for",
        "presumptions/effects.md#called-for-clearing",
    ),
    Effect(
        "own method",
        lambda asked: clearing.is_own(asked.unknown.origin) and not asked.role,
        True,
        "a method of `self` reaches all that `self` has",
        "presumptions/effects.md#a-method-that-a-base-class-gives",
    ),
    Effect(
        "given function",
        _is_given,
        True,
        "whoever calls without an argument what another call gave, does so for its effect",
        "presumptions/effects.md#given-by-another-call",
    ),
    Effect(
        "optimizer that is asked",
        lambda asked: asked.unknown.name in clearing.ASKING,
        False,
        "what an optimizer is asked for changes nothing",
        "presumptions/effects.md#an-optimizer-that-is-asked-for-its-state",
    ),
    Effect(
        "method of an optimizer",
        lambda asked: role_of(asked.unknown.owner) == "optimizer",
        True,
        "optimizers of a program's own have methods of their own for it",
        "presumptions/effects.md#a-method-of-an-optimizer",
    ),
    Effect(
        "model that trains itself",
        lambda asked: role_of(asked.unknown.owner) == "model" and clearing.trains(asked.unknown.name),
        True,
        "what else is asked of a model within a step is no business of its gradients",
        "presumptions/effects.md#a-method-by-which-a-model-gets-ready",
    ),
    Effect(
        "object that is made to train",
        _is_made_to_train,
        True,
        "what was handed a model or an optimizer when it was made may use it later",
        "presumptions/effects.md#an-object-that-was-handed-an-optimizer-when-it-was-made",
    ),
)
"""The effects of calls on gradients; none where no row matches."""


def only_computes(machine: Machine, callee: Unknown, arguments: Arguments) -> bool:
    """True if what an unknown callee gives is computed with what it is handed, and no more is done."""
    named = clearing.only_computes(clearing.dotted_name(callee))
    return named or _gives_loss(Asked(machine, callee, role_of(callee), arguments))


def may_clear(machine: Machine, callee: Unknown, arguments: Arguments) -> bool:
    """True if an unknown callee could clear gradients, or step."""
    asked = Asked(machine, callee, role_of(callee), arguments)
    effect = next((row for row in EFFECTS if row.match(asked)), None)
    return effect is not None and effect.clears
