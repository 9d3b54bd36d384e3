"""Data classes that are cheap to define: `dataclass`, `field` and `replace`, used as the library's own.

The standard library writes the source of every method and compiles it when a class is defined, and loads `inspect` for
that: a third of the time that the check of a short file took. Here `__init__` is compiled when some objects have been
made, and the other methods are closures. Type checkers see the standard library's, and they alone keep what is frozen
as it is: to set fields around a `__setattr__` that refuses would make each object twice as dear.

A data class here has slots and derives from no other data class; unused features are left out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

_T = TypeVar("_T")

_MISSING = object()
"""Stands for what was not given."""

_FEW = 20
"""Objects of a class that take no longer to fill one by one than to compile `__init__`."""

_ORDER = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}


class _Field:
    """The default of a field, and whether it takes part in comparisons."""

    __slots__ = ("compare", "default", "factory", "repr")

    def __init__(
        self,
        *,
        default: object = _MISSING,
        default_factory: Callable[[], object] | None = None,
        repr: bool = True,
        compare: bool = True,
    ) -> None:
        self.default = default
        self.factory = default_factory
        self.repr = repr
        self.compare = compare


def _dataclass(
    *, slots: Literal[True], frozen: bool = False, eq: bool = True, order: bool = False
) -> Callable[[type[_T]], type[_T]]:
    """Make a data class of the class below: a new class, because slots cannot be added to an existing one."""

    def define(cls: type[_T]) -> type[_T]:
        body = dict(cls.__dict__)
        fields: dict[str, _Field] = {}
        for name in cls.__annotations__:
            given = body.pop(name, _MISSING)
            fields[name] = given if isinstance(given, _Field) else _Field(default=given)
        for name in ("__dict__", "__weakref__"):  # They belong to the class without slots.
            body.pop(name, None)
        methods = _methods(fields, eq=eq, order=order, frozen=frozen)
        names = {"__qualname__": cls.__qualname__, "__slots__": tuple(fields), "__match_args__": tuple(fields)}
        made: Any = type(cls.__name__, cls.__bases__, {**methods, **body, **names})

        few = _FEW

        def initialize(self: Any, *arguments: object, **keywords: object) -> None:
            nonlocal few
            few -= 1
            if few < 0 or not _fill(self, fields, arguments, keywords):
                made.__init__ = _initializer(made, fields)
                self.__init__(*arguments, **keywords)

        made.__init__ = initialize
        return made  # type: ignore[no-any-return]  # A class that is made by a call has no static type.

    return define


def _replace(record: Any, /, **changes: object) -> Any:
    """The same with other values for some fields."""
    values = {name: getattr(record, name) for name in record.__match_args__}
    return type(record)(**{**values, **changes})


def _methods(fields: dict[str, _Field], *, eq: bool, order: bool, frozen: bool) -> dict[str, object]:
    """The methods of a data class, but for `__init__`."""
    shown = [name for name, field in fields.items() if field.repr]
    values = _getter(list(fields))

    def __repr__(self: object) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({told})"

    def __reduce__(self: object) -> tuple[type, tuple[object, ...]]:
        return type(self), values(self)

    methods: dict[str, object] = {"__repr__": __repr__, "__reduce__": __reduce__}
    if eq:
        compared = _getter([name for name, field in fields.items() if field.compare])
        methods["__eq__"] = _comparison(operator.eq, compared)
        methods["__hash__"] = (lambda self: hash(compared(self))) if frozen else None
        if order:
            methods.update({name: _comparison(compare, compared) for name, compare in _ORDER.items()})
    return methods


def _getter(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """The values of some fields as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _comparison(compare: Callable[[Any, Any], bool], values: Callable[[object], object]) -> Callable[..., bool]:
    def method(self: object, other: object) -> bool:
        return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return method


def _fill(record: Any, fields: dict[str, _Field], arguments: tuple[object, ...], keywords: dict[str, object]) -> bool:
    """Set the fields of an object as `__init__` does; false, with nothing promised, where that would raise."""
    given = {**dict(zip(fields, arguments, strict=False)), **keywords}
    if len(given) != len(arguments) + len(keywords) or not given.keys() <= fields.keys():
        return False
    for name, field in fields.items():
        value = given[name] if name in given else field.default if field.factory is None else field.factory()
        if value is _MISSING:
            return False
        setattr(record, name, value)
    return True


def _initializer(cls: type, fields: dict[str, _Field]) -> Callable[..., None]:
    """Compile `__init__`."""
    known: dict[str, Any] = {"_MISSING": _MISSING}
    parameters, lines = [], ["pass"]
    for name, field in fields.items():
        known[f"_default_{name}"] = field.default
        known[f"_make_{name}"] = field.factory
        if field.factory is not None:
            parameters.append(f"{name}=_MISSING")
            lines.append(f"if {name} is _MISSING: {name} = _make_{name}()")
        else:
            parameters.append(name if field.default is _MISSING else f"{name}=_default_{name}")
        lines.append(f"self.{name} = {name}")
    exec(f"def __init__(self, {', '.join(parameters)}):\n " + "\n ".join(lines), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _dataclass, _Field, _replace

__all__ = ["dataclass", "field", "replace"]
