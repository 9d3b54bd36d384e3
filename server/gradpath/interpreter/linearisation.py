"""The order in which the bases of a class are searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def linearise(sequences: Sequence[list[T]], bases: list[T]) -> list[T]:
    """C3 merge; on an inconsistent hierarchy, which Python refuses, plain order."""
    todo = [sequence for sequence in [*sequences, bases] if sequence]
    result: list[T] = []
    while todo:
        for sequence in todo:
            head = sequence[0]
            if not any(head in other[1:] for other in todo):
                break
        else:
            head = todo[0][0]
        result.append(head)
        todo = [[each for each in sequence if each is not head] for sequence in todo]
        todo = [sequence for sequence in todo if sequence]
    return result
