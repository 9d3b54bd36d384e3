"""Differentiating through a gradient: `create_graph=True` where a loss is computed from what `autograd.grad` gave."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import BackwardCall
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.second_calls import Case
from gradpath.findings.stories import short_operation
from gradpath.findings.syntax import call_of
from gradpath.fixes import edits
from gradpath.repairs import Repair, Way

_FLAT = frozenset({"sign", "sgn", "round", "floor", "ceil", "argmax", "argmin"})
"""What has no slope: a gradient that goes through these is a direction, and nobody differentiates it."""

_JOINS = frozenset({"add", "add_", "sub", "sub_", "rsub", "cat", "concat", "stack", "hstack", "vstack"})
"""Operations in which a gradient stays a term of its own beside what has a graph; with others it is a weight or an
input, and may well be constant on purpose.
"""


def differentiable(case: Case, *, measured: bool) -> Iterator[Fix]:
    """`create_graph=True` on a call that only asks for gradients, which are constants without it.

    Safe where the second one goes back from a loss that measures them, such as the penalty of a critic, the derivative
    in a differential equation, the forces of a potential.
    """
    call = call_of(case.trace, case.before.node)
    if call is None or case.earlier.accumulates or measured is not (case.call is not None and _measures(case.call)):
        return
    edit = edits.add_keyword(case.source.document(case.before), call, "create_graph", "True")
    yield from Fix.of(Repair(Way.CREATE, lines=(case.before.line,)), Safety.SAFE if measured else Safety.UNSAFE, edit)


def _measures(call: BackwardCall) -> bool:
    """True if a root is computed from the gradient, which stays a term of its own on the way."""
    todo, seen = list(call.roots), set[int]()
    while todo:
        tensor = todo.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if tensor.operation == "gradient":
            return True
        short = short_operation(tensor.operation)
        live = [each for each in tensor.maker if each.requires_grad]
        if short in _JOINS or short.endswith("loss"):
            todo.extend(tensor.maker)
        elif short not in _FLAT and not any(each.is_parameter for each in tensor.maker):
            todo.extend(live if live else tensor.maker)
    return False
