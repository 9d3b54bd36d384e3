"""What a backward proves about the unknown values that its loss was computed from.

Where arithmetic and methods of tensors lead from a loss back to one value alone that may have a graph, that value has
it: PyTorch would have refused the backward otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd import ops
from gradpath.autograd.ops import find_op
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Call, Computed, Made
from gradpath.interpreter.values import Unknown, Value, is_data
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.presumed_tensors import is_method_of_tensors, presume_tensor
from gradpath.overlays.torch.tensor_value import TensorValue

_SAVING = (ast.Mult, ast.Div, ast.Pow, ast.MatMult)
"""The arithmetic that saves an operand, or a number, for the gradient of the other."""


def prove(machine: Machine, loss: Unknown) -> None:
    """`loss.backward()` is about to go through: what alone can give the loss a graph has one, and saved something."""
    carriers = list(_carriers(loss))
    for value in reversed(carriers):
        node = presume_tensor(machine, value).tensor.node
        if node is not None and node.is_open:
            node.onward = None
            if not node.holds and _saves(value):
                node.holds, node.saves = True, conditions.TENSOR.of(conditions.name_of(value))
    root = presume_tensor(machine, loss).tensor.node if carriers else None
    if root is not None and root.is_open:
        root.onward = None


def _carriers(value: Value) -> Iterator[Unknown]:
    """The chain of values upstream of one, each of which is the only one that may give the next a graph."""
    while isinstance(value, Unknown):
        possible = [each for each in _operands(value) if _may_have_graph(each)]
        if len(possible) != 1 or not isinstance(possible[0], Unknown) or possible[0].kind is not Kind.ANYTHING:
            return
        value = possible[0]
        if not list(_operands(value)):
            return  # It was not computed here: a leaf, as far as can be seen.
        yield value


def _operands(value: Unknown) -> Iterator[Value]:
    """The operands of the arithmetic or tensor method that computed a value; empty for any other origin."""
    match value.origin:
        case Call(of=Unknown() as receiver, name=name, arguments=arguments) if is_method_of_tensors(name):
            yield receiver
            yield from arguments
        case Computed(sources=sources, made=Made.ARITHMETIC):
            yield from sources


def _may_have_graph(value: object) -> bool:
    match value:
        case TensorValue():
            return value.tensor.requires_grad
        case Unknown():
            return not value.is_data and value.kind not in (Kind.PLAIN, Kind.CUT)
        case tuple():
            return any(map(_may_have_graph, value))
    return not is_data(value)


def _saves(value: Unknown) -> bool:
    """True if the operation that gave a value saves something, whatever its operand is."""
    match value.origin:
        case Call(name=name):
            op = find_op(f"torch.Tensor.{name}")
            return op is not None and bool(op.behaviour({op.parameters[0].name: ops.TENSOR}).holds)
        case _:
            site = value.site
            node = site.node
            return isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, _SAVING)
