"""The origin of a value of which nothing else is known.

What is presumed of such a value, and how confidently, is decided by its origin. The `words` of an origin are for
statistics about what was not understood; nothing is decided by them.
"""

from __future__ import annotations

from typing import TypeAlias

from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter for which no argument is seen."""

    name: str
    words: str = "parameter"


@dataclass(frozen=True, slots=True)
class Undefined:
    """A name that nothing binds."""

    name: str
    words: str = "undefined name"


@dataclass(frozen=True, slots=True)
class Library:
    """The import of a library that is not run, by its full dotted name."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Member:
    """The import of a name from a module of the program that does not bind it, or that was not run so far."""

    path: str
    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of an unknown value, or of an object that is not seen to get it."""

    of: object
    name: str
    words: str = "attribute of unknown"


@dataclass(frozen=True, slots=True)
class Item:
    """The result of an index; the item of an iteration where `key` is None."""

    of: object
    key: object
    words: str = "item of unknown"


@dataclass(frozen=True, slots=True)
class Call:
    """The result of a call of something unknown. `of` is the callee, or, for a method `name` of tensors, its owner."""

    of: object
    name: str
    arguments: tuple[object, ...]

    @property
    def words(self) -> str:
        """The words under which it is counted."""
        return f"call of {self.name or 'unknown'}"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of another unknown value, called `name`: a network has other parameters than its copy."""

    of: object
    name: str
    words: str


class Made(Enum):
    """An operation on other values, as far as it says what the result is."""

    SOMETHING = "something"
    ARITHMETIC = "arithmetic"
    NUMBER = "number"
    """Certainly a number, such as a length."""
    COUNTED = "counted"
    """The program has asked for more of a late counter than is known."""
    COMPARED = "compared"
    """A number that was read out of a tensor was compared."""
    ARRAY = "array"
    """An array of NumPy."""
    DRAWN = "drawn"
    """Drawn at random."""
    BATCH = "batch"
    """Comes round as the samples of a data set do."""
    LONG = "long"
    """The result of a function that took too much to be followed to its end."""
    RECURSION = "recursion"
    """The result of a function that calls itself."""
    DETACHED = "detached"
    """The result of `detach()` on something that may have a graph."""
    STATE = "state"
    """Says whether something has a graph or a gradient of which that is not known."""


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of something that is seen but was not followed."""

    words: str
    sources: tuple[object, ...] = ()
    made: Made = Made.SOMETHING


Origin: TypeAlias = Parameter | Undefined | Library | Member | Attribute | Item | Call | Copy | Computed

DATA = frozenset({Made.NUMBER, Made.COUNTED, Made.COMPARED, Made.ARRAY, Made.DRAWN})
"""The operations whose result is a number, a text, an array or the like."""


def is_of_another(one: Origin, other: Origin) -> bool:
    """True if two are attributes or items of two objects: what is computed again has other ones."""
    return isinstance(one, (Attribute, Item)) and isinstance(other, (Attribute, Item)) and one.of is not other.of


def name_of(origin: Origin) -> str:
    """The name that the program gives it at its origin; "" where it has none."""
    match origin:
        case Parameter(name=name) | Attribute(name=name) | Member(name=name) | Copy(name=name):
            return name
        case Library(name=name):
            return name.rpartition(".")[2]
    return ""


def sources_of(origin: Origin) -> tuple[object, ...]:
    """The values that it was made of."""
    match origin:
        case Attribute(of=of) | Item(of=of):
            return (of,)
        case Call(of=of, arguments=arguments):
            return (of, *arguments)
        case Computed(sources=sources):
            return sources
    return ()
