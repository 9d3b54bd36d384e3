"""Long work in turns, where it shares its thread with others: what one turn has found out the next one knows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_T = TypeVar("_T")


class PutOff(Exception):
    """The turn is over: the work is to be begun again, and comes as far with what it has found out so far."""


class Turns:
    """What some work has found out, part by part, of which each turn finds out so `many`."""

    def __init__(self, many: float = math.inf) -> None:
        self._many = self._left = many
        self._known: dict[Hashable, Any] = {}

    def begin(self) -> Turns:
        """The same, at the beginning of a turn."""
        self._left = self._many
        return self

    def end(self) -> None:
        """Forget it all: the work is done."""
        self._known.clear()

    def once(self, part: Hashable, find: Callable[[], _T]) -> _T:
        """What is known of a part, or is found out now."""
        if part not in self._known:
            if self._left < 1:
                raise PutOff
            self._left -= 1
            self._known[part] = find()
        found: _T = self._known[part]
        return found
