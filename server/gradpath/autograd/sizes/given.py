"""The arguments of a call as a rule of sizes sees them: the shapes of its tensors, and its plain arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from gradpath.autograd.tensor import Shape
from gradpath.support.fast_enums import Enum

T = TypeVar("T")

Sizes = tuple["int | None", ...]
"""Plain numbers of an argument such as `size=(3, -1)`; None stands for one that is not known."""


class Doubt(Enum):
    """The value of an argument of which only the presence is known."""

    UNSURE = "unsure"


UNSURE: Final = Doubt.UNSURE


class Unsized(ValueError):
    """A call that does not say enough to know the sizes of its result."""


def known(found: T | None) -> T:
    """What is known of a call; raises where it is not."""
    if found is None:
        raise Unsized
    return found


class Given:
    """One call: `shapes` by parameter name (several where it takes a list), the rest of the arguments by name.

    `read` makes plain Python of an argument: a number, a string, a flag, None, a tuple of such, `...`, or UNSURE.
    """

    __slots__ = ("_arguments", "_defaults", "_read", "shapes")

    def __init__(
        self,
        shapes: Mapping[str, Sequence[Shape | None]],
        arguments: Mapping[str, object],
        defaults: Mapping[str, object],
        read: Callable[[object], object],
    ) -> None:
        self.shapes = shapes
        self._arguments = arguments
        self._defaults = defaults
        self._read = read

    def about(self, numbers: Shape) -> Given:
        """The same call about a tensor with other numbers for its dimensions."""
        first = next(iter(self.shapes))
        return Given({**self.shapes, first: [numbers]}, self._arguments, self._defaults, self._read)

    @property
    def first(self) -> Shape:
        """The shape of the first tensor; raises where it is not known."""
        return known(self.first_if_known)

    @property
    def first_if_known(self) -> Shape | None:
        return next((each[0] for each in self.shapes.values() if each), None)

    @property
    def every(self) -> list[Shape | None]:
        """The shapes of all tensors."""
        return [shape for each in self.shapes.values() for shape in each]

    def shape(self, *names: str) -> Shape:
        """The shape of the tensor that is given under the first of these names that there is; raises without one."""
        return known(self.shape_if_known(*names))

    def shape_if_known(self, *names: str) -> Shape | None:
        return next((self.shapes[name][0] for name in names if self.shapes.get(name)), None)

    def has(self, name: str) -> bool:
        """True if the call gives this argument a value, or the signature does."""
        return self.value(name) is not None

    def value(self, name: str, default: object = None) -> object:
        """An argument as plain Python; `default` where neither the call nor the signature has one."""
        if name in self._arguments:
            return self._read(self._arguments[name])
        found = self._defaults.get(name)
        return default if found is None else tuple(found) if isinstance(found, list) else found

    def integer(self, name: str, default: int | None = None) -> int | None:
        """An argument that is a whole number; None where it is not known."""
        found = self.value(name, default)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def dim(self, name: str, rank: int, default: int | None = None) -> int:
        """An argument that is one of so many dimensions, counted from the front; raises where it is not known."""
        return known(position(self.integer(name, default), rank))

    def flag(self, name: str) -> bool | None:
        """An argument that is True or False; None where it is not known. One that is absent counts as False."""
        found = self.value(name, False)
        return found if isinstance(found, bool) else None

    def integers(self, *names: str) -> Sizes | None:
        """The first of these arguments that there is, as a sequence of whole numbers; None where it is not known."""
        for name in names:
            found = self.value(name)
            if found is None:
                continue
            if isinstance(found, int) and not isinstance(found, bool):
                return (found,)
            if isinstance(found, tuple):
                if len(found) == 1 and isinstance(found[0], tuple):
                    found = found[0]
                return tuple(each if isinstance(each, int) and not isinstance(each, bool) else None for each in found)
            return None
        return None


Rule = Callable[[Given], "Shape | None"]
"""The form of a rule: the shape of a result, None where the call does not determine it."""


def position(dim: int | None, rank: int) -> int | None:
    """A dimension counted from the front; None where it is not known or out of range."""
    if dim is None or not -rank <= dim < rank:
        return None
    return dim % rank


def replaced(shape: Shape, dim: int, size: int | None) -> Shape:
    """The shape with another size at one place."""
    return (*shape[:dim], size, *shape[dim + 1 :])


def product(sizes: Sequence[int | None]) -> int | None:
    """The number of elements; None where a size is unknown."""
    total = 1
    for size in sizes:
        if size is None or size < 0:
            return None
        total *= size
    return total


def total(sizes: Sequence[int | None]) -> int | None:
    """The sum of sizes; None where one is not known."""
    found = 0
    for size in sizes:
        if size is None or size < 0:
            return None
        found += size
    return found
