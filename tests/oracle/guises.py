"""What else a hidden thing could be: values that stand in for it, with the same sizes and other graphs."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from random import Random
from types import FunctionType
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

Change = Callable[[torch.Tensor], torch.Tensor]


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point()


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_()


def _saves(tensor: torch.Tensor) -> torch.Tensor:
    """On a graph of its own, which a backward frees."""
    return tensor.detach() * torch.ones_like(tensor, requires_grad=True)


def _saves_nothing(tensor: torch.Tensor) -> torch.Tensor:
    """On a graph of its own, of which a backward frees nothing."""
    return tensor.detach() + torch.zeros_like(tensor, requires_grad=True)


def _tiny(tensor: torch.Tensor) -> torch.Tensor:
    """With one element."""
    return tensor.reshape(-1)[:1].reshape([1] * tensor.dim())


def _one_row(tensor: torch.Tensor) -> torch.Tensor:
    """A batch of one."""
    return tensor[:1]


def _inference(tensor: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return tensor.clone()


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


CHANGES: tuple[tuple[int, Change], ...] = (
    (6, torch.Tensor.detach),
    (3, torch.Tensor.clone),
    (2, torch.rand_like),
    (4, _leaf),
    (4, _saves),
    (4, _saves_nothing),
    (2, lambda tensor: tensor + 0),
    (1, lambda tensor: tensor.view_as(tensor)),
    (1, _tiny),
    (1, _inference),
    (3, _same),
)
"""What a tensor could be instead, and how often it is."""

THOROUGH: tuple[Change, ...] = (torch.Tensor.detach, _leaf, _saves, _saves_nothing, _one_row, _same)
"""What all hidden tensors together could be instead."""


def _frees(value: Any) -> None:
    """Runs the backward itself."""
    if isinstance(value, torch.Tensor) and value.requires_grad and value.numel() == 1:
        value.sum().backward()


def _cuts_off(value: Any) -> None:
    if isinstance(value, torch.Tensor) and value.grad_fn is not None and not value._is_view():
        value.detach_()


def _freezes(value: Any) -> None:
    if isinstance(value, nn.Module):
        value.requires_grad_(False)
    elif isinstance(value, torch.Tensor) and value.is_leaf:
        value.requires_grad = False


def _clears(value: Any) -> None:
    if isinstance(value, nn.Module | torch.optim.Optimizer):
        value.zero_grad()


def _writes(value: Any) -> None:
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            value.mul_(1)


EFFECTS: tuple[Callable[[Any], None], ...] = (_frees, _cuts_off, _freezes, _clears, _writes)
"""What a function could do to what it is given, besides what is seen of it."""


class Guises:
    """Disguises values, each time in another way; the same `random` gives the same guises."""

    def __init__(self, random: Random) -> None:
        """Make every choice with `random`; in every other world one change is made of all that is hidden."""
        self.random = random
        self.always = random.choice(THOROUGH) if random.random() < 0.5 else None

    def of(self, value: Any) -> Any:
        """What stands in for a hidden value; one in three stays as it is."""
        if self.always is None and self.random.random() < 1 / 3:
            return value
        match value:
            case DataLoader():
                return self.of(list(value))
            case nn.Module():
                self._module(value)
            case torch.optim.Optimizer():
                self._optimizer(value)
            case torch.Tensor():
                return self._changed(value, self._change())
            case type():
                self._class(value)
            case FunctionType() if not inspect.isgeneratorfunction(value):
                return self._function(value)
            case list() | tuple() | dict():
                return self._changed(value, self._change())
        return value

    def _change(self) -> Change:
        if self.always is not None:
            return self.always
        return self.random.choices([c for _, c in CHANGES], [w for w, _ in CHANGES])[0]

    def _changed(self, value: Any, change: Change, some: bool = False) -> Any:
        """A value with the tensors in it changed; with `some`, only those that chance takes."""
        match value:
            case nn.Parameter() if change in (torch.Tensor.detach, torch.rand_like):
                return value
            case torch.Tensor() if change is _one_row:
                return value[:1] if value.dim() and not isinstance(value, nn.Parameter) else value
            case torch.Tensor() if _is_float(value) and not (some and self.random.random() < 0.5):
                return change(value)
            case tuple() if type(value) is tuple:
                return tuple(self._changed(each, change, some) for each in value)
            case list():
                return [self._changed(each, change, some) for each in value]
            case dict():
                return {key: self._changed(each, change, some) for key, each in value.items()}
            case _:
                return value

    def _function(
        self, function: Callable[..., Any], effects: Sequence[Callable[[Any], None]] = EFFECTS
    ) -> Callable[..., Any]:
        """The function with other results, and maybe with other effects."""
        change, some = self._change(), self.random.random() < 0.5
        effect = self.random.choice(effects) if self.random.random() < 0.3 else None
        mode = self.random.choice(MODES) if self.random.random() < 0.3 else None
        instead = self.random.random() < 0.1
        onward = self.random.random() < 0.2

        @functools.wraps(function)
        def guised(*arguments: Any, **options: Any) -> Any:
            if effect is not None:
                for each in (*arguments, *options.values()):
                    effect(each)
            if instead and arguments and isinstance(arguments[-1], torch.Tensor):
                return arguments[-1]
            with contextlib.nullcontext() if mode is None else mode():
                result = function(*arguments, **options)
            for each in arguments if onward and isinstance(result, torch.Tensor) else ():
                if isinstance(each, torch.Tensor) and each.shape == result.shape and _is_float(each):
                    return each + _saves_nothing(result)
            return self._changed(result, change, some)

        return guised

    def _module(self, module: nn.Module) -> None:
        """The module with another forward, or frozen; what it is given it leaves on its graph, as all modules do."""
        if self.random.random() < 0.2:
            module.requires_grad_(False)
        if self.random.random() < 0.8 and type(module) is not nn.Module:
            module.forward = self._function(module.forward.__func__, (_writes,)).__get__(module)

    def _class(self, kind: type) -> None:
        """The class with other methods; of a module only those that it does not inherit."""
        for name, method in list(vars(kind).items()):
            plain = isinstance(method, FunctionType) and not inspect.isgeneratorfunction(method)
            if plain and not name.startswith("__") and self.random.random() < 0.5:
                setattr(kind, name, self._function(method))

    def _optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """The optimizer of other parameters, or one that leaves out a part of its work."""
        match self.random.choice(("others", "idle", "keeps", "clears")):
            case "others":
                optimizer.param_groups = [
                    {**g, "params": [_leaf(p) for p in g["params"]]} for g in optimizer.param_groups
                ]
            case "idle":
                optimizer.step = lambda closure=None: None  # type: ignore[method-assign]
            case "keeps":
                optimizer.zero_grad = lambda set_to_none=True: None  # type: ignore[method-assign]
            case _:
                step = optimizer.step

                def stepped(closure: Any = None) -> None:
                    step(closure)
                    optimizer.zero_grad()

                optimizer.step = stepped  # type: ignore[method-assign]


MODES = (torch.no_grad, torch.enable_grad)
