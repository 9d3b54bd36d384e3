"""The registry of all overlays: names, libraries, and the methods that frameworks call.

An overlay is a module in one of the `FOLDERS` with a `NAMES` table, and nothing else names it.
 With `FOLLOWED` the other names
of its libraries are looked for in their files, as those of any package; with `GENERAL` its libraries are ones
that programs without tensors use as well.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from gradpath.interpreter.entered import Entered
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Class, Value
from gradpath.support.plugins import modules_of

FOLDERS = ("torch", "libraries", "frameworks")


class Caller:
    """A class of a framework that calls methods which the program defines in subclasses of it."""

    __slots__ = ()

    calls: frozenset[str] = frozenset()
    """The methods whose results it back-propagates."""

    known_by: frozenset[str] = frozenset()
    """Methods that a class defines together only if it derives from this one, through bases that are not seen."""

    def enter(self, machine: Machine, entered: Entered) -> Value:
        """Run one of the methods that it `calls`, without another caller, as the framework does."""
        raise NotImplementedError


@cache
def overlays() -> tuple[ModuleType, ...]:
    """The modules of all `FOLDERS`."""
    package, _, _ = __name__.rpartition(".")
    here = Path(__file__).parent
    return tuple(each for folder in FOLDERS for each in modules_of(f"{package}.{folder}", str(here / folder)))


@cache
def names() -> dict[str, object]:
    """The entries of all overlays, by dotted names."""
    return {name: meaning for overlay in overlays() for name, meaning in getattr(overlay, "NAMES", {}).items()}


@cache
def prefixes() -> frozenset[str]:
    """The dotted names of modules that overlays speak of."""
    found = {"torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.nn.modules", "torch.utils"}
    for name in names():
        parts = name.split(".")
        found.update(".".join(parts[:count]) for count in range(1, len(parts)))
    return frozenset(found)


@cache
def is_overlaid(name: str) -> bool:
    """True if a dotted name is not looked for in files: overlays say what it means, or speak for its whole library."""
    top = name.partition(".")[0]
    return name in names() or name in prefixes() or (top in prefixes() and top not in _marked("FOLLOWED"))


@cache
def libraries() -> frozenset[str]:
    """The libraries that mark a program with tensors: those of the overlays, except those that any program uses."""
    tops = {name.partition(".")[0] for name in names()}
    return frozenset(tops - sys.stdlib_module_names - _marked("GENERAL"))


@cache
def called_methods() -> frozenset[str]:
    """The names of the methods that frameworks call, and whose results they back-propagate."""
    return frozenset[str]().union(*(each.calls for each in names().values() if isinstance(each, Caller)))


@cache
def known_by_methods(defined: frozenset[str]) -> Class | None:
    """The class of a framework that one with these methods, and with a base that is not seen, derives from."""
    callers = (each for each in names().values() if isinstance(each, Class) and isinstance(each, Caller))
    return next((each for each in callers if each.known_by and each.known_by <= defined), None)


@cache
def _marked(mark: str) -> frozenset[str]:
    """The libraries of the overlays that have a mark."""
    return frozenset(name.partition(".")[0] for each in overlays() if getattr(each, mark, False) for name in each.NAMES)
