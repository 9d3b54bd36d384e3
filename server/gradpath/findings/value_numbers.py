"""Value numbers: what is computed in the same way from the same values has the same number, in any run of a program."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

from gradpath.autograd.tensor import PRESUMED, BackwardCall, Creation, Node, Tensor
from gradpath.findings.graphs import is_drawn, is_scaling, is_sum, reach
from gradpath.findings.stories import short_operation
from gradpath.interpreter.events import Built, Mutated, Site, Stepped

_COPIES = frozenset({"detach", "clone", "contiguous", "alias", "tensor", "as_tensor", "from_numpy"})
"""Operations whose result has the value of the one tensor that they are given."""

_ADDITIONS = frozenset({"add", "radd", "stack"})
"""Operations that change nothing of what is given to them alone."""

_NOTHING = ("", "0", "0.0")
"""What may be added to a value that stays as it is, as far as it is written there."""


_FILLED = frozenset({"arange", "eye", "linspace", "ones", "ones_like", "zeros", "zeros_like"})
"""Functions that make tensors of numbers that are known beforehand."""


_OF_GRAPHS = frozenset({"create_graph", "inplace", "requires_grad", "retain_graph"})
"""Keyword arguments that change nothing of a value."""


class ValueNumbers:
    """The numbers of the values along a path, which `follow` learns event by event.

    A graph, and what cuts it, makes no difference to a value. What is drawn at random differs from all that is drawn
    before it, and so does a parameter from what it was before it was updated. Where they are `lasting` numbers a
    parameter keeps its own whatever it learns, and noise that is laid on a value, such as dropout, is always alike.
    """

    def __init__(self, *, lasting: bool = False) -> None:
        self._lasting = lasting
        self._nodes: dict[Node, int] = {}
        self._counts: dict[Node, int] = {}
        self._tensors: dict[int, int] = {}
        self._kept: list[Tensor] = []
        self._made: Counter[str] = Counter()
        self._written: Mutated | None = None
        self._texts: dict[ast.AST, str] = {}
        self._parts = (0, 0)

    def follow(self, event: object) -> None:
        """Take note of an event, in the order of the trace."""
        written, self._written = self._written, None
        if written is not None and not (isinstance(event, Built) and event.site.node is written.site.node):
            given = [self.of(each) for each in (written.tensor, *written.sources)]
            self._update(written.tensor, self._computed(written.write.operation, given))
        match event:
            case Built(node=node, inputs=inputs):
                given = [self.of(each) for tensors in inputs.values() for each in tensors]
                names = tuple(each.label for each in node.outputs) if node.name == PRESUMED and not given else ()
                number = self._computed(node.name, given, event.site, names)
                if any(each.creation is Creation.MULTIPLE for each in node.outputs):  # One of several, in this order.
                    self._parts = (number, self._parts[1] + 1) if self._parts[0] == number else (number, 0)
                    number = hash(self._parts)
                self._nodes[node] = number
                self._counts[node] = len(given)
                if node.name.endswith("_") and given:
                    self._keep(next(iter(inputs.values()))[0], self._nodes[node])
            case Mutated():
                self._written = event  # The node of the write, where it has one, comes next.
            case Stepped(updated=updated):
                for tensor in updated:
                    self._update(tensor, self._computed("updated", [self.of(tensor)]))

    def of(self, tensor: Tensor) -> int:
        """The number of what a tensor holds now."""
        makers = () if self._known(tensor) is not None else tuple(tensor.ancestors())
        for each in (*reversed(makers), tensor):  # Without recursion: programs compute long chains.
            if self._known(each) is None:
                operands = [number for made in each.maker if (number := self._known(made)) is not None]
                self._keep(
                    each, self._computed(each.operation, operands, each.origin) if operands else self._begun(each)
                )
        return self._known(tensor) or 0

    def terms(self, starts: Iterable[Node]) -> frozenset[int]:
        """The numbers of what the results of some nodes are sums, means and multiples of, as far as it has a graph.

        Empty where unseen code is a part of it, which may compute anything.
        """
        starts = tuple(starts)
        if any(node.name == PRESUMED for node in reach(starts)):
            return frozenset()
        todo, found = list(starts), dict[Node, int]()
        while todo:
            node = todo.pop()
            if node in found:
                continue
            found[node] = self._nodes.get(node, 0) if node.accumulates is None else self.of(node.accumulates)
            if is_sum(node) or (is_scaling(node) and self._counts.get(node) == 1):
                found[node] = 0
                todo.extend(node.edges)
        return frozenset(found.values()) - {0}

    def gradients(self, call: BackwardCall, executed: Iterable[Node]) -> dict[Node, int]:
        """The numbers of the gradients that came to nodes; over a sum they run on as they are."""
        come: dict[Node, int] = {}
        for node in (*executed, *(each for each in call.givers if each.accumulates is not None)):
            arrived = sum(come.get(each, 1) for each in call.givers.get(node, ()))
            come[node] = arrived if is_sum(node) else hash((self._nodes.get(node, 0), arrived))
        return come

    def _known(self, tensor: Tensor) -> int | None:
        known = self._tensors.get(id(tensor))  # What is written in place has the node of its last write from the start.
        return self._nodes.get(tensor.node) if known is None and tensor.node is not None else known

    def _update(self, tensor: Tensor, number: int) -> None:
        learns = tensor.is_parameter or (tensor.flag and tensor.node is None)
        if not (self._lasting and learns):
            self._keep(tensor, number)

    def _keep(self, tensor: Tensor, number: int) -> None:
        self._tensors[id(tensor)] = number
        self._kept.append(tensor)  # So that no other tensor gets its id.

    def _computed(
        self, operation: str, operands: Sequence[int], at: Site | None = None, names: tuple[str, ...] = ()
    ) -> int:
        """The number of a result; the `names` tell apart what came from unseen code, of operands that are not seen."""
        name = (short_operation(operation) if operation != PRESUMED else _called(at)).rstrip("_")
        options = self._options(at)
        if len(operands) == 1 and (name in _COPIES or (name in _ADDITIONS and options in _NOTHING)):
            return operands[0]
        turn = 0
        if is_drawn(name) and not (self._lasting and operands and not name.endswith("_like")):
            self._made[name] += 1
            turn = self._made[name]
        return hash((name, *operands, turn, options, *names))

    def _options(self, at: Site | None) -> str:
        """What an operation is told besides its operands: an index, or the constants among the arguments."""
        match None if at is None else at.node:
            case ast.Subscript(slice=index):
                return self._text(index)
            case ast.AugAssign(value=value):
                return self._text(value) if isinstance(value, ast.Constant) else ""
            case ast.BinOp(left=left, right=right):
                return " ".join(self._text(each) for each in (left, right) if isinstance(each, ast.Constant))
            case ast.Call(args=args, keywords=keywords):
                given = (*args, *(each.value for each in keywords if each.arg not in _OF_GRAPHS))
                return " ".join(self._text(each) for each in given if isinstance(each, ast.Constant | ast.UnaryOp))
        return ""

    def _begun(self, tensor: Tensor) -> int:
        """The number of what no tensor was computed for: its turn among those that an expression has made.

        How a call is asked to treat graphs, by keyword arguments, makes no difference.
        """
        node = tensor.origin.node
        text = tensor.label if node is None else self._text(node)
        if self._lasting and node is not None and _always_gives_the_same(node, tensor, text):
            return hash(text)
        self._made[text] += 1
        return hash((text, self._made[text]))

    def _text(self, node: ast.AST) -> str:
        if node not in self._texts:
            parts = [node.func, *node.args] if isinstance(node, ast.Call) else [node]
            made = " ".join(map(ast.unparse, parts)) if isinstance(node, ast.expr) else type(node).__name__
            self._texts[node] = made
        return self._texts[node]


def _called(at: Site | None) -> str:
    """The function or method of an unseen call."""
    match None if at is None else at.node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
    return PRESUMED


def _always_gives_the_same(node: ast.AST, tensor: Tensor, text: str) -> bool:
    """True if an expression makes a tensor of constants, or of known ones: nothing is drawn, and no item is taken."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _FILLED:
            return True
        case ast.Call() | ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return tensor.shape is not None and not tensor.is_parameter and not is_drawn(text)
    return False
