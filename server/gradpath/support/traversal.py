"""Walks through graphs, of nodes, tensors or syntax: what can be come to from where."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reachable(starts: Iterable[T], onward: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """The starts and all that leads `onward` from them, nearest first and each once."""
    seen = dict.fromkeys(starts)
    todo = list(seen)
    for each in todo:
        yield each
        for other in onward(each):
            if other not in seen:
                seen[other] = None
                todo.append(other)
