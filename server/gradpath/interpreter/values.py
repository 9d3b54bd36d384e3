"""The values of the interpreted program.

A constant of Python (None, a bool, a number, a string, bytes, `...`) stands for itself, and so does a tuple of values.
Everything else is an `Object`. `Unknown` is a value of its own kind: it absorbs all operations and keeps its origin.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from gradpath.autograd.provenance import OBSERVED, Provenance
from gradpath.interpreter.bounds import is_light
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.linearisation import linearise
from gradpath.interpreter.origins import Attribute, Call, Item, Origin, name_of, sources_of
from gradpath.interpreter.sites import Site
from gradpath.support.fast_dataclasses import dataclass, field

if TYPE_CHECKING:
    from gradpath.interpreter.machine import Machine
    from gradpath.interpreter.scope import Scope

Value: TypeAlias = object
"""A constant, a tuple of values, or an `Object`."""

CONSTANTS = (type(None), bool, int, float, complex, str, bytes, type(...), range)
KINDS = frozenset(CONSTANTS)


class Undefined:
    """The absence of a value; never visible to the interpreted program."""


UNDEFINED = Undefined()


@dataclass(slots=True)
class Arguments:
    """The arguments of a call. `open` says that `*args` or `**kwargs` of unknown content were passed as well."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    open: bool = False

    def get(self, position: int, name: str, default: Value = UNDEFINED) -> Value:
        """The argument at `position` or called `name`, else `default`."""
        if name in self.keywords:
            return self.keywords[name]
        if 0 <= position < len(self.positional):
            return self.positional[position]
        return default

    def all(self) -> list[Value]:
        """All values passed, positional ones first."""
        return [*self.positional, *self.keywords.values()]

    def shifted(self, first: Value) -> Arguments:
        """The same call with `first` put in front, as a bound method does."""
        return Arguments([first, *self.positional], self.keywords, self.open)


class Object:
    """A value that is not a constant. Each method is one protocol of Python's data model.

    `NotImplemented` from `unary`, `binary`, `inplace` and `compare` means what it means in Python. `truth` gives None
    where it is not settled, `iterate` where neither the number of the items nor the items are known. `binds`
    says that it is a function, which becomes a method in an instance's class; what `refuses_calls` raises when called;
    what `compares_parts` gives an answer for each of its parts when it is compared. `kind_name` is what the program
    calls its type, where that is not the name of the class here.
    """

    __slots__ = ()

    kind_name = ""
    binds = refuses_calls = compares_parts = False

    def type_name(self) -> str:
        return self.kind_name or type(self).__name__

    def attribute(self, machine: Machine, name: str) -> Value:
        words = f"attribute {name} of {self.type_name()}"
        return machine.unknown_from(Attribute(self, name, words), ("attr", id(self), name))

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        return

    def delete_attribute(self, machine: Machine, name: str) -> None:
        return

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.unknown_from(Call(self, self.type_name(), tuple(arguments.all())))

    def item(self, machine: Machine, key: Value) -> Value:
        return machine.unknown_from(Item(self, key, f"item of {self.type_name()}"))

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        return

    def delete_item(self, machine: Machine, key: Value) -> None:
        return

    def unary(self, machine: Machine, operator: str) -> Value:
        return NotImplemented

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        return NotImplemented

    def inplace(self, machine: Machine, operator: str, other: Value) -> Value:
        return NotImplemented

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        return NotImplemented

    def contains(self, machine: Machine, item: Value) -> Value:
        return machine.unknown("membership", None, (self, item), data=True)

    def truth(self, machine: Machine) -> bool | None:
        return True

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return None

    def length(self, machine: Machine) -> int | None:
        return None

    def parts(self) -> Sequence[Value]:
        """The values that it holds, for those who search it for tensors."""
        return ()


class Unknown(Object):
    """A value of which only the origin is known.

    `origin` says where it comes from, `root` the origin of the first unknown that it was derived from, `site` where the
    program first met it; `name`, `owner` and `sources` are read off its origin. `hint` is a constant that it probably
    equals. `kind` is what the overlays take it for (and `provenance` how certain that is), `role` what the program uses
    it as, `label` the last variable for it, `tensor` the tensor that was made of it, `named` what is under the texts by
    which the program has indexed it. `is_data`: a number or the like; `is_object`: no tensor.
    """

    __slots__ = (
        "hint",
        "is_data",
        "is_object",
        "kind",
        "label",
        "name",
        "named",
        "negates",
        "number",
        "origin",
        "owner",
        "provenance",
        "role",
        "root",
        "site",
        "sources",
        "tensor",
    )
    kind_name = "unknown"

    def __init__(self, number: int, origin: Origin, site: Site) -> None:
        self.number = number
        self.origin = self.root = origin
        self.site = site
        self.name = name_of(origin)
        self.sources: tuple[Value, ...] = sources_of(origin)
        self.owner = origin.of if isinstance(origin, Attribute) and isinstance(origin.of, Unknown) else None
        self.hint: Value = UNDEFINED
        self.is_data = self.is_object = False
        self.negates: Unknown | None = None
        self.named: dict[str, Value] | None = None
        self.label = self.role = ""
        self.kind = Kind.ANYTHING
        self.provenance: Provenance = OBSERVED
        self.tensor: Value = None

    def attribute(self, machine: Machine, name: str) -> Value:
        return machine.library.unknown_attribute(machine, self, name)

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        machine.library.set_unknown_attribute(machine, self, name, value)

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.library.unknown_call(machine, self, arguments)

    def item(self, machine: Machine, key: Value) -> Value:
        return machine.library.unknown_item(machine, self, key)

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        machine.library.set_unknown_item(machine, self, key, value)

    def delete_item(self, machine: Machine, key: Value) -> None:
        machine.remembered.pop(("in", self.number, identity(key)), None)

    def unary(self, machine: Machine, operator: str) -> Value:
        return machine.library.unknown_sign(machine, self, operator)

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        return machine.library.unknown_operation(machine, self, operator, other, reflected)

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        return machine.library.unknown_operation(machine, self, operator, other, reflected)

    def contains(self, machine: Machine, item: Value) -> Value:
        return machine.unknown("membership", ("in", self.number, identity(item)), (self, item), data=True)

    def truth(self, machine: Machine) -> bool | None:
        return None


