"""The turns of a gradient scaler: at most one `unscale_` and then one `step` for each optimizer between two `update`s.

As seen in PyTorch 2.13. A scaler that is not enabled, as without a CUDA device, lets everything pass.
"""

from __future__ import annotations

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.provenance import OBSERVED, Presumption, Provenance
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Site
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Attribute
from gradpath.interpreter.values import Arguments, BoundMethod, Function, Instance, Unknown, Value, identity
from gradpath.overlays.presumed.roles import role_of
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum


class Turn(Enum):
    """What a scaler did last for an optimizer."""

    UNSCALED = "unscale_"
    STEPPED = "step"


@dataclass(frozen=True, slots=True)
class _Taken:
    """A turn of this call of the entered function; before another one anything may have been updated."""

    turn: Turn
    site: Site
    era: int


_REFUSALS = {
    (Turn.UNSCALED, Turn.UNSCALED): FaultKind.UNSCALED_TWICE,
    (Turn.STEPPED, Turn.UNSCALED): FaultKind.UNSCALED_LATE,
    (Turn.STEPPED, Turn.STEPPED): FaultKind.STEPPED_TWICE,
}


def take(machine: Machine, scaler: Value, optimizer: Value, turn: Turn, provenance: Provenance = OBSERVED) -> None:
    """Raise where the scaler may not do that for the optimizer now; `provenance` is that of its being enabled."""
    key = identity(scaler), identity(optimizer)
    before = _taken(machine).get(key)
    refusal = None if before is None or before.era != machine.era else _REFUSALS.get((before.turn, turn))
    if before is not None and refusal is not None:
        error = AutogradError(refusal, at=before.site)
        error.presumed = (provenance,) if isinstance(provenance, Presumption) else ()
        raise error
    _taken(machine)[key] = _Taken(turn, machine.site(), machine.era)


def update(machine: Machine, scaler: Value) -> None:
    """`scaler.update()`: all optimizers may be stepped again."""
    for key in [key for key in _taken(machine) if key[0] == identity(scaler)]:
        del _taken(machine)[key]


def may_have_updated(machine: Machine, callee: Unknown, arguments: Arguments) -> None:
    """Something that is not seen is called, and may update the scalers that it gets at."""
    taken = _taken(machine)
    if not taken or callee.is_data or role_of(callee) or callee.name.startswith(_ASKING):
        return
    receiver = callee.origin.of if isinstance(callee.origin, Attribute) else None
    for value in (receiver, *arguments.all()):
        match value:
            case tuple() | List() | Dict() | Instance() | Function() | BoundMethod():
                taken.clear()
            case _:
                update(machine, value)


def _taken(machine: Machine) -> dict[tuple[object, object], _Taken]:
    found = machine.remembered.setdefault(_TAKEN, {})
    assert isinstance(found, dict)
    return found


_ASKING = ("get_", "is_", "state_dict")
"""Prefixes of the methods by which a program asks a scaler for something."""

_TAKEN = "turns of gradient scalers"
