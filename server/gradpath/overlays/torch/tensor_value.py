"""Tensors, dtypes and sizes as values of the program. Their methods are in `tensor_methods`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol

from gradpath.autograd.layout import Order
from gradpath.autograd.tensor import MANY, Tensor
from gradpath.interpreter.classes import Context
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Cleared, GradientSet, Mixed, ReadOut, Replaced, Site
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import AtLeast, LateNumber
from gradpath.interpreter.operators import get_item
from gradpath.interpreter.origins import Attribute, Call, Computed, Item, Library, Made, Parameter
from gradpath.interpreter.values import UNDEFINED, Arguments, Object, Unknown, Value, identity
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.roles import is_of_settings, is_setting, role_of
from gradpath.support.fast_dataclasses import dataclass, field, replace


class TensorProtocol(Protocol):
    """The protocol by which Python code uses a tensor."""

    def knows(self, name: str) -> bool: ...
    def attribute(self, machine: Machine, value: TensorValue, name: str) -> Value: ...
    def set_attribute(self, machine: Machine, value: TensorValue, name: str, new: Value) -> None: ...
    def binary(self, machine: Machine, value: TensorValue, operator: str, other: Value, reflected: bool) -> Value: ...
    def inplace(self, machine: Machine, value: TensorValue, operator: str, other: Value) -> Value: ...
    def unary(self, machine: Machine, value: TensorValue, operator: str) -> Value: ...
    def compare(self, machine: Machine, value: TensorValue, operator: str, other: Value) -> Value: ...
    def item(self, machine: Machine, value: TensorValue, key: Value) -> Value: ...
    def set_item(self, machine: Machine, value: TensorValue, key: Value, new: Value) -> None: ...
    def iterate(self, machine: Machine, value: TensorValue) -> Iterator[Value] | None: ...


class TensorValue(Object):
    """The Python object of a tensor; there is one for each tensor.

    `filled` is the number that all its elements are, with the version and the era in which that holds.
    """

    __slots__ = ("attributes", "filled", "tensor")

    refuses_calls = compares_parts = True
    protocol: ClassVar[TensorProtocol]

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.attributes: dict[str, Value] = {}
        self.filled: tuple[float, int, int] | None = None

    def fill(self, machine: Machine, number: Value) -> None:
        """Note that all elements are `number` now, if it is known: a flag in a buffer decides branches."""
        known = isinstance(number, (bool, int, float))
        self.filled = (float(number), self.tensor.storage.version, machine.era) if known else None  # type: ignore[arg-type]

    def number(self, machine: Machine) -> float | None:
        """The number that its one element is, where it is known."""
        if self.filled is None or self.tensor.one_element is not True:
            return None
        number, version, era = self.filled
        return number if version == self.tensor.storage.version and era == machine.era else None

    def type_name(self) -> str:
        return "Parameter" if self.tensor.is_parameter else "Tensor"

    def is_same(self, other: Value) -> bool:
        return isinstance(other, TensorValue) and other.tensor is self.tensor

    def decision_key(self) -> object:
        return ("tensor", id(self.tensor), self.tensor.storage.version)

    def dict_key(self) -> object:
        return ("tensor", id(self.tensor))

    def attribute(self, machine: Machine, name: str) -> Value:
        if name in self.attributes:
            return self.attributes[name]
        return self.protocol.attribute(machine, self, name)

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        self.protocol.set_attribute(machine, self, name, value)
        if name == "grad":
            gone = value is None
            site, given = machine.site(), value.tensor if isinstance(value, TensorValue) else None
            machine.emit(Cleared((self.tensor,), site) if gone else GradientSet(self.tensor, site, given))
        elif name == "_grad":
            machine.emit(GradientSet(self.tensor, machine.site()))
        elif name == "data":
            source = value.tensor if isinstance(value, TensorValue) else None
            machine.emit(Replaced(self.tensor, machine.site(), source))

    def delete_attribute(self, machine: Machine, name: str) -> None:
        if name == "grad":
            self.tensor.grad = None
            machine.emit(Cleared((self.tensor,), machine.site()))
        self.attributes.pop(name, None)

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        number = _counted(other)
        return _mixed(machine, operator, other, self.protocol.binary(machine, self, operator, number, reflected))

    def inplace(self, machine: Machine, operator: str, other: Value) -> Value:
        return _mixed(machine, operator, other, self.protocol.inplace(machine, self, operator, _counted(other)))

    def unary(self, machine: Machine, operator: str) -> Value:
        return self.protocol.unary(machine, self, operator)

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        return self.protocol.compare(machine, self, operator, other)

    def item(self, machine: Machine, key: Value) -> Value:
        return self.protocol.item(machine, self, key)

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        self.protocol.set_item(machine, self, key, value)

    def contains(self, machine: Machine, item: Value) -> Value:
        return machine.unknown("membership in a tensor", None, (self, item), data=True)

    def truth(self, machine: Machine) -> bool | None:
        number = self.number(machine)
        return None if number is None else bool(number)

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return self.protocol.iterate(machine, self)

    def lengths(self, machine: Machine) -> Iterator[Value]:
        """The number of its rows: `t.shape[0]`, `t.size(0)`, `len(t)`."""
        yield self.length(machine) or machine.unknown("length", ("len", identity(self)), (self,), made=Made.NUMBER)
        yield get_item(machine, self.attribute(machine, "shape"), 0)
        yield machine.call(self.attribute(machine, "size"), Arguments([0]))

    def fresh_item(self, machine: Machine) -> Value:
        """The next row, where the number of rows is not known: a view that may not be written in place."""
        return wrap(row_of(machine, self.tensor))

    def length(self, machine: Machine) -> int | None:
        shape = self.tensor.shape
        return shape[0] if shape and shape[0] != MANY else None

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        raise machine.error("TypeError", "'Tensor' object is not callable", self)

    def to_number(self, machine: Machine, name: str) -> Value:
        """`float(t)`, `int(t)`, `bool(t)`: a number that came from this tensor; `abs(t)` stays a tensor."""
        if name == "abs":
            return self.protocol.unary(machine, self, name)
        if name == "round":
            raise machine.error("TypeError", "type Tensor doesn't define __round__ method", self)
        return number_from(machine, self, name)


def _mixed(machine: Machine, operator: str, other: Value, result: Value) -> Value:
    """Note where a number that was read from tensors is used in arithmetic with another one."""
    if isinstance(result, TensorValue):
        known = _Reads()
        for read in _reads_in(other, known) or ():
            machine.emit(Mixed(operator, read, result, machine.site(), tuple(known.sites)))
    return result


def _reads_in(value: Value, known: _Reads | None = None, depth: int = 40) -> tuple[ReadOut, ...] | None:
    """The reads that a number, an array, or all items of a list come from; None where they may have another origin.

    `known` are those of values that were asked for before: one may be a part of many others.
    """
    match value:
        case TensorNumber():
            return (value.read,)
        case tuple() | List():
            return _joined(
                value if isinstance(value, tuple) else value.items, _Reads() if known is None else known, depth
            )
        case Unknown():
            known = _Reads() if known is None else known
            if value.number not in known.found:
                found = known.found[value.number] = _reads_of(value, known, depth)
                known.sites += [value.site] if found else []
            return known.found[value.number]
    return None if isinstance(value, Object) else ()


@dataclass(slots=True)
class _Reads:
    """The reads by the numbers of what was computed of them, and where that was."""

    found: dict[int, tuple[ReadOut, ...] | None] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)


def _reads_of(value: Unknown, known: _Reads, depth: int) -> tuple[ReadOut, ...] | None:
    of_numpy = isinstance(value.origin, Library) and value.origin.name.startswith("numpy.")
    if of_numpy or is_setting(value) or (isinstance(value.origin, Parameter) and is_number(value)):
        return ()
    if is_array(value) and value.sources and isinstance(value.sources[0], TensorValue):
        return (ReadOut(value.sources[0].tensor, "numpy", value.site),)
    match value.origin:
        case Call(of=Unknown(name="numpy" | "tolist", owner=Unknown() as receiver)):
            return _joined((receiver,), known, depth)
        case Item(of=Unknown() as loader) if role_of(loader) == "loader" or _is_sample(loader):
            return ()
        case Attribute(of=Unknown(), name="shape" | "size" | "ndim"):
            return ()
        case Item(of=Unknown() as whole) | Attribute(of=Unknown() as whole, name="T"):
            return _joined((whole,), known, depth)
        case Call(of=Unknown(owner=Unknown() as receiver)):
            return _joined((receiver, *value.sources[1:]), known, depth)
        case Computed(made=Made.DETACHED):
            return _joined(value.sources, known, depth)
        case Call() | Item(of=List()) | Computed(made=Made.ARITHMETIC | Made.COUNTED | Made.COMPARED | Made.ARRAY):
            return _joined(value.sources, known, depth)
        case Computed(made=Made.NUMBER):
            return _joined(value.sources, known, depth) or ()
        case Computed(sources=[_, *_]) if value.is_data:
            return _joined(value.sources, known, depth)
    return None


def _is_sample(value: Unknown) -> bool:
    """True if something is what a loader gives in an iteration."""
    return (
        isinstance(value.origin, Item) and isinstance(value.origin.of, Unknown) and role_of(value.origin.of) == "loader"
    )


def _joined(values: Iterable[Value], known: _Reads, depth: int) -> tuple[ReadOut, ...] | None:
    found: dict[int, ReadOut] = {}
    for each in values if depth else (UNDEFINED,):
        reads = None if each is UNDEFINED else _reads_in(each, known, depth - 1)
        if reads is None:
            return None
        found |= {id(read): read for read in reads}
    return tuple(found.values())


class TensorNumber(Object):
    """A Python number that was read out of a tensor (`loss.item()`): its value is not known, its origin is."""

    __slots__ = ("kind", "read")

    def __init__(self, read: ReadOut, kind: str = "float") -> None:
        self.read = read
        self.kind = kind

    @property
    def tensor(self) -> Tensor:
        """The tensor that it was read out of."""
        return self.read.tensor

    @property
    def how(self) -> str:
        """By which function it was read (`item`, `float`, ...)."""
        return self.read.how

    def type_name(self) -> str:
        return self.kind

    def truth(self, machine: Machine) -> bool | None:
        return None

    def decision_key(self) -> object:
        return ("number", id(self.tensor), self.tensor.storage.version)

    def attribute(self, machine: Machine, name: str) -> Value:
        if self.read.presumed and name != "backward":
            return machine.unknown("attribute of a number", None, (self,))  # Who asks for it knows that it is none.
        probe: object = 1.0 if self.kind == "float" else 1
        if not hasattr(probe, name):
            raise machine.error("AttributeError", f"'{self.kind}' object has no attribute '{name}'", self)
        return super().attribute(machine, name)

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        raise machine.error("AttributeError", f"'{self.kind}' object has no attribute '{name}'", self)

    def unary(self, machine: Machine, operator: str) -> Value:
        return TensorNumber(self.read, self.kind)

    def binary(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if is_number(other):
            return TensorNumber(self.read, "float")
        if isinstance(other, Unknown) and _is_presumed_number(other, operator, reflected):
            presumed = (*self.read.presumed, conditions.NUMBER.of(conditions.name_of(other)))
            return TensorNumber(replace(self.read, presumed=presumed), "float")
        if isinstance(other, (int, float, TensorNumber)):
            whole = self.kind == "int" and not isinstance(other, float) and operator != "truediv"
            if isinstance(other, TensorNumber) and other.kind == "float":
                whole = False
            return TensorNumber(self.read, "int" if whole else "float")
        formats = operator == "mod" and reflected and isinstance(other, (str, bytes))
        repeats = operator == "mul" and self.kind == "int" and isinstance(other, (str, bytes, tuple))
        if isinstance(other, (Object, complex)) or formats or repeats:
            return NotImplemented
        raise machine.error(
            "TypeError", f"unsupported operand type(s): '{self.kind}' and '{type(other).__name__}'", (self, other)
        )

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if isinstance(other, TensorValue):
            return NotImplemented
        key = ("compare", operator, reflected, *_key(self), *_key(other))
        return machine.unknown("comparison of a number", key, (self, other), made=Made.COMPARED)

    def to_number(self, machine: Machine, name: str) -> Value:
        kind = "int" if name in ("int", "bool") else self.kind if name in ("abs", "round") else "float"
        return TensorNumber(self.read, kind)


def _counted(value: Value) -> Value:
    """A counter of which only a lower bound is known as one of the numbers that it may be."""
    return value.minimum + 2 if isinstance(value, AtLeast) else value


def is_array(value: Unknown) -> bool:
    """True if an unknown is an array of NumPy."""
    return isinstance(value.origin, Computed) and value.origin.made is Made.ARRAY


def is_number(value: Value) -> bool:
    """True if a value that is not known is a number for sure: a setting, a counter, or what is computed from such."""
    if isinstance(value, Unknown):
        if not value.is_data:
            return False
        made = value.origin.made if isinstance(value.origin, Computed) else Made.SOMETHING
        if made is Made.NUMBER or isinstance(value.hint, (int, float)) or is_setting(value):
            return True
        return made is Made.ARITHMETIC and all(
            isinstance(each, (int, float)) or is_number(each) for each in value.sources
        )
    return isinstance(value, (AtLeast, LateNumber))


_DIVISIONS = ("truediv", "floordiv", "mod")


def _is_presumed_number(other: Unknown, operator: str, reflected: bool) -> bool:
    """True if the other operand of a number's arithmetic is taken for a number.

    Options are, divisors, and what a schedule gives for the number of a step.
    """
    if is_array(other) or other.kind not in (Kind.ANYTHING, Kind.PLAIN):
        return False
    return (operator in _DIVISIONS and not reflected) or is_of_settings(other) or _is_of_numbers(other)


def _is_of_numbers(value: Unknown) -> bool:
    """True if a value is what something that is not seen gives for numbers alone."""
    given = value.origin.arguments if isinstance(value.origin, Call) else ()
    return bool(given) and all(isinstance(each, (int, float)) or is_number(each) for each in given)


def _key(value: Value) -> tuple[object, ...]:
    key = getattr(value, "decision_key", None)
    return (key(),) if key is not None else (id(value) if isinstance(value, Object) else value,)


def number_from(machine: Machine, value: TensorValue, how: str) -> TensorNumber:
    """The number that `item()`, `float()` or the like reads out of a tensor."""
    whole = how in ("int", "__int__", "__index__", "bool")
    if how == "item":
        whole = value.tensor.dtype is not None and not value.tensor.dtype.startswith(("float", "bfloat"))
    return TensorNumber(ReadOut(value.tensor, how, machine.site()), "int" if whole else "float")


def row_of(machine: Machine, tensor: Tensor) -> Tensor:
    """A row of a tensor, as iteration gives it: one of several views."""
    row = machine.autograd.view(tensor, "torch.unbind", multiple=True)
    row.shape = tensor.shape[1:] if tensor.shape else None
    row.layout = tensor.layout[1:] if isinstance(tensor.layout, tuple) else tensor.layout
    if row.layout is Order.SHARED:
        row.layout = Order.UNKNOWN  # Whether the expanded dimension is left is not known.
    return row


class DType(Object):
    """A `torch.dtype`; `name` is without the `torch.`."""

    __slots__ = ("name",)
    kind_name = "dtype"

    def __init__(self, name: str) -> None:
        self.name = name

    def decision_key(self) -> object:
        return ("dtype", self.name)

    def is_same(self, other: Value) -> bool:
        return isinstance(other, DType) and other.name == self.name

    def compare(self, machine: Machine, operator: str, other: Value, reflected: bool) -> Value:
        if isinstance(other, Unknown):
            return machine.unknown("dtype", ("dtype", operator, self.name, *_key(other)), (other,), data=True)
        if operator in ("eq", "ne"):
            return self.is_same(other) is (operator == "eq")
        return NotImplemented

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "is_floating_point":
            return self.name.startswith(("float", "bfloat"))
        return super().attribute(machine, name)


ANOTHER_DEFAULT = "another default device"
"""The mark of a program whose default device may not be the CPU."""


class Device(Context):
    """A `torch.device`; `kind` is None where it is not known which one. Inside its `with`, tensors are made there."""

    __slots__ = ("kind",)
    kind_name = "device"

    def __init__(self, kind: str | None) -> None:
        self.kind = kind

    def enter(self, machine: Machine) -> Value:
        machine.remembered[ANOTHER_DEFAULT] = True
        return self

    def decision_key(self) -> object:
        return ("device", self.kind) if self.kind is not None else ("device", id(self))

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "type" and self.kind is not None:
            return self.kind
        return super().attribute(machine, name)


class Size(tuple[Value, ...]):
    """A `torch.Size`: a tuple that can multiply its numbers."""

    __slots__ = ()

    def numel(self) -> Value:
        """The number of elements; an unknown number where a size is unknown."""
        return math.prod(each for each in self if isinstance(each, int)) if all(map(_is_int, self)) else NotImplemented

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: tuple[Value, ...]) -> Size:
        return Size((*self, *other))

    def __radd__(self, other: object) -> Size:
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented


def make_size(machine: Machine, arguments: Arguments) -> Value:
    """`torch.Size(numbers)`."""
    sizes = machine.call(machine.builtins["tuple"], arguments)
    return Size(sizes) if isinstance(sizes, tuple) else sizes


def _is_int(value: Value) -> bool:
    return isinstance(value, int)


def wrap(tensor: Tensor) -> TensorValue:
    """The Python object of `tensor`."""
    handle = tensor.handle
    if isinstance(handle, TensorValue):
        return handle
    made = TensorValue(tensor)
    tensor.handle = made
    return made
