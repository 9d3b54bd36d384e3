"""`torch.nn.utils.rnn`: sequences of different lengths, packed for a recurrent layer or padded into one tensor."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.ops import op_of
from gradpath.interpreter.builtin_types import TypeClass, type_question
from gradpath.interpreter.containers import List
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed.presumed_tensors import presume_tensor
from gradpath.overlays.torch.operations import call_operation, run_operation
from gradpath.overlays.torch.tensor_value import TensorValue, wrap


class Packed(Object):
    """A `PackedSequence`, of which only the data matters: what else is in it has no gradient."""

    __slots__ = ("data",)
    kind_name = "PackedSequence"

    def __init__(self, data: TensorValue | Unknown) -> None:
        self.data = data

    def parts(self) -> tuple[Value, ...]:
        return (self.data,)

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "data":
            return self.data
        if name in ("to", "cuda", "cpu", "float", "double", "pin_memory"):
            return NativeFunction(name, lambda m, a: self)
        return wrap(machine.autograd.tensor(shape=(None,), dtype="int64"))

    def item(self, machine: Machine, key: Value) -> Value:
        return self.data if key == 0 else self.attribute(machine, "batch_sizes")

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return iter([self.item(machine, index) for index in range(4)])

    def length(self, machine: Machine) -> int | None:
        return 4


def repacked(result: Value) -> Value:
    """The result of a recurrent layer for a packed input: its first output is packed as well."""
    if isinstance(result, tuple) and result and isinstance(result[0], TensorValue):
        return (Packed(result[0]), *result[1:])
    return result


def _gathered(machine: Machine, name: str, value: Value) -> Value:
    """A copy of a tensor's rows in another order, which saves where they came from."""
    if isinstance(value, Unknown) and (value.kind in OF_TENSORS or value.kind is Kind.PLAIN):
        value = presume_tensor(machine, value)
    if not isinstance(value, TensorValue):
        return machine.unknown(name, None, (value,))
    index = wrap(machine.autograd.tensor(shape=(None,), dtype="int64"))
    inputs = {"input": value, "dim": 0, "index": index}
    made = run_operation(machine, f"torch.nn.utils.rnn.{name}", op_of("torch.index_select"), inputs)
    if isinstance(made, TensorValue):
        made.tensor.shape = None
    return made


def _packed(machine: Machine, name: str, value: Value) -> Value:
    made = _gathered(machine, name, value)
    return Packed(made) if isinstance(made, (TensorValue, Unknown)) else made


def _pack_padded(machine: Machine, arguments: Arguments) -> Value:
    return _packed(machine, "pack_padded_sequence", arguments.get(0, "input", None))


def _pad_packed(machine: Machine, arguments: Arguments) -> Value:
    packed = arguments.get(0, "sequence", None)
    data = packed.data if isinstance(packed, Packed) else packed
    lengths = wrap(machine.autograd.tensor(shape=(None,), dtype="int64"))
    return (_gathered(machine, "pad_packed_sequence", data), lengths)


def _joined(machine: Machine, sequences: Value) -> Value:
    if not isinstance(sequences, (List, tuple)):
        return machine.unknown("sequences", None, (sequences,))
    return call_operation(machine, op_of("torch.cat"), Arguments([sequences]))


def _pad(machine: Machine, arguments: Arguments) -> Value:
    return _gathered(machine, "pad_sequence", _joined(machine, arguments.get(0, "sequences", None)))


def _pack(machine: Machine, arguments: Arguments) -> Value:
    return _packed(machine, "pack_sequence", _joined(machine, arguments.get(0, "sequences", None)))


def _sequence(machine: Machine, arguments: Arguments) -> Value:
    data = arguments.get(0, "data", None)
    return Packed(data) if isinstance(data, (TensorValue, Unknown)) else machine.unknown("packed", None, (data,))


PACKED_SEQUENCE = TypeClass("PackedSequence", _sequence, lambda value: isinstance(value, Packed))


def is_packed(machine: Machine, unknown: Unknown) -> bool:
    """True if the path has decided that something unknown is a packed sequence: `isinstance(x, PackedSequence)`."""
    answer = machine.unknowns.get(type_question(unknown, PACKED_SEQUENCE))
    return answer is not None and machine.decided(answer) is True


NAMES: Names = {
    "torch.nn.utils.rnn.PackedSequence": PACKED_SEQUENCE,
    "torch.nn.utils.rnn.pack_padded_sequence": _pack_padded,
    "torch.nn.utils.rnn.pad_packed_sequence": _pad_packed,
    "torch.nn.utils.rnn.pack_sequence": _pack,
    "torch.nn.utils.rnn.pad_sequence": _pad,
}
