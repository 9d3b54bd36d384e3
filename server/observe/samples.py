"""The calls to watch that were written by hand (`ops.txt`, `modules.txt`), and the tensors that they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

import torch
from torch import nn

Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


def of_op(name: str) -> Iterator[Arguments]:
    """Arguments for an op: those under its full name, then those under its last name without a trailing underscore."""
    last = name.rpartition(".")[2]
    base = last.removesuffix("_") if name.startswith("torch.Tensor.") else last
    for key in dict.fromkeys((name, last, base) if name.startswith("torch.") else (name,)):
        for sample in _read("ops.txt").get(key, ()):
            yield _evaluate(sample)


def of_module(name: str) -> Iterator[tuple[Arguments, Arguments]]:
    """The constructor's and the call's arguments for a class of modules."""
    for sample in _read("modules.txt").get(name, ()):
        init, _, call = sample.partition("->")
        yield _evaluate(init), _evaluate(call)


@cache
def _read(file: str) -> Mapping[str, list[str]]:
    text = resources.files(__package__).joinpath(file).read_text("utf-8").replace("\n    ", " ")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        names, equals, samples = line.partition(" = ")
        if equals and not line.startswith("#"):
            for name in names.split():
                found.setdefault(name, []).extend(sample.strip() for sample in samples.split("|"))
    return found


def _evaluate(text: str) -> Arguments:
    arguments: Arguments = eval(f"_call({text})", {**tensors(), "_call": lambda *args, **kwargs: (args, kwargs)})
    return arguments


@cache
def tensors() -> dict[str, Any]:
    """The names that samples may use; always the same numbers."""
    generator = torch.Generator().manual_seed(7)

    def some(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator) + 0.5

    x = some(3, 4)
    probabilities = torch.rand(3, 4, generator=generator) * 0.8 + 0.1
    return {
        "torch": torch,
        "nn": nn,
        "x": x,
        "xt": some(4, 3).t(),
        "y": some(3, 4),
        "z": some(3, 4),
        "s": some(3, 4) - 1,
        "s0": some(1)[0],
        "s1": some(1),
        "lo": some(3, 4) - 0.1,
        "hi": some(3, 4) + 0.3,
        "w": some(4, 3),
        "sq": some(3, 3) + 2 * torch.eye(3),
        "v": some(4),
        "v2": some(4),
        "v3": some(3),
        "u": some(3),
        "u2": some(2),
        "w3": some(2, 4, 4),
        "b3": some(2, 3, 3),
        "b3t": some(2, 3, 3),
        "b4": some(2, 2, 3, 3),
        "b4t": some(2, 2, 3, 3),
        "q": torch.tensor([0.2, 0.7]),
        "m": x > 1,
        "m2": x > 0.8,
        "i": torch.tensor([0, 2]),
        "i2": torch.tensor([[0, 1], [2, 1]]),
        "o": torch.tensor([0, 1]),
        "p22": some(2, 2),
        "k": torch.tensor([1, 2, 3]),
        "k2": torch.tensor([2, 1, 0]),
        "g": torch.tensor([[0, 1, 2, 0], [1, 0, 1, 2]]),
        "t": torch.tensor([0, 2, 1]),
        "t2": torch.zeros(2, 4, 4, dtype=torch.int64),
        "f64": x.double(),
        "cx": torch.complex(some(3, 4), some(3, 4)),
        "pr": probabilities / probabilities.sum(1, keepdim=True),
        "pr2": probabilities,
        "seq": some(2, 2, 4),
        "img": some(2, 2, 4, 4),
        "vol": some(2, 2, 4, 4, 4),
        "c2": some(2),
        "c3": some(2),
        "c4": some(2),
        "c5": some(2),
        "q4": some(1, 2, 3, 4),
        "k4": some(1, 2, 3, 4),
        "v4": some(1, 2, 3, 4),
        "am": some(3, 3),
        "bm": torch.ones(3, 3, dtype=torch.bool),
        "grid": some(2, 3, 3, 2) - 1,
        "k33": some(2, 2, 3, 3),
        "lp": some(3, 2, 4).log_softmax(2),
        "th": some(2, 2, 3),
        "cols": some(1, 4, 9),
        "h": some(3, 4),
        "hx": some(3, 2),
        "wg": some(6, 4),
        "ug": some(6, 2),
        "bg": some(6),
        "wl": some(8, 4),
        "ul": some(8, 2),
        "bl": some(8),
        "bl2": some(8),
        "bg2": some(6),
        "br2": some(2),
        "wr": some(2, 4),
        "ur": some(2, 2),
        "br": some(2),
        "hx2": some(3, 2),
        "b3b": some(3, 3, 4),
        "b3c": some(3, 3, 4),
        "b3d": some(3, 3, 4),
        "h3": some(1, 3, 2),
        "h3b": some(1, 3, 2),
        "img4": some(2, 4, 2, 2),
    }
