"""`enum.Enum`: the members of an enumeration are objects of their own, with a name and a value.

Members of `IntEnum` and of string enumerations are the plain values that they are equal to.
"""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import (
    UNDEFINED,
    Arguments,
    Class,
    Descriptor,
    Function,
    Instance,
    NativeFunction,
    Object,
    Value,
    identity,
)
from gradpath.overlays.namespace import Names


class _Auto(Object):
    """`enum.auto()`."""

    __slots__ = ()
    kind_name = "auto"


class EnumClass(Class):
    """`Enum`: what the body of a subclass assigns becomes its members."""

    __slots__ = ()

    def subclassed(self, machine: Machine, subclass: Class) -> None:
        if any(not isinstance(base, EnumClass) and base.node is None for base in subclass.mro[1:]):
            return  # It has a plain type beside it, such as `str`.
        count = 0
        for name, value in list(subclass.members.items()):
            if name.startswith("_") or isinstance(value, (Function, NativeFunction, Descriptor, Class)):
                continue
            count += 1
            member = Instance(subclass)
            given = count if isinstance(value, _Auto) else value
            member.attributes.update(name=name, value=given, _name_=name, _value_=given)
            subclass.members[name] = member
        if count and "__new__" not in subclass.members:
            subclass.members["__new__"] = Descriptor("staticmethod", NativeFunction("Enum", _member_of))


def _member_of(machine: Machine, arguments: Arguments) -> Value:
    cls, value = arguments.get(0, "cls", None), arguments.get(1, "value", None)
    if isinstance(cls, Class):
        for member in cls.members.values():
            if isinstance(member, Instance) and member.cls is cls:
                own = member.attributes.get("value", UNDEFINED)
                if member is value or identity(own) == identity(value):
                    return member
    return machine.unknown("member of an enumeration", ("enum", identity(value)), (value,))


NAMES: Names = {"enum.Enum": EnumClass("Enum"), "enum.auto": lambda machine, arguments: _Auto()}
