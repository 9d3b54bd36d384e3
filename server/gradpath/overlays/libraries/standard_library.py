"""Python's standard library, as far as values of training code go through it."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.interpreter import builtins
from gradpath.interpreter.classes import Context
from gradpath.interpreter.containers import List
from gradpath.interpreter.iteration import sample, sequence
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict, make_dict
from gradpath.interpreter.origins import Copy, Item, Made
from gradpath.interpreter.outside import leave
from gradpath.interpreter.values import (
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
    identity,
)
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import frozen
from gradpath.overlays.presumed.presumed_tensors import presume_tensor
from gradpath.overlays.torch import module_hooks
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue, wrap
from gradpath.support.words import words


def deep_copy(machine: Machine, value: Value, seen: dict[int, Value] | None = None) -> Value:
    """`copy.deepcopy`; PyTorch refuses tensors that have a grad_fn."""
    seen = {} if seen is None else seen
    machine.budget.spend()
    if id(value) in seen:
        return seen[id(value)]
    match value:
        case TensorValue():
            seen[id(value)] = made = _copied_tensor(machine, value)
            return made
        case tuple():
            # Its parts may be the same tuples again and again. It lives as long as `seen`, or another had its number.
            seen[id(value)] = parts = tuple(deep_copy(machine, part, seen) for part in value)
            return parts
        case List():
            seen[id(value)] = copied = List([], open=value.open)
            copied.items.extend(deep_copy(machine, part, seen) for part in value.items)
            return copied
        case Dict():
            result = Dict(open=value.open)
            seen[id(value)] = result
            for key, part in value.entries.values():
                result.store(key, deep_copy(machine, part, seen))
            return result
        case Instance():
            return _copied_instance(machine, value, seen)
        case Unknown(kind=Kind.LIVE, origin=origin) if not isinstance(origin, Item):
            return _copied_tensor(machine, presume_tensor(machine, value))
        case Unknown(kind=Kind.PARAMETER):
            seen[id(value)] = made = _copied_tensor(machine, presume_tensor(machine, value))
            return made
        case Unknown(tensor=None, is_data=False):
            seen[id(value)] = unknown = _copied_unknown(machine, value)
            return unknown
    return value


def _copied_unknown(machine: Machine, value: Unknown) -> Value:
    """Another unknown that is taken for the same thing: a network has other parameters than its copy."""
    made = machine.unknown_from(Copy(value, value.name, value.origin.words))
    if isinstance(made, Unknown):
        made.root, made.hint, made.label = value.root, value.hint, value.label
        # One of several results that has a graph cannot be copied: it was something else.
        made.kind = Kind.ANYTHING if value.kind in (Kind.LIVE, Kind.PART) else value.kind
        made.provenance = value.provenance
        module_hooks.copy(machine, value, made)
        frozen.copied(machine, value, made)
    return made


def _copied_tensor(machine: Machine, value: TensorValue) -> TensorValue:
    source = value.tensor
    if source.node is not None and not source.is_open and not source.aliasing_unsure:
        raise AutogradError(FaultKind.DEEPCOPY, tensor=source)
    made = machine.autograd.tensor(requires_grad=source.flag, shape=source.shape, dtype=source.dtype)
    made.is_parameter, made.copied = source.is_parameter, source
    return wrap(made)


def _copied_instance(machine: Machine, value: Instance, seen: dict[int, Value]) -> Instance:
    made = value.cls.create(machine)
    seen[id(value)] = made
    if isinstance(value, ModuleInstance) and isinstance(made, ModuleInstance):
        made.training, made.spec, made.settings = value.training, value.spec, value.settings
        made.buffers = set(value.buffers)
        made.tensors = set(value.tensors)
        made.computed = dict(value.computed)
        made.hooks = value.hooks.copied()
    keys = getattr(value, "keys", None)
    if isinstance(keys, list):
        made.keys = list(keys)  # type: ignore[attr-defined]
    for name, part in value.attributes.items():
        made.attributes[name] = deep_copy(machine, part, seen)
    return made


class Partial(NativeFunction):
    """`functools.partial`, which calls something with some arguments before those that it gets."""

    __slots__ = ("called",)

    def __init__(self, called: Value, first: Sequence[Value], fixed: Mapping[str, Value]) -> None:
        def call(machine: Machine, more: Arguments) -> Value:
            return machine.call(called, Arguments([*first, *more.positional], {**fixed, **more.keywords}, more.open))

        super().__init__("partial", call)
        self.called = called


def _partial(machine: Machine, arguments: Arguments) -> Value:
    called, *first = arguments.positional or [None]
    return Partial(called, first, dict(arguments.keywords))


def _same(machine: Machine, arguments: Arguments) -> Value:
    return arguments.get(0, "x", None)


class Memoised(Object):
    """`functools.lru_cache` around a function: the same arguments give the same value again."""

    __slots__ = ("function", "results")

    binds = True

    def __init__(self, function: Value) -> None:
        self.function = function
        self.results: dict[object, Value] = {}

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        key = (identity(tuple(arguments.positional)), *((n, identity(v)) for n, v in arguments.keywords.items()))
        if key not in self.results:
            self.results[key] = machine.call(self.function, arguments)
        return self.results[key]


def _memoising(machine: Machine, arguments: Arguments) -> Value:
    first = arguments.get(0, "user_function")
    if isinstance(first, Object) and first.binds:
        return Memoised(first)
    return NativeFunction("decorator", lambda m, a: Memoised(a.get(0, "f", None)))


def _reduce(machine: Machine, arguments: Arguments) -> Value:
    function, source = arguments.get(0, "function", None), arguments.get(1, "iterable", ())
    items, _ = sample(machine, source)
    start = arguments.get(2, "initial")
    if start is UNDEFINED:
        if not items:
            return machine.unknown("reduce")
        start, items = items[0], items[1:]
    for item in items:
        start = machine.call(function, Arguments([start, item]))
    return start


def _namedtuple(machine: Machine, arguments: Arguments) -> Value:
    names = arguments.get(1, "field_names", "")
    if isinstance(names, str):
        fields = names.replace(",", " ").split()
    else:
        fields = [item for item in sequence(machine, names) or [] if isinstance(item, str)]
    title = arguments.get(0, "typename", "Tuple")
    return record_class(title if isinstance(title, str) else "Tuple", fields)


class RecordInstance(Instance):
    """A named tuple or dataclass instance: a tuple gives its fields in turn, and keeps them."""

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        fields = self.cls.find("_fields")
        if isinstance(fields, tuple) and name in fields:
            raise machine.error("AttributeError", "can't set attribute", self)
        super().set_attribute(machine, name, value)

    def native_attribute(self, machine: Machine, name: str) -> Value:
        if name == "_replace":
            return NativeFunction(name, self._replaced)
        if name == "_asdict" and isinstance(self.cls.find("_fields"), tuple):
            return NativeFunction(name, lambda m, a: self._as_dict())
        return super().native_attribute(machine, name)

    def _as_dict(self) -> Dict:
        made = Dict()
        fields = self.cls.find("_fields")
        for name in fields if isinstance(fields, tuple) else ():
            made.store(name, self.attributes.get(str(name)))
        return made

    def _replaced(self, machine: Machine, arguments: Arguments) -> Value:
        made = RecordInstance(self.cls)
        made.attributes = {**self.attributes, **arguments.keywords}
        return made

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        fields = self.cls.find("_fields")
        if isinstance(fields, tuple):
            return iter([self.attributes.get(str(name)) for name in fields])
        return super().iterate(machine)

    def item(self, machine: Machine, key: Value) -> Value:
        fields = self.cls.find("_fields")
        if isinstance(fields, tuple) and isinstance(key, int) and -len(fields) <= key < len(fields):
            return self.attributes.get(str(fields[key]))
        return super().item(machine, key)


class RecordClass(Class):
    """A class whose `__init__` stores its fields."""

    __slots__ = ()

    instances = RecordInstance

    def subclassed(self, machine: Machine, subclass: Class) -> None:
        """`class Batch(NamedTuple)`: the annotated names are its fields."""
        if "_fields" not in self.members:
            fields, defaults = annotated_fields(subclass)
            _become_record(subclass, fields, defaults)


def record_class(name: str, fields: list[str]) -> Class:
    """A named-tuple class."""
    made = RecordClass(name)
    _become_record(made, fields, {})
    return made


def _become_record(cls: Class, fields: list[str], defaults: dict[str, Value]) -> None:
    cls.members["_fields"] = tuple(fields)
    cls.members["__match_args__"] = tuple(fields)
    cls.members["__init__"] = NativeFunction("__init__", lambda m, a: _store_fields(m, fields, defaults, a))


def _store_fields(machine: Machine, fields: list[str], defaults: dict[str, Value], arguments: Arguments) -> Value:
    instance, *values = arguments.positional
    if not isinstance(instance, Instance):
        return None
    for index, name in enumerate(fields):
        if index < len(values):
            value = values[index]
        elif name in arguments.keywords:
            value = arguments.keywords[name]
        elif name in defaults:
            default = defaults[name]
            value = machine.call(default.factory, Arguments()) if isinstance(default, _Field) else default
        else:
            value = machine.unknown("field", ("field", machine.id_of(instance), name), ())
        instance.attributes[name] = value
    after = instance.cls.find("__post_init__")
    if isinstance(after, Function):
        machine.call(after, Arguments([instance]))
    return None


_NAMESPACE = Class("SimpleNamespace")


def _simple_namespace(machine: Machine, arguments: Arguments) -> Value:
    made = Instance(_NAMESPACE)
    made.attributes.update(arguments.keywords)
    return made


class _Field(Object):
    __slots__ = ("factory",)

    def __init__(self, factory: Value) -> None:
        self.factory = factory


def _field(machine: Machine, arguments: Arguments) -> Value:
    if "default_factory" in arguments.keywords:
        return _Field(arguments.keywords["default_factory"])
    return arguments.keywords.get("default", _Field(NativeFunction("missing", lambda m, a: m.unknown("field"))))


def annotated_fields(cls: Class) -> tuple[list[str], dict[str, Value]]:
    """The fields that a class body and its bases annotate, in order, and those of them that have a default."""
    names: list[str] = []
    defaults: dict[str, Value] = {}
    for each in reversed(cls.mro):
        for statement in each.node.body if each.node is not None else ():
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                if name not in names:
                    names.append(name)
                if name in each.members:
                    defaults[name] = each.members[name]
    return names, defaults


def _dataclass(machine: Machine, arguments: Arguments) -> Value:
    cls = arguments.get(0, "cls")
    if not isinstance(cls, Class):
        return NativeFunction("dataclass", lambda m, a: _dataclass(m, a))
    names, defaults = annotated_fields(cls)
    if "__init__" not in cls.members:
        cls.members["__init__"] = NativeFunction("__init__", lambda m, a: _store_fields(m, names, defaults, a))
    cls.members.setdefault("__match_args__", tuple(names))
    return cls


class _Given(Context):
    """`contextlib.nullcontext(value)`."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def enter(self, machine: Machine) -> Value:
        return self.value


