"""The time that a piece of work may take."""

from __future__ import annotations

import time
from collections.abc import Callable

from gradpath.analyst.messages import Ending


class Allowance:
    """Whether a piece of work is to stop, for the one who does it: what was true once stays true.

    The reason may go away, but work that has stopped because of it is not complete. `ending` says what the reason was.
    """

    def __init__(self, seconds: float, is_cancelled: Callable[[], bool]) -> None:
        self._end = time.monotonic() + seconds
        self._is_cancelled = is_cancelled
        self.ending = Ending.FINISHED

    def __call__(self) -> bool:
        if self.ending is Ending.FINISHED:
            if self._is_cancelled():
                self.ending = Ending.CANCELLED
            elif time.monotonic() > self._end:
                self.ending = Ending.OUT_OF_TIME
        return self.ending is not Ending.FINISHED

    def put_off(self) -> None:
        """Stop for others, as if the work were called back: it is begun again after them."""
        self.ending = Ending.CANCELLED

    @property
    def is_void(self) -> bool:
        """True if the results so far are not wanted."""
        return self.ending is Ending.CANCELLED