def is_data(value: Value) -> bool:
    """True if a value is known to be a number, a text or the like, though maybe not which; it holds no tensor."""
    if isinstance(value, tuple):
        return is_light(value) and all(map(is_data, value))
    return type(value) in KINDS or isinstance(value, slice) or getattr(value, "is_data", False)


def identity(value: Value) -> object:
    """The key of a value: a constant itself, the number of an unknown, else the object's identity."""
    if type(value) in KINDS:
        return (type(value).__name__, value)
    if isinstance(value, Unknown):
        return ("?", value.number)
    if isinstance(value, tuple) and is_light(value):
        return tuple(identity(part) for part in value)
    key = getattr(value, "decision_key", None)
    return key() if key is not None else id(value)


Native: TypeAlias = Callable[["Machine", Arguments], Value]


class NativeFunction(Object):
    """A function that an overlay or a builtin implements."""

    __slots__ = ("function", "name")
    kind_name = "function"

    binds = True

    def __init__(self, name: str, function: Native) -> None:
        self.name = name
        self.function = function

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return self.function(machine, arguments)

    def attribute(self, machine: Machine, name: str) -> Value:
        if name in ("__name__", "__qualname__"):
            return self.name.rpartition(".")[2]
        return super().attribute(machine, name)


class Function(Object):
    """A function, lambda or method of the interpreted program, with the scope that it closes over.

    One that is `handed_over` went through an unknown decorator, which may call it with other arguments.
    """

    __slots__ = ("attributes", "defaults", "handed_over", "keyword_defaults", "name", "node", "owner", "path", "scope")
    kind_name = "function"

    binds = True

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        scope: Scope,
        defaults: list[Value],
        keyword_defaults: Mapping[str, Value],
        path: str,
    ) -> None:
        self.node = node
        self.name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        self.scope = scope
        self.defaults = defaults
        self.keyword_defaults = keyword_defaults
        self.path = path
        self.owner: Class | None = None
        self.attributes: dict[str, Value] = {}
        self.handed_over = False

    def attribute(self, machine: Machine, name: str) -> Value:
        if name in ("__name__", "__qualname__"):
            return self.name
        if name in self.attributes:
            return self.attributes[name]
        return super().attribute(machine, name)

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        self.attributes[name] = value

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.invoke(self, arguments)


class BoundMethod(Object):
    """A function together with its `self`."""

    __slots__ = ("function", "receiver")
    kind_name = "method"

    def __init__(self, function: Value, receiver: Value) -> None:
        self.function = function
        self.receiver = receiver

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.call(self.function, arguments.shifted(self.receiver))

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "__self__":
            return self.receiver
        if name == "__func__":
            return self.function
        return machine.attribute(self.function, name)


class Descriptor(Object):
    """`staticmethod`, `classmethod` or `property` around a function."""

    __slots__ = ("function", "kind", "setter")

    def __init__(self, kind: str, function: Value, setter: Value = None) -> None:
        self.kind = kind
        self.function = function
        self.setter = setter

    def attribute(self, machine: Machine, name: str) -> Value:
        if self.kind == "property" and name == "setter":
            return NativeFunction("setter", lambda m, a: Descriptor("property", self.function, a.get(0, "fset")))
        if self.kind == "property" and name in ("getter", "deleter"):
            return NativeFunction(name, lambda m, a: self)
        return super().attribute(machine, name)

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.call(self.function, arguments)


