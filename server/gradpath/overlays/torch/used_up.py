"""Generators of parameters, which are exhausted after one iteration."""

from __future__ import annotations

import itertools

from gradpath.interpreter.events import Site
from gradpath.interpreter.iteration import Iteration, endless
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call
from gradpath.interpreter.ownership import Drained
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.presumed.roles import role_of
from gradpath.support.fast_dataclasses import dataclass, field


class Drawn(Iteration):
    """The result of a module's `parameters()`, or of a method like it; `open` where the module may have more."""

    __slots__ = ("open",)

    def __init__(self, machine: Machine, module: Value, items: list[Value], *, open: bool) -> None:
        more = endless(machine, (), items) if open else ()
        super().__init__(itertools.chain(items, more), endless=open, over=[module])
        self.open = open
        self.known = len(items)
        self.made = machine.site()


@dataclass(slots=True)
class _Used:
    """The numbers of the unseen generators that were gone through, and where."""

    places: dict[int, Site] = field(default_factory=dict)


def _used(machine: Machine) -> dict[int, Site]:
    used = machine.remembered.setdefault("used up", _Used())
    assert isinstance(used, _Used)
    return used.places


def use_up(machine: Machine, unknown: Unknown) -> None:
    """Note that the program went through all items of an unknown value."""
    if _is_unseen(unknown):
        _used(machine).setdefault(unknown.number, machine.site())


def go_through(machine: Machine, parameters: Value) -> Site | None:
    """The place that exhausted a generator before, if any; all that it yields is taken now."""
    before = drained_at(machine, parameters)
    if isinstance(parameters, Unknown):
        use_up(machine, parameters)
    return before


def drained_at(machine: Machine, parameters: Value) -> Site | None:
    """The place that exhausted a generator, or `parameters()` of a model that is not seen."""
    match parameters:
        case Iteration(drained=Site() as site):
            return site
        case Unknown():
            return _used(machine).get(parameters.number) if "used up" in machine.remembered else None
    return None


def is_used_up(machine: Machine, parameters: Value) -> bool:
    """True if the program begins to iterate over an exhausted generator of parameters, which is noted."""
    before, made = drained_at(machine, parameters), made_at(parameters)
    if before is None:
        return False
    if made is not None and _is_of_parameters(parameters):
        machine.emit(Drained(None, made, before, machine.site(), not isinstance(parameters, Unknown)))
    return True


def _is_of_parameters(value: Value) -> bool:
    """True if the items come from `parameters()` of some module."""
    match value:
        case Drawn():
            return True
        case Iteration():
            return any(map(_is_of_parameters, value.over))
        case Unknown():
            return _is_unseen(value)
    return False


def made_at(parameters: Value) -> Site | None:
    """The place where the program made a generator."""
    match parameters:
        case Iteration(made=Site() as made):
            return made
        case Unknown(site=Site() as made):
            return made
    return None


def _is_unseen(unknown: Unknown) -> bool:
    """True if it is `parameters()` of a model that is not seen, presumably a generator."""
    match unknown.origin:
        case Call(of=Unknown(name="parameters" | "named_parameters", owner=model)):
            return role_of(model) == "model"
    return False