def _math(name: str) -> Callable[[Machine, Arguments], Value]:
    function = getattr(math, name)
    convert = builtins.number("float")

    def as_float(machine: Machine, value: Value) -> Value:
        return convert(machine, Arguments([value]))

    def call(machine: Machine, arguments: Arguments) -> Value:
        if all(isinstance(value, (int, float)) for value in arguments.positional):
            try:
                result: Value = function(*arguments.positional)
                return result
            except (ValueError, OverflowError, TypeError):
                return machine.unknown("arithmetic that fails", data=True)
        read = [each if isinstance(each, (int, float)) else as_float(machine, each) for each in arguments.positional]
        number = next((each for each in read if isinstance(each, TensorNumber)), None)
        if number is not None:
            return number
        return machine.unknown(f"math.{name}", None, tuple(read), made=Made.NUMBER)

    return call


def _import_module(machine: Machine, arguments: Arguments) -> Value:
    name = arguments.get(0, "name")
    if isinstance(name, str) and not name.startswith("."):
        return machine.library.module(machine, name)
    return machine.unknown("module of a computed name")


def _replace(machine: Machine, arguments: Arguments) -> Value:
    """`replace(obj, **changes)`."""
    source = arguments.get(0, "obj", None)
    if not isinstance(source, Instance):
        return machine.unknown("replace", None, tuple(arguments.all()))
    made = source.cls.create(machine)
    made.attributes.update(source.attributes)
    made.attributes.update({name: value for name, value in arguments.keywords.items() if name != "obj"})
    return made