class Class(Object):
    """A class, of the program or (through subclasses in overlays) of a library; `mro` begins with itself.

    `meta` is the class of the class, where the program has its own.
    """

    __slots__ = ("bases", "members", "meta", "mro", "name", "node", "open")
    kind_name = "type"

    instances: ClassVar[type[Instance] | None] = None
    """The kind of the instances of a library's class, and of its subclasses, where it has its own."""

    def __init__(self, name: str, bases: Sequence[Class] = (), members: dict[str, Value] | None = None) -> None:
        self.name = name
        self.bases = tuple(bases)
        self.members: dict[str, Value] = {} if members is None else members
        self.mro: tuple[Class, ...] = (self, *linearise([list(base.mro) for base in bases], list(bases)))
        self.node: ast.ClassDef | None = None
        self.meta: Class | None = next((base.meta for base in bases if base.meta is not None), None)
        self.open: bool = any(base.open for base in bases)

    def find(self, name: str) -> Value:
        """The member `name` of the class or of its bases, else `UNDEFINED`."""
        for each in self.mro:
            if name in each.members:
                return each.members[name]
            native = each.native_member(name)
            if native is not UNDEFINED:
                return native
        return UNDEFINED

    def native_member(self, name: str) -> Value:
        """A member that a library's class has; overlays override it."""
        return UNDEFINED

    def is_subclass(self, other: Class) -> bool:
        return other in self.mro

    def attribute(self, machine: Machine, name: str) -> Value:
        found = self.find(name)
        if name in ("__name__", "__qualname__"):
            return self.name
        if found is UNDEFINED and self.meta is not None:
            found = self.meta.find(name)
            if isinstance(found, Object) and found.binds:
                return BoundMethod(found, self)
        if found is UNDEFINED:
            return super().attribute(machine, name)
        if isinstance(found, Descriptor):
            if found.kind == "classmethod":
                return BoundMethod(found.function, self)
            if found.kind == "staticmethod":
                return found.function
        return found

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        if self.node is None:
            machine.patched.setdefault(self, dict(self.members))
        self.members[name] = value

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.instantiate(self, arguments)

    def create(self, machine: Machine) -> Instance:
        """A bare instance, before `__init__`."""
        made = (base.create_for(machine, self) for base in self.mro)
        return next((each for each in made if each is not None), None) or Instance(self)

    def subclassed(self, machine: Machine, subclass: Class) -> None:
        """The program has defined a subclass."""

    def create_for(self, machine: Machine, subclass: Class) -> Instance | None:
        """The bare instance of a class that is or extends this one, None where a plain one will do."""
        return None if self.instances is None else self.instances(subclass)

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        return machine.unknown("type expression", None, (), data=True) if operator == "or" else NotImplemented

    def item(self, machine: Machine, key: Value) -> Value:
        return self.attribute(machine, key) if isinstance(key, str) and key in self.members else self

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        own = [each for each in self.members.values() if isinstance(each, Instance) and each.cls is self]
        return iter(own) if own else None  # The members of an enumeration.


class Instance(Object):
    """An instance of a class of the program; `attributes` is its `__dict__`."""

    __slots__ = ("attributes", "cls")

    def __init__(self, cls: Class) -> None:
        self.cls = cls
        self.attributes: dict[str, Value] = {}

    def type_name(self) -> str:
        return self.cls.name

    def attribute(self, machine: Machine, name: str) -> Value:
        return machine.instance_attribute(self, name)

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        found = self.cls.find(name)
        if isinstance(found, Descriptor) and found.kind == "property" and found.setter is not None:
            machine.call(found.setter, Arguments([self, value]))
            return
        self.attributes[name] = value

    def delete_attribute(self, machine: Machine, name: str) -> None:
        self.attributes.pop(name, None)

    def native_attribute(self, machine: Machine, name: str) -> Value:
        """An attribute that a library's class computes, else `UNDEFINED`."""
        return UNDEFINED

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return machine.special(self, "__call__", arguments)

    def item(self, machine: Machine, key: Value) -> Value:
        return machine.special(self, "__getitem__", Arguments([key]))

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        machine.special(self, "__setitem__", Arguments([key, value]))

    def delete_item(self, machine: Machine, key: Value) -> None:
        machine.special(self, "__delitem__", Arguments([key]))

    def unary(self, machine: Machine, operator: str) -> Value:
        return machine.special(self, f"__{operator}__", Arguments())

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        prefix = "r" if reflected else ""
        return machine.special(self, f"__{prefix}{operator}__", Arguments([other]), NotImplemented)

    def inplace(self, machine: Machine, operator: str, other: Value) -> Value:
        return machine.special(self, f"__i{operator}__", Arguments([other]), NotImplemented)

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        return machine.special(self, f"__{operator}__", Arguments([other]), NotImplemented)

    def contains(self, machine: Machine, item: Value) -> Value:
        return machine.special(self, "__contains__", Arguments([item]))

    def truth(self, machine: Machine) -> bool | None:
        for name in ("__bool__", "__len__"):
            if self.cls.find(name) is not UNDEFINED:
                return machine.decide(machine.special(self, name, Arguments()))
        return None if self.cls.open else True

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return machine.iterate_instance(self)

    def length(self, machine: Machine) -> int | None:
        found = self.cls.find("__len__")
        size = machine.special(self, "__len__", Arguments()) if found is not UNDEFINED else None
        return size if isinstance(size, int) else None

    def parts(self) -> Sequence[Value]:
        return tuple(self.attributes.values())
