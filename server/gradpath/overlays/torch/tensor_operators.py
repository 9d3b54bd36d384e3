"""The operators of Python on tensors: which operation of the table each one is."""

from __future__ import annotations

from gradpath.autograd.ops import op_of
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Object, Unknown, Value
from gradpath.overlays.presumed import records, targets
from gradpath.overlays.presumed.presumed_tensors import presume_tensor
from gradpath.overlays.torch.operations import call_operation
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue

_OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}

_NOT_IN_PLACE = frozenset({"matmul", "lshift", "rshift"})
"""Operators whose augmented assignment makes a new tensor."""

_COMMUTES = frozenset({"add", "mul", "and", "or", "xor"})

_UNARY = {"neg": "neg", "invert": "bitwise_not", "abs": "abs"}


class Operators:
    """The part of the tensor protocol that operators are."""

    def binary(self, machine: Machine, value: TensorValue, operator: str, other: Value, reflected: bool) -> Value:
        if isinstance(other, (str, bytes)):
            if operator == "mod" or (operator == "add" and reflected):
                return machine.unknown("text", None, (value,), data=True)
            raise machine.error("TypeError", "unsupported operand type(s)", (value, other))
        if other is ...:
            raise machine.error("TypeError", "unsupported operand type(s)", other)
        if other is None:
            raise machine.error(
                "TypeError", f"unsupported operand type(s) for {operator}: 'Tensor' and 'NoneType'", other
            )
        if isinstance(other, Object) and not isinstance(other, (TensorValue, Unknown, TensorNumber)):
            return NotImplemented
        return self._arithmetic(machine, value, operator, other, reflected)

    def _arithmetic(self, machine: Machine, value: TensorValue, operator: str, other: Value, reflected: bool) -> Value:
        if operator == "sub" or (operator == "truediv" and not reflected):
            targets.presume(machine, "" if operator == "sub" else operator, {"input": value, "target": other})
        if operator == "mul":
            records.presume_weight(machine, value.tensor, other)
        if isinstance(other, Unknown) and may_be_tensor(other):
            presume_tensor(machine, other)
        if reflected and not isinstance(other, (TensorValue, Unknown)):
            return self._reflected(machine, value, operator, other)
        left, right = (other, value) if reflected else (value, other)
        if isinstance(right, TensorNumber):
            right = 0.5
        if isinstance(left, TensorNumber):
            left = 0.5
        return call_operation(machine, op_of(f"torch.{_OPERATORS[operator]}"), Arguments([left, right]))

    def _reflected(self, machine: Machine, value: TensorValue, operator: str, other: Value) -> Value:
        """An operator whose left operand is no tensor."""
        number = 0.5 if isinstance(other, TensorNumber) else other
        if operator == "truediv":
            reciprocal = call_operation(machine, op_of("torch.reciprocal"), Arguments([value]))
            assert isinstance(reciprocal, TensorValue)
            return self._arithmetic(machine, reciprocal, "mul", number, False)
        if operator == "sub":
            return call_operation(machine, op_of("torch.rsub"), Arguments([value, number]))
        operands = [value, number] if operator in _COMMUTES else [number, value]
        return call_operation(machine, op_of(f"torch.{_OPERATORS[operator]}"), Arguments(operands))

    def inplace(self, machine: Machine, value: TensorValue, operator: str, other: Value) -> Value:
        if operator not in _OPERATORS or operator in _NOT_IN_PLACE:
            return NotImplemented
        if other is None:
            raise machine.error(
                "TypeError", f"unsupported operand type(s) for {operator}: 'Tensor' and 'NoneType'", other
            )
        if isinstance(other, TensorNumber):
            other = 0.5
        if isinstance(other, Unknown) and may_be_tensor(other):
            presume_tensor(machine, other)
        return call_operation(machine, op_of(f"torch.Tensor.{_OPERATORS[operator]}_"), Arguments([value, other]))

    def unary(self, machine: Machine, value: TensorValue, operator: str) -> Value:
        name = _UNARY.get(operator)
        return value if name is None else call_operation(machine, op_of(f"torch.{name}"), Arguments([value]))

    def compare(self, machine: Machine, value: TensorValue, operator: str, other: Value) -> Value:
        if other is None or isinstance(other, str):
            return operator == "ne"
        if isinstance(other, (TensorNumber, Unknown)):
            other = 0.5
        return call_operation(machine, op_of(f"torch.{operator}"), Arguments([value, other]))


def may_be_tensor(unknown: Unknown) -> bool:
    """True if an unknown operand is worth presuming a tensor: one that came from a call, item or parameter."""
    return unknown.kind is not Kind.ANYTHING or isinstance(unknown.tensor, TensorValue)
