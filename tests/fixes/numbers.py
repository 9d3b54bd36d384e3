"""What a program computes under PyTorch, as far as a safe fix must keep it: steps, gradients, and what is printed."""

from __future__ import annotations

import builtins
import contextlib
import itertools
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

PRINTED = "what is printed differs"

MOST_STEPS = 40
"""Steps and backwards of a program that are compared."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(slots=True)
class Numbers:
    """The numbers of one run: by optimizer the gradients before and the parameters after each step.

    `gradients` are those of the leaves after each backward, `printed` the numbers in what was printed, of which
    `settled` were printed before the last backward that went through.
    """

    steps: dict[int, list[list[torch.Tensor | None]]] = field(default_factory=dict)
    gradients: list[list[torch.Tensor | None]] = field(default_factory=list)
    printed: list[float] = field(default_factory=list)
    settled: int = 0


@contextlib.contextmanager
def watched() -> Iterator[Numbers]:
    """Note what the program computes that runs inside. Its clocks tell how often they were read: two runs agree."""
    numbers = Numbers()
    known: dict[int, int] = {}
    kept: list[object] = []

    def before(optimizer: Any, _arguments: object, _keywords: object) -> None:
        number = known.setdefault(id(optimizer), len(known))
        kept.append(optimizer)
        _note(numbers.steps.setdefault(number, []), [p.grad for p in _parameters(optimizer)])

    def after(optimizer: Any, _arguments: object, _keywords: object) -> None:
        _note(numbers.steps.setdefault(known[id(optimizer)], []), _parameters(optimizer))

    backward, say = torch.autograd.backward, builtins.print

    def noting(tensors: Any, *arguments: Any, **keywords: Any) -> None:
        leaves = _leaves(tensors)
        backward(tensors, *arguments, **keywords)
        numbers.settled = len(numbers.printed)
        _note(numbers.gradients, [leaf.grad for leaf in leaves])

    def printing(*values: object, **keywords: Any) -> None:
        text = re.sub(r"grad_fn=<\w+>", "", " ".join(map(str, values)))
        numbers.printed += [float(each) for each in _NUMBER.findall(text)]
        say(*values, **keywords)

    readings = itertools.count()

    def clock() -> float:
        return next(readings) / 100

    tell_time, count_time = time.time, time.perf_counter
    time.time = time.perf_counter = clock
    handles = [register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)]
    torch.autograd.backward, builtins.print = noting, printing  # type: ignore[assignment]
    try:
        yield numbers
    finally:
        torch.autograd.backward, builtins.print = backward, say
        time.time, time.perf_counter = tell_time, count_time
        for handle in handles:
            handle.remove()


def _parameters(optimizer: Any) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _note(into: list[list[torch.Tensor | None]], tensors: Sequence[torch.Tensor | None]) -> None:
    if len(into) < MOST_STEPS:
        into.append([None if each is None else each.detach().clone() for each in tensors])


def _leaves(tensors: Any) -> list[torch.Tensor]:
    """The leaves behind tensors, in the order in which they are met."""
    roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    todo = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen: dict[object, None] = {}
    found: list[torch.Tensor] = []
    while todo:
        node = todo.pop(0)
        if node is None or node in seen:
            continue
        seen[node] = None
        if hasattr(node, "variable"):
            found.append(node.variable)
        todo += [each for each, _ in node.next_functions]
    return found


def difference(before: Numbers, after: Numbers, *, whole: bool) -> str:
    """What a fix changed of what a program computed before; empty where nothing.

    Where the program failed, the fixed one goes on (`whole` is false): its steps must begin with those of the other.
    """
    for number, steps in before.steps.items():
        theirs = after.steps.get(number, [])
        if len(theirs) < len(steps) or (whole and len(theirs) > len(steps)):
            return f"optimizer {number} steps {len(theirs) // 2} times, not {len(steps) // 2}"
        for index, (mine, other) in enumerate(zip(steps, theirs, strict=False)):
            if not _same(mine, other):
                what = "parameters after" if index % 2 else "gradients at"
                return f"the {what} step {index // 2 + 1} of optimizer {number} differ"
    if whole and not all(map(_same, before.gradients, after.gradients)):
        return "gradients differ"
    count = len(before.printed) if whole else before.settled
    if (whole and len(after.printed) != count) or not all(map(_close, before.printed[:count], after.printed)):
        return PRINTED
    return ""


def _same(mine: Sequence[torch.Tensor | None], theirs: Sequence[torch.Tensor | None]) -> bool:
    return len(mine) == len(theirs) and all(map(_alike, mine, theirs))


def _alike(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    """Whether two gradients do the same: none is as good as zeros."""
    if one is None or other is None:
        there = one if other is None else other
        return there is None or not bool(there.any())
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-3, atol=1e-5, equal_nan=True)


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-3 * max(abs(one), abs(other)) + 1e-4
