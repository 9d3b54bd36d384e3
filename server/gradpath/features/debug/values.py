"""Values of a path in words: what a function was called with, and where an unknown value comes from."""

from __future__ import annotations

from gradpath.autograd.tensor import Tensor
from gradpath.features.life import kind_of
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.origins import (
    Attribute,
    Call,
    Computed,
    Copy,
    Item,
    Library,
    Member,
    Origin,
    Parameter,
    Undefined,
    sources_of,
)
from gradpath.interpreter.values import CONSTANTS, UNDEFINED, Function, Instance, Object, Unknown
from gradpath.overlays.presumed.roles import role_of

_LINKS = 4
"""The most links of a chain of origins that are shown."""

_LONGEST = 40
"""Characters of a constant."""

_KINDS = {
    Kind.PLAIN: "data without a graph",
    Kind.LIVE: "the result of a model or a loss, with a graph",
    Kind.PART: "a part of a tensor with a graph",
    Kind.PARAMETER: "a parameter of a model that is not seen",
    Kind.CUT: "the result of a model without a graph",
}


def told(value: object) -> str:
    """A value in a few words."""
    tensor = getattr(value, "tensor", None)
    if isinstance(tensor, Tensor):
        return kind_of(tensor)
    if isinstance(value, Unknown):
        return f"unknown{_presumed(value)}"
    if isinstance(value, Instance):
        return f"an instance of `{value.cls.name}`"
    if isinstance(value, Function):
        return f"the function `{value.name}`"
    if isinstance(value, CONSTANTS):
        text = repr(value)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"a {value.type_name()}" if isinstance(value, Object) else f"a {type(value).__name__}"


def _presumed(value: Unknown) -> str:
    """The presumed kind of an unknown value, and why."""
    role = role_of(value)
    if role:
        article = "an" if role[0] in "aeiou" else "a"
        return f", taken for {article} {role} by its {'use' if value.role else 'name'}"
    if value.hint is not UNDEFINED:
        return f", probably {told(value.hint)}"
    if value.kind in _KINDS:
        return f", taken for {_KINDS[value.kind]}"
    return ", may be anything"


def origin_of(value: Unknown) -> str:
    """Where an unknown value comes from, link by link."""
    links: list[str] = []
    each: object = value
    while isinstance(each, Unknown) and len(links) < _LINKS:
        links.append(_link(each.origin))
        each = next((source for source in sources_of(each.origin) if isinstance(source, Unknown)), None)
    return " of ".join(links)


def _link(origin: Origin) -> str:
    match origin:
        case Parameter(name=name):
            return f"the parameter `{name}`, for which no argument is seen"
        case Undefined(name=name):
            return f"`{name}`, which nothing binds"
        case Library(name=name):
            return f"`{name}`, which is not modelled"
        case Member(path=path, name=name):
            return f"`{name}` in {path}, which is not run"
        case Attribute(name=name):
            return f"the attribute `{name}`"
        case Item():
            return "an item"
        case Call(name=name):
            return f"the result of `{name}`" if name else "the result of a call"
        case Copy(name=name):
            return f"a copy of `{name}`"
        case Computed(words=words):
            return words
