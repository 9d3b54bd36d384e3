"""Enumerations that are cheap to define: `Enum`, used as the standard library's.

That one works for each member what seldom matters, such as flags and aliases, which took a twentieth of the check of a
short file. Type checkers see the standard library's. Members are found by their names (`Way["MOVE"]`) and by their
values (`Level("hint")`), and are pickled by these; each value is that of one member. Other features are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

_SHOWN = ("__repr__", "__str__", "__format__")
"""What a member that is a text has from the enumeration all the same."""


class _Kind(type):
    """The class of enumerations: its members are what the body defines, but for methods, properties and `__these__`."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Kind:
        given = {key: value for key, value in body.items() if key[:2] != "__" and not hasattr(value, "__get__")}
        shown = {key: getattr(_Enum, key) for key in _SHOWN} if str in bases else {}
        made: Any = super().__new__(cls, name, bases, {**shown, **{key: body[key] for key in body if key not in given}})
        made._named = {}
        made._valued = {}
        make = str.__new__ if issubclass(made, str) else lambda made, _: object.__new__(made)
        for key, value in given.items():
            member = make(made, value)
            member.name = key
            member.value = value
            if "__init__" in body:
                member.__init__(*value)
            made._named[key] = made._valued[value] = member
            setattr(made, key, member)
        return made  # type: ignore[no-any-return]  # A class that is made by a call has no static type.

    def __call__(cls: Any, value: object) -> Any:
        """The member with a value."""
        if value.__class__ is cls:
            return value
        if value not in cls._valued:
            raise ValueError(f"{value!r} is not a valid {cls.__qualname__}")
        return cls._valued[value]

    def __getitem__(cls: Any, name: str) -> Any:
        """The member of a name."""
        return cls._named[name]

    def __iter__(cls: Any) -> Iterator[Any]:
        """The members in the order of their definition."""
        return iter(cls._named.values())

    def __len__(cls: Any) -> int:
        return len(cls._named)


class _Enum(metaclass=_Kind):
    """The base of enumerations; a member of one that derives from `str` as well is its value."""

    name: str
    value: Any

    def __repr__(self) -> str:
        return f"<{self}: {self.value!r}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __reduce__(self) -> tuple[type, tuple[object]]:
        return type(self), (self.value,)


if TYPE_CHECKING:
    from enum import Enum
else:
    Enum = _Enum

__all__ = ["Enum"]
