"""Generators of parameters, which are exhausted after one iteration."""

from __future__ import annotations

from gradpath.interpreter.containers import List
from gradpath.interpreter.iteration import Iteration
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call
from gradpath.interpreter.trace import Site
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.presumed.roles import role_of
from gradpath.support.fast_dataclasses import dataclass, field


class Drawn(List):
    """The result of a module's `parameters()`: a generator whose items are known."""

    __slots__ = ()


@dataclass(slots=True)
class _Used:
    """By identity the generators that were gone through, and where; who holds them keeps their identities apart."""

    places: dict[int, tuple[Value, Site]] = field(default_factory=dict)


def go_through(machine: Machine, parameters: Value) -> Site | None:
    """Iterate over parameters; return the place that exhausted them before, if any."""
    if not _is_generator(parameters):
        return None
    used = machine.remembered.setdefault("used up", _Used())
    assert isinstance(used, _Used)
    before = used.places.get(id(parameters))
    if before is None:
        used.places[id(parameters)] = (parameters, machine.site())
    return None if before is None else before[1]


def _is_generator(parameters: Value) -> bool:
    """True if it is one for sure, or `parameters()` of a model that is not seen."""
    match parameters:
        case Drawn() | Iteration():
            return True
        case Unknown(origin=Call(of=Unknown(name="parameters", owner=model))):
            return role_of(model) == "model"
        case _:
            return False
