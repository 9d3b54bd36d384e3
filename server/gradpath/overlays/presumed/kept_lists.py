"""Lists that are not seen, such as `policy.saved_log_probs`, and what the program appends to them.

Such a list lasts, and holds what was appended until the program empties it, or something that is not seen may have.
What it held before stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.interpreter.containers import List
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Item, Undefined
from gradpath.interpreter.values import Arguments, Instance, Unknown, Value
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.presumed_tensors import presume_tensor
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.tensor_value import TensorValue, wrap

_GLOBAL = 0
"""Stands for all that a name leads to which nothing binds: a bare `clear()` gets at it."""

_KEPT = "lists that are not seen, with what was appended"


class Kept(List):
    """A list that was made elsewhere."""

    __slots__ = ()
    elsewhere = True


def append(machine: Machine, holder: Unknown, arguments: Arguments) -> bool:
    """Note that `holder.append(value)` keeps a tensor with a graph; True if it did."""
    key = _key_of(holder)
    if key is None or holder.kind is not Kind.ANYTHING or role_of(holder) or len(arguments.all()) != 1:
        return False
    value = arguments.all()[0]
    if isinstance(value, Unknown) and value.kind in OF_TENSORS:
        value = presume_tensor(machine, value)
    if not isinstance(value, TensorValue) or not value.tensor.certainly_requires_grad or value.tensor.node is None:
        return False
    presumed = conditions.KEPT.of(conditions.name_of(holder))
    tensor = value.tensor
    kept = machine.autograd.presumed([tensor], provenance=presumed, onward=presumed)
    kept.shape, kept.dtype, kept.label, kept.origin = tensor.shape, tensor.dtype, tensor.label, tensor.origin
    kept.aliasing_unsure = True
    machine.remember(key, Kept([wrap(kept)], open=True))
    known = machine.remembered.setdefault(_KEPT, {})
    assert isinstance(known, dict)
    known[key] = frozenset(_line(holder))
    return True


def lent(machine: Machine, callee: Unknown, arguments: Arguments) -> None:
    """Forget the lists that unseen code may have emptied: it has the object that they are of, or any global."""
    known = machine.remembered.get(_KEPT)
    if not isinstance(known, dict) or not known or role_of(callee):
        return
    owner = callee.origin.of if isinstance(callee.origin, Attribute) else None
    reached = {_own(each) for each in (owner, *arguments.all())}
    if owner is None and not arguments.all():
        reached.add(_GLOBAL)
    for key, line in list(known.items()):
        if reached & line:
            del known[key]
            machine.remembered.pop(key, None)


def _key_of(holder: Unknown) -> tuple[object, ...] | None:
    """The key under which a path remembers what an attribute or a name is."""
    match holder.origin:
        case Attribute(of=Unknown() as owner, name=name):
            return ("attr", owner.number, name)
        case Attribute(of=Instance() as owner, name=name):
            return ("attr", id(owner), name)
        case Undefined(name=name):
            return ("name", name)
    return None


def _own(value: Value) -> int | None:
    match value:
        case Unknown():
            return value.number
        case Instance():
            return id(value)
    return None


def _line(value: Value) -> Iterator[int | None]:
    """What identifies a value, and all that it is a part of; `_GLOBAL` where a name of the module leads to it."""
    while isinstance(value, Unknown):
        yield _own(value)
        if isinstance(value.origin, Undefined):
            yield _GLOBAL
        value = value.origin.of if isinstance(value.origin, (Attribute, Item)) else None
    if isinstance(value, Instance):
        yield _own(value)
