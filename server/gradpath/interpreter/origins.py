"""Where a value comes from of which nothing else is known: what a program says of it all the same.

What is presumed of such a value, and how surely, is decided by its origin. The `words` of one are for those who count
what was not understood; nothing is decided by them.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from gradpath.support.fast_dataclasses import dataclass


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
    """What an import gives of a library that is not run, by its whole dotted name."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Member:
    """What an import gives of a module of the program, in which nothing binds it, or in which it is not run."""

    path: str
    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute that was asked for, of an unknown value or of an object that nobody is seen to give it."""

    of: object
    name: str
    words: str = "attribute of unknown"


@dataclass(frozen=True, slots=True)
class Item:
    """What an index gives, or, where the `key` is None, the next iteration."""

    of: object
    key: object
    words: str = "item of unknown"


@dataclass(frozen=True, slots=True)
class Call:
    """What a call gives of what is not seen. `of` is what was called, or, for a method `name` of tensors, its owner."""

    of: object
    name: str
    arguments: tuple[object, ...]

    @property
    def words(self) -> str:
        """What is counted."""
        return f"call of {self.name or 'unknown'}"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of another unknown value called `name`: a network has other parameters than its copy."""

    name: str
    words: str


class Made(Enum):
    """What was done to other values, as far as that tells what came of it."""

    SOMETHING = "something"
    ARITHMETIC = "arithmetic"
    NUMBER = "number"
    """Surely a number, such as a length."""
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
    RECURSION = "recursion"
    """The result of a function that calls itself."""
    DETACHED = "detached"
    """What `detach()` gives of something that may have a graph."""


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of something that is seen but was not followed."""

    words: str
    sources: tuple[object, ...] = ()
    made: Made = Made.SOMETHING


Origin: TypeAlias = Parameter | Undefined | Library | Member | Attribute | Item | Call | Copy | Computed

DATA = frozenset({Made.NUMBER, Made.COUNTED, Made.COMPARED, Made.ARRAY, Made.DRAWN})
"""What was made like that is a number, a text, an array or the like."""


def is_of_another(one: Origin, other: Origin) -> bool:
    """Whether two are attributes or items of two objects: what is computed again has other ones."""
    return isinstance(one, (Attribute, Item)) and isinstance(other, (Attribute, Item)) and one.of is not other.of


def name_of(origin: Origin) -> str:
    """What the program calls it where it comes from, "" where it has no name there."""
    match origin:
        case Parameter(name=name) | Attribute(name=name) | Member(name=name) | Copy(name=name):
            return name
        case Library(name=name):
            return name.rpartition(".")[2]
        case _:
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
        case _:
            return ()
