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
    """The result of a module's `parameters()`, called at `site`: a generator whose items are known."""

    __slots__ = ("site",)

    def __init__(self, items: list[Value], *, open: bool, site: Site) -> None:
        super().__init__(items, open=open)
        self.site = site


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
        drained = parameters.drained if isinstance(parameters, Iteration) else None
        return drained if isinstance(drained, Site) else None
    return before[1]


def made_at(parameters: Value) -> Site | None:
    """The place where the program made a generator."""
    made = parameters.made if isinstance(parameters, Iteration) else getattr(parameters, "site", None)
    return made if isinstance(made, Site) else None


def _is_generator(parameters: Value) -> bool:
    """True if it is one for sure, or `parameters()` of a model that is not seen."""
    match parameters:
        case Drawn() | Iteration():
            return True
        case Unknown(origin=Call(of=Unknown(name="parameters", owner=model))):
            return role_of(model) == "model"
    return False
