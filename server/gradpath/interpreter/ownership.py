"""Events about who has which parameters: what optimizers are given, and what modules hold without telling of it."""

from __future__ import annotations

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.sites import Site
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Given:
    """An optimizer was given parameters, by now all of `parameters`, and those of the unseen `models`.

    These are `copied` where the program made each of them from another. `known` is false where it may have others.
    `groups` counts the groups with options of their own.
    """

    optimizer: object
    parameters: tuple[Tensor, ...]
    models: tuple[object, ...]
    known: bool
    site: Site
    copied: bool = False
    groups: int = 1


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
    """The program meant to freeze `tensors`, and set an attribute that nothing reads."""

    tensors: tuple[Tensor, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A module was wrapped in one that waits for gradients of all its parameters; `names` are what it calls them."""

    tensors: tuple[Tensor, ...]
    names: tuple[str, ...]
    site: Site


OwnershipEvent = Given | Attached | Overlooked | FlagMissed | Wrapped
