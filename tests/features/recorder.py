"""What PyTorch shows of who learns from what: a program is run, and each backward and each step is looked at."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch.optim import optimizer as optimizers

from tests.documents.grammar import Source
from tests.documents.pytorch import run

Seen = dict[tuple[str, str, int], list[bool | None]]
"""For the name of a parameter and the line of a call, each time that it ran: whether it had an effect."""


@dataclass
class Record:
    """For a parameter and a line: whether it got a gradient that is not zero, one of zeros, none; whether it changed.

    `arrived` has for each time True, False for zeros, None for nothing at all.
    """

    arrived: Seen = field(default_factory=dict)
    changed: Seen = field(default_factory=dict)
    raised: str = ""


def record(text: str, names: Sequence[tuple[str, str]]) -> Record:
    """Run a program, and follow the parameters with these names: what holds them, and the way from there."""
    found = Record()

    def stack() -> list[FrameType]:
        frame: FrameType | None = sys._getframe(2)
        frames = []
        while frame is not None:
            if frame.f_code.co_filename.endswith("program.py"):
                frames.append(frame)
            frame = frame.f_back
        return frames

    def tensors(frames: Sequence[FrameType]) -> Iterator[tuple[tuple[str, str], list[torch.Tensor]]]:
        for holder, way in names:
            known = _resolved(frames, holder, way)
            if known:
                yield (holder, way), known

    backward = torch.autograd.backward

    def watched(*args: Any, **named: Any) -> None:
        frames = stack()
        before = {key: [_state(each) for each in known] for key, known in tensors(frames)}
        backward(*args, **named)
        for key, known in tensors(frames):
            if key in before:
                effects = [_effect(was, each) for was, each in zip(before[key], known, strict=True)]
                effect = True if True in effects else False if False in effects else None
                for line in {frame.f_lineno for frame in frames}:
                    found.arrived.setdefault((*key, line), []).append(effect)

    pending: list[tuple[list[FrameType], dict[tuple[str, str], list[torch.Tensor]]]] = []

    def entering(*_: Any) -> None:
        frames = stack()
        pending.append((frames, {key: [each.detach().clone() for each in known] for key, known in tensors(frames)}))

    def leaving(*_: Any) -> None:
        frames, before = pending.pop()
        for key, known in tensors(frames):
            if key in before:
                changed = any(not torch.equal(was, each) for was, each in zip(before[key], known, strict=True))
                for line in {frame.f_lineno for frame in frames}:
                    found.changed.setdefault((*key, line), []).append(changed)

    handles = [
        optimizers.register_optimizer_step_pre_hook(entering),
        optimizers.register_optimizer_step_post_hook(leaving),
    ]
    try:
        with mock.patch("torch.autograd.backward", watched):
            outcome = run([Source("program.py", text, "program.py", (1,))], [])
    finally:
        for handle in handles:
            handle.remove()
    if outcome.raised is not None:
        found.raised = f"{outcome.raised.kinds[0]} on line {outcome.raised.line}"
    return found


def _resolved(frames: Sequence[FrameType], holder: str, way: str) -> list[torch.Tensor]:
    """The tensors of a name, as the innermost function sees it that knows the name."""
    for frame in frames:
        with contextlib.suppress(Exception):
            value = eval(holder, frame.f_globals, frame.f_locals)
            if isinstance(value, torch.nn.Module):
                return [value.get_parameter(way)] if way else list(value.parameters())
            if isinstance(value, torch.Tensor):
                return [value]
            if isinstance(value, (list, tuple)) and all(isinstance(each, torch.nn.Module) for each in value):
                return [[each for module in value for each in module.parameters()][int(way)]]
    return []


def _state(tensor: torch.Tensor) -> tuple[torch.Tensor | None, int, torch.Tensor | None]:
    grad = tensor.grad if tensor.is_leaf else None
    return grad, 0 if grad is None else grad._version, None if grad is None else grad.detach().clone()


def _effect(was: tuple[torch.Tensor | None, int, torch.Tensor | None], tensor: torch.Tensor) -> bool | None:
    """Whether a gradient arrived since: one of zeros alone is False, none at all is None."""
    before, version, value = was
    grad = tensor.grad if tensor.is_leaf else None
    if grad is None or (grad is before and grad._version == version):
        return None
    return bool(grad.ne(0).any()) if value is None or value.shape != grad.shape else not torch.equal(value, grad)
