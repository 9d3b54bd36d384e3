"""What the shadow tensors claim of sizes, dtypes, flags and memory, compared with PyTorch at each expression.

A program's calls, operators and subscripts are wrapped in probes; gradpath and PyTorch both run it, and what they know
of each value is laid side by side. A fact that gradpath does not know is a gap, one that it has wrong a lie.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from gradpath.analysis.check import STEPS
from gradpath.autograd import tensor as shadow
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.run import make_machine, run_module
from gradpath.interpreter.values import Arguments, NativeFunction, Value
from gradpath.overlays import Overlays
from gradpath.overlays.namespace import Fields
from gradpath.overlays.torch.tensor_value import TensorValue

from .observe import Session

PROBE = "__probe__"

Facts = dict[str, Any]
Seen = list[tuple[int, Facts]]


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact of an expression (its source `text` in line `line`) that gradpath lacks or has wrong.

    `known` is what gradpath says: None, or a shape with a None, where it does not know.
    """

    what: str
    line: int
    text: str
    fact: str
    known: Any
    real: Any

    @property
    def wrong(self) -> bool:
        """Whether gradpath says something else, and not just less."""
        if self.known is None:
            return False
        if not self.fact.endswith("shape") or len(self.known) != len(self.real):
            return True
        return any(ours is not None and not _fits(ours, size) for ours, size in zip(self.known, self.real, strict=True))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What gradpath has wrong or does not know of the values of a program, and of how many shapes it was asked."""

    differences: tuple[Difference, ...]
    shapes: int


def compare_values(text: str) -> Comparison:
    """Run a program under both and compare each value, in the order in which the program makes them."""
    tree = ast.parse(text)
    probes = _Probes()
    probed = ast.fix_missing_locations(probes.visit(tree))
    found: list[Difference] = []
    shapes = 0
    for (ours, known), (theirs, real) in zip(_under_gradpath(probed), _under_pytorch(probed), strict=False):
        if ours != theirs:
            break  # The ways part here.
        node, source = probes.nodes[ours]
        for fact, value in real.items():
            shapes += fact.endswith("shape")
            said = known.get(fact)
            if not _agrees(fact, said, value):
                found.append(Difference(_name(node), node.lineno, source, fact, said, value))
    return Comparison(tuple(found), shapes)


class _Probes(ast.NodeTransformer):
    """Wraps what makes values; `nodes` are the originals and their texts by the probes' numbers."""

    def __init__(self) -> None:
        self.nodes: list[tuple[ast.expr, str]] = []

    def _wrapped(self, node: ast.expr) -> ast.expr:
        source = ast.unparse(node)
        self.generic_visit(node)
        return self._probe(node, source)

    def _probe(self, node: ast.expr, source: str) -> ast.expr:
        self.nodes.append((node, source))
        number = ast.Constant(len(self.nodes) - 1)
        return ast.copy_location(ast.Call(ast.Name(PROBE, ast.Load()), [number, node], []), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        return self._wrapped(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._wrapped(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return node if isinstance(node.operand, ast.Constant) else self._wrapped(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            return self._wrapped(node)
        self.generic_visit(node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        return [node, ast.copy_location(ast.Expr(self._probe(read, ast.unparse(node))), node)]

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node  # Annotations have no probes.

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


def _name(node: ast.expr) -> str:
    """What made the value: the called function's last name, the operator's or the index's kind."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
        case ast.Call(func=ast.Call(func=ast.Name(id="__probe__"), args=[_, inner])):
            return _name(inner) if isinstance(inner, ast.Call) else type(inner).__name__
        case ast.BinOp() | ast.UnaryOp():
            return type(node.op).__name__
        case ast.Subscript():
            return f"[{type(node.slice).__name__}]"
        case _:
            return type(node).__name__


def _under_pytorch(tree: ast.Module) -> Seen:
    session = Session()
    seen: Seen = []

    def probe(number: int, value: Any) -> Any:
        seen.append((number, dict(_real(value))))
        return value

    session.names[PROBE] = probe
    session.execute(compile(tree, "program.py", "exec"))
    return seen


def _real(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    match value:
        case torch.Tensor():
            yield f"{path}shape", tuple(value.shape)
            yield f"{path}dtype", str(value.dtype).removeprefix("torch.")
            yield f"{path}requires_grad", value.requires_grad
            yield f"{path}view", value._is_view()
            yield f"{path}contiguous", value.is_contiguous()
            yield f"{path}expanded", _overlaps(value)
            if not value.is_inference():
                yield f"{path}version", value._version
        case tuple() | list():
            yield f"{path}length", len(value)
            for index, item in enumerate(value):
                yield from _real(item, f"{path}{index}.")


def _overlaps(value: torch.Tensor) -> bool:
    """Whether PyTorch refuses to write it in place because of its strides (`has_internal_overlap`)."""
    return any(stride == 0 and size > 1 for stride, size in zip(value.stride(), value.size(), strict=True))


def _under_gradpath(tree: ast.Module) -> Seen:
    seen: Seen = []

    def probe(machine: Machine, arguments: Arguments) -> Value:
        number, value = arguments.positional
        assert isinstance(number, int)
        seen.append((number, dict(_claimed(value))))
        return value

    machine = make_machine(Overlays(), (), tree, "program.py", STEPS)
    machine.builtins[PROBE] = NativeFunction(PROBE, probe)
    run_module(machine, [tree.body])
    return seen


def _claimed(value: Value, path: str = "") -> Iterator[tuple[str, Any]]:
    match value:
        case TensorValue():
            yield from ((f"{path}{fact}", claim) for fact, claim in _claims(value.tensor).items())
        case tuple() | List() | Fields():
            items = list(value) if isinstance(value, tuple) else list(value.parts())
            yield f"{path}length", None if isinstance(value, List) and value.open else len(items)
            for index, item in enumerate(items):
                yield from _claimed(item, f"{path}{index}.")


def _claims(tensor: shadow.Tensor) -> Facts:
    sure = not tensor.aliasing_unsure
    return {
        "shape": tensor.shape,
        "dtype": tensor.dtype,
        "requires_grad": None if tensor.is_open else tensor.requires_grad,
        "view": tensor.base is not None if sure else None,
        "contiguous": tensor.contiguous,
        "expanded": tensor.expanded,
        "version": tensor.storage.version if sure else None,
    }


def _agrees(fact: str, known: Any, real: Any) -> bool:
    if known is None or not fact.endswith("shape"):
        return bool(known == real)
    return len(known) == len(real) and all(_fits(ours, size) for ours, size in zip(known, real, strict=True))


def _fits(ours: int | None, size: int) -> bool:
    return ours == size or (ours == shadow.MANY and size > 1)
