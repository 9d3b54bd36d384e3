"""What PyTorch does in a training program: who gets gradients, what steps use and change, on what losses depend."""

from __future__ import annotations

import contextlib
import math
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
import torch._dynamo  # Else the first optimizer loads it, and the time limit may stop that halfway.
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ..observe import FILENAME, Session
from .programs import END, START

OPENED, CLOSED = "__opened__", "__closed__"
DEEPEST = 5

LATER = "'"
"""Behind the name of a parameter that is another one by the end than it was at the beginning."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A backward: the parameters that got a gradient, those whose gradient was `moved`, and the value of the loss.

    `stale` are those with a gradient that a step had used already, `slopes` what each got, as a sum along a direction.
    """

    line: int
    reached: frozenset[str]
    moved: frozenset[str]
    accumulates: bool
    value: float
    stale: frozenset[str] = frozenset()
    early: bool = False
    slopes: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an optimizer: the parameters that it holds, those that had a gradient, those that it changed."""

    line: int
    held: frozenset[str]
    used: frozenset[str]
    changed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Clear:
    """Gradients were cleared: of whom, and whose had not been used yet."""

    line: int
    unused: frozenset[str]


Event = Ran | Step | Clear


@dataclass(frozen=True, slots=True)
class Truth:
    """A run: its events, the parameters by name, and which have a gradient at the end.

    `named` are their names where training begins and where it is over; `frozen` require none at the end. `problem`
    says why a run tells nothing.
    """

    events: tuple[Event, ...] = ()
    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    graded: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()
    problem: str = ""


def run(text: str, moved: tuple[str, float] | None = None, *, exact: bool = False) -> Truth:
    """Run a program; the parameter `moved` is moved by so much, along its direction, where training begins.

    An `exact` run has numbers of double precision.
    """
    return _Watch(moved).run(text, exact)


class _Watch:
    """One run, watched."""

    def __init__(self, moved: tuple[str, float] | None) -> None:
        self._moved = moved
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._events: list[tuple[Any, ...]] = []
        self._used: dict[int, torch.Tensor] = {}
        self._fresh: set[int] = set()
        self._values: dict[int, torch.Tensor] = {}
        self._begun = False
        self._steps: list[list[tuple[torch.Tensor, torch.Tensor]]] = []
        self._before: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._opened: dict[str, torch.Tensor] = {}
        self._closed: dict[str, torch.Tensor] = {}

    def run(self, text: str, exact: bool) -> Truth:
        marked = "\n".join(_marked(line) for line in text.split("\n"))
        session = Session()
        session.names.update({OPENED: self._open, CLOSED: self._close})
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if exact else before)
        try:
            with self._patched():
                observation = session.run(marked.replace(".float()", ".double()") if exact else marked)
        finally:
            torch.set_default_dtype(before)
        if not observation.clean:
            return Truth(problem=str(observation.fault or observation.foreign))
        if not self._closed or not self._opened:
            return Truth(problem="no parameters")
        events = tuple(self._finished())
        if any(isinstance(each, Ran) and not math.isfinite(each.value) for each in events):
            return Truth(problem="not finite")
        graded = frozenset(name for name, each in self._closed.items() if each.grad is not None)
        frozen = frozenset(name for name, each in self._closed.items() if not each.requires_grad)
        return Truth(events, tuple(self._opened), tuple(self._closed), graded, frozen)

    # -- the parameters ----------------------------------------------------------------------------------------------

    def _open(self) -> None:
        if not self._begun:
            self._begun = True
            self._opened = dict(_parameters(sys._getframe(1)))
            if self._moved is not None:
                name, much = self._moved
                tensor = self._opened[name]
                tensor.data.add_(_direction(tensor, name), alpha=much)
            self._before = [(each, each.detach().clone()) for each in self._opened.values()]

    @property
    def _is_early(self) -> bool:
        """Whether all parameters are as they were where training began."""
        return all(torch.equal(each.detach(), old) for each, old in self._before)

    def _close(self) -> None:
        opened = set(map(id, self._opened.values()))
        found = dict(_parameters(sys._getframe(1))).items()
        # What a loop made and marked as a leaf is another one in each iteration.
        kept = {name: each for name, each in found if isinstance(each, torch.nn.Parameter) or id(each) in opened}
        self._closed = {
            name if self._opened.get(name, each) is each else name + LATER: each for name, each in kept.items()
        }

    def _finished(self) -> Iterator[Event]:
        names = {id(each): name for table in (self._closed, self._opened) for name, each in table.items()}

        def of(tensors: Any) -> frozenset[str]:
            return frozenset(names[key] for key in tensors if key in names)

        for kind, line, *rest in self._events:
            if kind is Ran:
                got, accumulates, value, stale, early = rest
                moved = {key for key, given in got.items() if bool((given != 0).any())}
                slopes = {
                    names[key]: float((given * _direction(given, names[key])).sum())
                    for key, given in got.items()
                    if key in names
                }
                yield Ran(line, of(got), of(moved), accumulates, value, of(stale), early, slopes)
            elif kind is Step:
                yield Step(line, *map(of, rest))
            else:
                yield Clear(line, of(rest[0]))

    # -- what happens ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _patched(self) -> Iterator[None]:
        backward, grad = torch.autograd.backward, torch.autograd.grad
        zeros = [(owner, owner.zero_grad) for owner in (torch.optim.Optimizer, torch.nn.Module)]
        hooks = [
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]
        torch.autograd.backward = lambda *given, **named: self._backward(backward, *given, **named)
        torch.autograd.grad = lambda *given, **named: self._gradient(grad, *given, **named)
        for owner, original in zeros:
            owner.zero_grad = self._clearing(original)  # type: ignore[method-assign]
        try:
            yield
        finally:
            torch.autograd.backward, torch.autograd.grad = backward, grad
            for owner, original in zeros:
                owner.zero_grad = original  # type: ignore[method-assign]
            for hook in hooks:
                hook.remove()

    def _backward(self, original: Callable[..., Any], tensors: Any, *more: Any, **named: Any) -> None:
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        before: dict[int, torch.Tensor | None] = {}
        given: dict[int, torch.Tensor | None] = {}
        got: dict[int, torch.Tensor] = {}
        handles = []
        for leaf in _leaves(roots):
            self._kept.append(leaf)
            given[id(leaf)] = leaf.grad
            before[id(leaf)] = None if leaf.grad is None else leaf.grad.detach().clone()
            handles.append(leaf.register_post_accumulate_grad_hook(lambda each: got.setdefault(id(each), each)))
        early = self._is_early
        value = float(sum(root.detach().sum() for root in roots))
        try:
            original(tensors, *more, **named)
        finally:
            for handle in handles:
                handle.remove()
        contributions: dict[int, torch.Tensor] = {}
        stale: set[int] = set()
        for key, leaf in got.items():
            assert leaf.grad is not None
            old = before[key]
            contributions[key] = leaf.grad.detach().clone() if old is None else leaf.grad.detach() - old
            was = self._used.pop(key, None)
            if old is not None and (was is given[key] or not torch.equal(self._values.get(key, leaf), leaf)):
                stale.add(key)
                self._used[key] = leaf.grad
            self._values[key] = leaf.detach().clone()
            self._fresh.add(key)
        self._events.append((Ran, _line(), contributions, True, value, stale, early))

    def _gradient(self, original: Callable[..., Any], outputs: Any, inputs: Any, *given: Any, **named: Any) -> Any:
        wanted = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
        roots = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        value = float(sum(root.detach().sum() for root in roots))
        found = original(outputs, wanted, *given, **named)
        self._kept += wanted
        got = {id(leaf): each.detach().clone() for leaf, each in zip(wanted, found, strict=True) if each is not None}
        self._events.append((Ran, _line(), got, False, value, set(), self._is_early))
        return found

    def _before_step(self, optimizer: Any, given: Any, named: Any) -> None:
        held = [each for group in optimizer.param_groups for each in group["params"]]
        self._kept += held
        self._steps.append([(each, each.detach().clone()) for each in held])

    def _after_step(self, optimizer: Any, given: Any, named: Any) -> None:
        held = self._steps.pop()
        used = {id(each) for each, _ in held if each.grad is not None}
        changed = {id(each) for each, old in held if not torch.equal(each.detach(), old)}
        self._used.update((id(each), each.grad) for each, _ in held if each.grad is not None)
        self._fresh -= used
        self._events.append((Step, _line(), {id(each) for each, _ in held}, used, changed))

    def _clearing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def zero_grad(owner: Any, *given: Any, **named: Any) -> Any:
            own = _owned(owner)
            unused = {id(each) for each in own if each.grad is not None and id(each) in self._fresh}
            self._kept += own
            result = original(owner, *given, **named)
            gone = {id(each) for each in own}
            self._fresh -= gone
            for key in gone:
                self._used.pop(key, None)
            self._events.append((Clear, _line(), unused))
            return result

        return zero_grad


def _owned(owner: Any) -> list[torch.Tensor]:
    if isinstance(owner, torch.nn.Module):
        return list(owner.parameters())
    return [each for group in owner.param_groups for each in group["params"]]


def _marked(line: str) -> str:
    for mark, probe in ((START, OPENED), (END, CLOSED)):
        if line.strip() == mark:
            return f"{line}; {probe}()"
    return line


def _line() -> int:
    """The innermost line of the program on the stack."""
    return next(number for frame, number in traceback.walk_stack(None) if frame.f_code.co_filename == FILENAME)


def _leaves(roots: list[torch.Tensor]) -> list[torch.Tensor]:
    """The leaves that a graph leads to."""
    found = {id(root): root for root in roots if root.grad_fn is None and root.requires_grad}
    todo: list[Any] = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(todo)
    while todo:
        node = todo.pop()
        if hasattr(node, "variable"):
            found[id(node.variable)] = node.variable
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                todo.append(below)
    return list(found.values())


def _direction(tensor: torch.Tensor, name: str) -> torch.Tensor:
    """A direction for each parameter, always the same."""
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    return torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)


def _parameters(frame: FrameType) -> Iterator[tuple[str, torch.Tensor]]:
    """The leaves that the variables of a frame lead to, each by the first expression that gives it."""
    seen: set[int] = set()
    for scope in (frame.f_locals, frame.f_globals):
        for name, value in list(scope.items()):
            if not name.startswith("__") and not isinstance(value, (type, types.ModuleType, types.FunctionType)):
                yield from _below(value, name, seen, 0)


def _below(value: Any, path: str, seen: set[int], depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    if id(value) in seen or depth > DEEPEST:
        return
    if isinstance(value, torch.Tensor):
        if value.is_leaf and (isinstance(value, torch.nn.Parameter) or value.requires_grad):
            seen.add(id(value))
            yield path, value
        return
    if isinstance(value, (torch.nn.Module, list, tuple, dict)) or type(value).__module__ == "__main__":
        seen.add(id(value))
        for part, step in _parts(value, path):
            yield from _below(part, path + step, seen, depth + 1)


def _parts(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    match value:
        case torch.nn.Module():
            held = {**value._parameters, **value._modules}
            keyed = type(value) is torch.nn.ModuleDict and not path.endswith(".parametrizations")
            for name, part in held.items():
                yield part, f'["{name}"]' if keyed else f"[{name}]" if name.isdigit() else f".{name}"
            yield from ((part, f".{name}") for name, part in vars(value).items() if not name.startswith("_"))
        case list() | tuple():
            yield from ((part, f"[{index}]") for index, part in enumerate(value))
        case dict():
            yield from ((part, f'["{name}"]') for name, part in value.items() if isinstance(name, str))
        case _:
            yield from ((part, f".{name}") for name, part in vars(value).items())