def _reference(machine: Machine, arguments: Arguments) -> Value:
    """`ref(x)`: called, it gives `x`."""
    value = arguments.get(0, "object", None)
    return NativeFunction("ref", lambda machine, arguments: value)


class _NumberClass(Class):
    """An abstract number type; `holds` says which values are its instances."""

    __slots__ = ("kinds",)

    def __init__(self, name: str, *kinds: type) -> None:
        super().__init__(name)
        self.kinds = kinds

    def holds(self, value: Value) -> bool | None:
        return None if isinstance(value, Unknown) else isinstance(value, self.kinds)


NAMES: Names = {
    "copy.deepcopy": lambda machine, arguments: deep_copy(machine, arguments.get(0, "x", None)),
    "copy.copy": _same,
    "functools.partial": _partial,
    "functools.reduce": _reduce,
    "functools.wraps": lambda machine, arguments: NativeFunction("wraps", _same),
    "functools.lru_cache": _memoising,
    "functools.cache": _memoising,
    "functools.cached_property": lambda machine, arguments: Descriptor(
        "cached_property", arguments.get(0, "func", None)
    ),
    "collections.namedtuple": _namedtuple,
    "argparse.Namespace": _simple_namespace,
    "types.SimpleNamespace": _simple_namespace,
    "types.MethodType": lambda machine, arguments: BoundMethod(
        arguments.get(0, "function", None), arguments.get(1, "instance", None)
    ),
    "typing.NamedTuple": RecordClass("NamedTuple"),
    "dataclasses.dataclass": _dataclass,
    "dataclasses.field": _field,
    "contextlib.nullcontext": lambda machine, arguments: _Given(arguments.get(0, "enter_result", None)),
    "contextlib.contextmanager": _same,
    "abc.ABC": Class("ABC"),
    "abc.abstractmethod": _same,
    "sys.exit": leave,
    "typing.TYPE_CHECKING": False,
    "typing.cast": lambda machine, arguments: arguments.get(1, "val", None),
    "typing.Generic": Class("Generic"),
    "typing.Protocol": Class("Protocol"),
    **{f"math.{name}": _math(name) for name in words("sqrt log exp floor ceil cos sin pow log2 log10 prod fabs tanh")},
    "math.pi": math.pi,
    "math.inf": math.inf,
    "importlib.import_module": _import_module,
    "dataclasses.replace": _replace,
    "copy.replace": _replace,
    "weakref.WeakKeyDictionary": make_dict,
    "weakref.WeakValueDictionary": make_dict,
    "weakref.ref": _reference,
    "weakref.proxy": lambda machine, arguments: arguments.get(0, "object", None),
    "numbers.Number": _NumberClass("Number", int, float, complex, TensorNumber),
    "numbers.Complex": _NumberClass("Complex", int, float, complex, TensorNumber),
    "numbers.Real": _NumberClass("Real", int, float, TensorNumber),
    "numbers.Rational": _NumberClass("Rational", int),
    "numbers.Integral": _NumberClass("Integral", int),
}
