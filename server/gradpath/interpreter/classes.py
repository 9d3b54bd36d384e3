"""Classes, instances, attributes and context managers of the program."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Generator

from gradpath.interpreter.bounds import is_small
from gradpath.interpreter.containers import List
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.iteration import Iteration
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict, Namespace, blurred
from gradpath.interpreter.operators import bounded
from gradpath.interpreter.origins import Attribute, Made
from gradpath.interpreter.scope import Frame
from gradpath.interpreter.texts import filled_in, joined
from gradpath.interpreter.values import (
    CONSTANTS,
    UNDEFINED,
    Arguments,
    BoundMethod,
    Class,
    Descriptor,
    Function,
    Instance,
    NativeFunction,
    Object,
    Unknown,
    Value,
)


class OpenClass(Class):
    """A class of which nothing is known: a base that another library defines."""

    __slots__ = ("unknown",)

    def __init__(self, unknown: Value) -> None:
        super().__init__("unknown")
        self.unknown = unknown
        self.open = True


class Context(Object):
    """A context manager of a library, with its actions on entry and exit.

    `leave` gets the exception that ends the block, or None, and says whether it swallows it; `awaits` says which
    classes of exceptions it handles.
    """

    __slots__ = ()

    def awaits(self, cls: Class) -> bool:
        return False

    def enter(self, machine: Machine) -> Value:
        return self

    def leave(self, machine: Machine, raised: Raised | None) -> bool:
        return False

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "__enter__":
            return NativeFunction(name, lambda m, a: self.enter(m))
        if name == "__exit__":
            return NativeFunction(name, lambda m, a: self.leave(m, None))
        return super().attribute(machine, name)


def swallows(manager: Value, cls: Class) -> bool:
    """True if a context manager handles exceptions of a class."""
    return isinstance(manager, Context) and manager.awaits(cls)


def innermost(value: Value) -> Function | None:
    """The function of the program inside the wrappers that decorators put around it."""
    for _ in range(8):
        if isinstance(value, Function):
            return value
        value = getattr(value, "function", None)
    return None


def instantiate(machine: Machine, cls: Class, arguments: Arguments) -> Value:
    """Make an instance of a class."""
    maker = cls.find("__new__")
    if isinstance(maker, (Function, Descriptor)):
        function = maker.function if isinstance(maker, Descriptor) else maker
        made = machine.call(function, arguments.shifted(cls))
        if not isinstance(made, Instance):
            return made
        instance = made
    else:
        instance = cls.create(machine)
    initialiser = cls.find("__init__")
    if initialiser is not UNDEFINED:
        machine.call(initialiser, arguments.shifted(instance))
    elif not arguments.open:
        instance.attributes.setdefault("args", tuple(arguments.positional))
    return instance


def attribute(machine: Machine, value: Value, name: str) -> Value:
    """`value.name`."""
    if isinstance(value, Object):
        return value.attribute(machine, name)
    if isinstance(value, (str, bytes, int, float, complex, tuple, range)):
        return _constant_attribute(machine, value, name)
    kind = "NoneType" if value is None else type(value).__name__
    raise machine.error("AttributeError", f"'{kind}' object has no attribute '{name}'", value)


_GROWING = frozenset({"center", "expandtabs", "format", "join", "ljust", "rjust", "to_bytes", "zfill"})
"""Methods of constants whose results may be of any length, and are not computed but for texts put together."""


def _constant_attribute(machine: Machine, value: Value, name: str) -> Value:
    if not hasattr(value, name):
        raise machine.error("AttributeError", f"'{type(value).__name__}' object has no attribute '{name}'", value)
    member = getattr(value, name)
    if not callable(member):
        return member if isinstance(member, CONSTANTS) else machine.unknown("attribute of a constant", data=True)

    def method(machine: Machine, arguments: Arguments) -> Value:
        text = _put_together(value, name, arguments)
        if text is not None:
            return text
        plain = [*arguments.positional, *arguments.keywords.values()]
        if not all(isinstance(each, CONSTANTS) for each in plain) or name in _GROWING or name.startswith("__"):
            return machine.unknown("text", None, tuple(plain), data=True)
        if not all(map(is_small, (value, *plain))):
            return machine.unknown("method of a constant", data=True)
        if isinstance(value, range) and not all(isinstance(each, int) for each in plain):
            return machine.unknown("number", made=Made.NUMBER)  # Python compares the numbers one by one.
        try:
            result = member(*arguments.positional, **arguments.keywords)
        except Exception as error:  # noqa: BLE001 - the interpreted program's own mistake, raised in its own terms.
            return machine.unknown(f"method that raises {type(error).__name__}")
        if isinstance(result, list):
            return List(list(result))
        if isinstance(result, (CONSTANTS, tuple)):
            return bounded(machine, result)
        return machine.unknown("method of a constant", data=True)

    return NativeFunction(f"{type(value).__name__}.{name}", method)


def _put_together(value: Value, name: str, arguments: Arguments) -> str | None:
    match name, arguments.positional:
        case "format", given if isinstance(value, str) and not arguments.open:
            return filled_in(value, given, arguments.keywords)
        case "join", [List() as parts] if isinstance(value, str) and not parts.open:
            return joined(value, parts.items)
        case "join", [tuple() as texts] if isinstance(value, str):
            return joined(value, texts)
    return None


def instance_attribute(machine: Machine, instance: Instance, name: str) -> Value:
    """`instance.name`: properties, then the instance, then the class, then `__getattr__`."""
    found = instance.cls.find(name)
    if isinstance(found, Descriptor) and found.kind == "property":
        return machine.call(found.function, Arguments([instance]))
    if isinstance(found, Instance) and isinstance(found.cls.find("__set__"), Function):
        return _read(machine, found, instance)
    if name in instance.attributes:
        return instance.attributes[name]
    if isinstance(found, Descriptor) and found.kind == "cached_property":
        instance.attributes[name] = made = machine.call(found.function, Arguments([instance]))
        return made
    native = UNDEFINED if _is_own(instance.cls, name) else instance.native_attribute(machine, name)
    if native is not UNDEFINED:
        return native
    if isinstance(found, Instance) and isinstance(found.cls.find("__get__"), Function):
        return _read(machine, found, instance)
    if found is not UNDEFINED:
        return _bound(found, instance)
    if name == "__class__":
        return instance.cls
    if name == "__dict__":
        return Namespace(instance.attributes, open=instance.cls.open)
    getter = instance.cls.find("__getattr__")
    if isinstance(getter, Object) and getter.binds:
        return machine.call(getter, Arguments([instance, name]))
    cause = "attribute of an unknown base" if instance.cls.open else "attribute set elsewhere"
    data = machine.library.is_option(machine, name, instance)
    machine.trace.undefined |= set() if instance.cls.open else {f".{name}"}
    return machine.unknown_from(Attribute(instance, name, cause), ("attr", id(instance), name), data=data)


def _read(machine: Machine, descriptor: Instance, instance: Instance) -> Value:
    """The value of an attribute that is a descriptor of the program."""
    if not isinstance(descriptor.cls.find("__get__"), Function):
        return descriptor
    return machine.special(descriptor, "__get__", Arguments([instance, instance.cls]))


def set_attribute(machine: Machine, owner: Object, name: str, value: Value) -> None:
    """`owner.name = value`, which a class of the program may handle itself."""
    setter = _setter(owner.cls) if isinstance(owner, Instance) else None
    member = owner.cls.find(name) if isinstance(owner, Instance) else None
    if isinstance(member, Instance) and isinstance(member.cls.find("__set__"), Function):
        machine.special(member, "__set__", Arguments([owner, value]))
    elif setter is None:
        if name == "__dict__" and isinstance(owner, Instance) and isinstance(value, Dict):
            owner.attributes.update({key: each for key, each in value.entries.values() if isinstance(key, str)})
        owner.set_attribute(machine, name, value)
    else:
        machine.call(setter, Arguments([owner, name, value]))


def unpatch(machine: Machine) -> None:
    """Take back what the program has written into classes of libraries (`torch.nn.Module.forward = ...`)."""
    for cls, members in machine.patched.items():
        cls.members.clear()
        cls.members.update(members)
    machine.patched.clear()


def _setter(cls: Class) -> Object | None:
    """The `__setattr__` of a class of the program."""
    for each in cls.mro:
        found = each.members.get("__setattr__")
        if found is not None:
            return found if isinstance(found, Object) and found.binds and found is not STORE_ATTRIBUTE else None
    return None


def _store_attribute(machine: Machine, arguments: Arguments) -> Value:
    owner, name = arguments.get(0, "self", None), arguments.get(1, "name", None)
    if isinstance(owner, Instance):
        value = arguments.get(2, "value", None)
        owner.set_attribute(machine, written(machine, owner, name, value), value)
    return None


def written(machine: Machine, owner: Instance | Unknown, name: Value, value: Value) -> str:
    """The name of an attribute that is set; where neither it nor the value is known, that may be any setting."""
    if isinstance(owner, Instance) and isinstance(value, Unknown) and not isinstance(name, str):
        shared = (each.members for each in owner.cls.mro if each.node is not None)
        for each, setting in list(ChainMap(owner.attributes, *shared).items()):
            if isinstance(setting, CONSTANTS) and not each.startswith("__"):
                owner.attributes[each] = blurred(machine, owner, setting, "attribute set by an unknown name")
    replaces = isinstance(value, Instance) and not isinstance(name, str)
    if isinstance(owner, Instance) and replaces and not _is_being_made(machine, owner):
        for each, part in list(owner.attributes.items()):
            if isinstance(part, Instance):
                owner.attributes[each] = machine.unknown("part that an unknown name may replace", None, (part, value))
    return named(owner, name)


def _is_being_made(machine: Machine, owner: Instance) -> bool:
    """True if the `__init__` of an object runs, which gives it parts that it did not have."""
    frame: Frame | None = machine.frame
    while frame is not None:
        making = getattr(getattr(frame.function, "node", None), "name", "") == "__init__"
        if making and any(each is owner for each in frame.scope.variables.values()):
            return True
        frame = frame.parent
    return False


def named(owner: Instance | Unknown, name: Value) -> str:
    """The name of an attribute; where it is computed and not known, one that nothing else has."""
    if isinstance(name, str):
        return name
    return f"<{len(owner.attributes)}>" if isinstance(owner, Instance) else "<computed>"


STORE_ATTRIBUTE = NativeFunction("__setattr__", _store_attribute)
"""`object.__setattr__`."""


def _make_bare(machine: Machine, arguments: Arguments) -> Value:
    cls = arguments.get(0, "cls", None)
    return cls.create(machine) if isinstance(cls, Class) else machine.unknown("bare instance")


MAKE_BARE = NativeFunction("__new__", _make_bare)
"""`object.__new__`."""


def _is_own(cls: Class, name: str) -> bool:
    """True if a class of the program defines the name, and so overrides that of a library's class."""
    return any(each.node is not None and name in each.members for each in cls.mro)


