"""Value numbers: what is computed in the same way from the same values has the same number, in any run of a program."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.findings.graphs import is_drawn, is_sum
from gradpath.findings.stories import short_operation
from gradpath.interpreter.trace import Built, Mutated, Site, Stepped

_COPIES = frozenset({"detach", "clone", "contiguous", "alias", "tensor", "as_tensor", "from_numpy"})
"""Operations whose result has the value of the one tensor that they are given."""

_ADDITIONS = frozenset({"add", "radd", "stack"})
"""Operations that change nothing of what is given to them alone."""


class ValueNumbers:
    """The numbers of the values along a path, which `follow` learns event by event.

    A graph, and what cuts it, makes no difference to a value. What is drawn at random differs from all that is drawn
    before it, and so does a parameter from what it was before it was updated.
    """

    def __init__(self) -> None:
        self._nodes: dict[Node, int] = {}
        self._tensors: dict[int, int] = {}
        self._kept: list[Tensor] = []
        self._made: Counter[str] = Counter()
        self._written: Mutated | None = None
        self._texts: dict[ast.AST, str] = {}

    def follow(self, event: object) -> None:
        """Take note of an event, in the order of the trace."""
        written, self._written = self._written, None
        if written is not None and not (isinstance(event, Built) and event.site.node is written.site.node):
            given = [self.of(each) for each in (written.tensor, *written.sources)]
            self._keep(written.tensor, self._computed(written.write.operation, given))
        match event:
            case Built(node=node, inputs=inputs):
                given = [self.of(each) for tensors in inputs.values() for each in tensors]
                self._nodes[node] = self._computed(node.name, given)
                if node.name.endswith("_") and given:
                    self._keep(next(iter(inputs.values()))[0], self._nodes[node])
            case Mutated():
                self._written = event  # The node of the write, where it has one, comes next.
            case Stepped(updated=updated):
                for tensor in updated:
                    self._keep(tensor, self._computed("updated", [self.of(tensor)]))

    def of(self, tensor: Tensor) -> int:
        """The number of what a tensor holds now."""
        makers = () if self._known(tensor) is not None else tuple(tensor.ancestors())
        for each in (*reversed(makers), tensor):  # Without recursion: programs compute long chains.
            if self._known(each) is None:
                operands = [number for made in each.maker if (number := self._known(made)) is not None]
                self._keep(each, self._computed(each.operation, operands) if operands else self._begun(each))
        return self._known(tensor) or 0

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

    def _keep(self, tensor: Tensor, number: int) -> None:
        self._tensors[id(tensor)] = number
        self._kept.append(tensor)  # So that no other tensor gets its id.

    def _computed(self, operation: str, operands: Sequence[int]) -> int:
        name = short_operation(operation).rstrip("_")
        if len(operands) == 1 and (name in _COPIES or name in _ADDITIONS):
            return operands[0]
        turn = 0
        if is_drawn(name):
            self._made[name] += 1
            turn = self._made[name]
        return hash((name, *operands, turn))

    def _begun(self, tensor: Tensor) -> int:
        """The number of what no tensor was computed for: its turn among those that an expression has made."""
        text = self._text(tensor.origin.node) if isinstance(tensor.origin, Site) else tensor.label
        self._made[text] += 1
        return hash((text, self._made[text]))

    def _text(self, node: ast.AST) -> str:
        if node not in self._texts:
            self._texts[node] = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        return self._texts[node]
