"""The parts of an unseen model that have optimizers of their own, as far as calls of the whole compute with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.origins import Call
from gradpath.interpreter.values import Unknown
from gradpath.overlays.presumed.model_parts import line
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex


@dataclass(frozen=True, slots=True)
class Trained:
    """A part of a model, with its weights, and their version when the model was called."""

    part: Unknown
    weights: Tensor
    version: int


def of_call(
    model: Unknown, result: Unknown, held: Iterable[tuple[Unknown, Tensor]], alone: Set[int]
) -> tuple[Trained, ...]:
    """The parts that a call of a model computes with: not those that the program has called `alone`.

    What it is told by a text or a flag may choose among them.
    """
    given = result.origin.arguments if isinstance(result.origin, Call) else ()
    if any(isinstance(each, (str, bool)) for each in given):
        return ()
    parts = ((part, tensor) for part, tensor in held if part is not model and model.number in line(part))
    return tuple(Trained(part, tensor, tensor.storage.version) for part, tensor in parts if part.number not in alone)


def of_result(place: Sequence[object], trained: Sequence[Trained]) -> list[Trained]:
    """The parts that a result depends on: the whole on all, one of several values on that of its number (`q1`)."""
    if not place:
        return [*trained]
    numbers = {int(found[0]): each for each in trained if (found := _NUMBER.search(each.part.name))}
    first = min(numbers, default=0)
    if len(numbers) < 2 or sorted(numbers) != [*range(first, first + len(trained))] or first > 1:
        return []
    return [each for number, each in numbers.items() if number - first == place[0]]


_NUMBER = regex(r"[0-9]+$")