def _bound(member: Value, instance: Instance) -> Value:
    match member:
        case Descriptor(kind="staticmethod"):
            return member.function
        case Descriptor(kind="classmethod"):
            return BoundMethod(member.function, instance.cls)
        case Object(binds=True):
            return BoundMethod(member, instance)
    return member


class Super(Object):
    """`super()`: attributes are looked up after `owner` in the method resolution order of the receiver."""

    __slots__ = ("owner", "receiver")

    def __init__(self, owner: Class, receiver: Value) -> None:
        self.owner = owner
        self.receiver = receiver

    def attribute(self, machine: Machine, name: str) -> Value:
        cls = self.receiver.cls if isinstance(self.receiver, Instance) else self.receiver
        if isinstance(cls, Class) and cls.meta is not None and self.owner in cls.meta.mro:
            return BoundMethod(Super(self.owner, cls.meta).attribute(machine, name), cls)
        if not isinstance(cls, Class):
            return machine.unknown("super of unknown", None, (self.receiver,))
        order = cls.mro
        start = order.index(self.owner) + 1 if self.owner in order else 1
        for each in order[start:]:
            member = each.members.get(name, UNDEFINED)
            if member is UNDEFINED:
                member = each.native_member(name)
            if member is not UNDEFINED:
                if isinstance(self.receiver, Instance):
                    if isinstance(member, Descriptor) and member.kind == "property":
                        return machine.call(member.function, Arguments([self.receiver]))
                    return _bound(member, self.receiver)
                if isinstance(member, Descriptor) and member.kind == "classmethod":
                    return BoundMethod(member.function, cls)
                return member.function if isinstance(member, Descriptor) else member
        if isinstance(self.receiver, Instance):
            native = self.receiver.native_attribute(machine, name)
            if native is not UNDEFINED:
                return native
        if name == "__setattr__" and isinstance(self.receiver, Instance):
            return BoundMethod(STORE_ATTRIBUTE, self.receiver)
        if name in ("__init__", "__init_subclass__", "__post_init__"):
            return NativeFunction(name, lambda m, a: None)
        if name == "__new__":
            return MAKE_BARE
        return machine.unknown(f"super().{name}", None, (self.receiver,))


