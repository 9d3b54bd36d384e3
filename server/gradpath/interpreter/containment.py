"""How tensors are held: by the containers that names refer to, and by the running bodies when a path fails."""

from __future__ import annotations

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.sites import Site
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A container that a name is bound to: its kind ("tuple", "list", "dict") and the tensors in it.

    `complete` says that it holds nothing else.
    """

    kind: str
    tensors: tuple[Tensor, ...]
    container: object
    complete: bool


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """How tensors are contained: `kind` is "tensor", "tuple", "list", "deque", "dict", "record" or "optimizer".

    A record is a named tuple, a deque has a limited length. It is "detachable" for an instance whose own class has a
    `detach` method. `parts` are the forms of the items by index, key or field, as source text; a tensor has none.
    `tensors` are all of them, `container` is the object itself, which holds more than is seen where it is `open`.
    """

    kind: str
    tensors: tuple[Tensor, ...]
    container: object
    parts: tuple[tuple[str, Form], ...] = ()
    open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The value of a variable, or of an attribute reachable from it, when the path failed.

    `text` reads it in the body that `caller` called (None for the module), and begins with the variable `root`.
    """

    caller: Site | None
    root: str
    text: str
    form: Form
