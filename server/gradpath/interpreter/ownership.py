"""Events about who has which parameters: what optimizers are given, and what `parameters()` of a module leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.sites import Site
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Given:
    """An optimizer was given parameters, by now all of `parameters`, and those of the unseen `models`.

    These are `copied` where the program made each of them from another. `known` is false where it may have others.
    `groups` counts the groups with options of their own. `twice` says that something is given two times.
    """

    optimizer: object
    parameters: tuple[Tensor, ...]
    models: tuple[object, ...]
    known: bool
    site: Site
    copied: bool = False
    groups: int = 1
    twice: bool = False


@dataclass(frozen=True, slots=True)
class Drained:
    """An optimizer, or an iteration, was given a generator of parameters that had been gone through `before`.

    It got none of them; `optimizer` is None for an iteration. `made` is where the program made the generator. `known`
    is false where it is only presumed to be one.
    """

    optimizer: object | None
    made: Site
    before: Site
    site: Site
    known: bool


@dataclass(frozen=True, slots=True)
class Attached:
    """Something with parameters, `tensors`, became a part of a module after an optimizer had been made.

    `beside` are the parameters that the module had before, the replaced ones included; `holders` are the unseen parts
    of what was replaced, of the module, and of the modules around it.
    """

    tensors: tuple[Tensor, ...]
    beside: tuple[Tensor, ...]
    holders: tuple[object, ...]
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class Supplanted:
    """A parameter, or a part, of a module that is seen gave its place to another: their parameters `before` and `now`.

    `made` is where the part was made that lost it, None for a parameter.
    """

    before: tuple[Tensor, ...]
    now: tuple[Tensor, ...]
    made: Site | None
    site: Site


@dataclass(frozen=True, slots=True)
class Overlooked:
    """`parameters()` of a module left out the content of a plain list, tuple or dict in it, stored at `site`.

    `found` are the parameters that it returned; `kind` is the type of the container, which holds modules or `bare`
    parameters.
    """

    kind: str
    bare: bool
    tensors: tuple[Tensor, ...]
    found: tuple[Tensor, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class FlagMissed:
    """The program meant to freeze `tensors`, or to thaw them, and set an attribute that nothing reads to `value`.

    `by_name` says that nothing but its name tells a module.
    """

    tensors: tuple[Tensor, ...]
    value: bool
    site: Site
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A module was wrapped in one that waits for gradients of all its parameters; `names` are what it calls them."""

    tensors: tuple[Tensor, ...]
    names: tuple[str, ...]
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """`state_dict()` of `owner` was called: what it gives is the memory of its parameters, under their names.

    `state` is that, where the owner is not seen.
    """

    owner: object
    site: Site
    state: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """`owner`, which has the parameters `tensors`, was told to load what was `taken` from it: what it holds already."""

    owner: object
    tensors: tuple[Tensor, ...]
    taken: Taken
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class Overwritten:
    """A network loaded the state of another: `tensor` and `other` are a parameter of each, or represent all of them."""

    tensor: Tensor
    other: Tensor
    site: Site


class _Parameter(Protocol):
    @property
    def tensor(self) -> Tensor: ...


class _Module(Protocol):
    """A module of the program, as far as the readers of a trace know modules."""

    borrowed: bool

    @property
    def has_unknown_parts(self) -> bool: ...

    @property
    def has_unknown_bases(self) -> bool: ...

    def unknown_parts(self) -> Sequence[object]: ...

    def parameters(self) -> Sequence[tuple[str, _Parameter]]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A variable, or an attribute, was bound to a module that is seen; `before` is the module that it was before."""

    name: str
    module: _Module
    site: Site
    before: _Module | None = None

    def parameters(self) -> list[tuple[str, Tensor]]:
        """The parameters that the module has when the path ends, with the way to each from the module."""
        return [(way, value.tensor) for way, value in self.module.parameters()]


@dataclass(frozen=True, slots=True, eq=False)
class Rejoined:
    """A variable, or an attribute, that held a copy of a model was bound to the model itself: `weights` are its own."""

    name: str
    weights: tuple[Tensor, ...]
    site: Site


OwnershipEvent = (
    Given
    | Drained
    | Attached
    | Supplanted
    | Overlooked
    | FlagMissed
    | Wrapped
    | Named
    | Taken
    | Loaded
    | Overwritten
    | Rejoined
)