def make_super(machine: Machine, arguments: Arguments) -> Value:
    """`super()` or `super(C, self)`."""
    if len(arguments.positional) == 2 and isinstance(arguments.positional[0], Class):
        return Super(arguments.positional[0], arguments.positional[1])
    frame = machine.frame
    if frame.owner is None or frame.first_argument is UNDEFINED:
        return machine.unknown("super outside a method")
    return Super(frame.owner, frame.first_argument)


def context(machine: Machine, manager: Value) -> tuple[Callable[[], Value], Callable[[Raised | None], bool]]:
    """The two functions that enter and leave a `with` block."""
    if isinstance(manager, Context):
        return lambda: manager.enter(machine), lambda raised: manager.leave(machine, raised)
    if isinstance(manager, Instance) and manager.cls.find("__enter__") is not UNDEFINED:
        return (
            lambda: machine.special(manager, "__enter__", Arguments()),
            lambda raised: _leave_instance(machine, manager, raised),
        )
    if isinstance(manager, Iteration) and manager.frame is not None:
        return lambda: manager.advance(machine), lambda raised: _leave_generator(machine, manager, raised)
    return lambda: manager, lambda raised: False


def _leave_instance(machine: Machine, manager: Instance, raised: Raised | None) -> bool:
    value = None if raised is None else raised.value
    kind = value.cls if isinstance(value, Instance) else None
    swallowed = machine.special(manager, "__exit__", Arguments([kind, value, None]))
    return raised is not None and machine.truth(swallowed) is True


def _leave_generator(machine: Machine, manager: Iteration, raised: Raised | None) -> bool:
    """Leave the block: its exception is raised at the `yield`, and is swallowed if the generator then ends."""
    if raised is None or not isinstance(manager.host, Generator):
        manager.advance(machine, default=None)
        return False
    try:
        manager.host.throw(raised)
    except StopIteration:
        return True
    except Raised as again:
        if again is not raised:
            raise
    return False
