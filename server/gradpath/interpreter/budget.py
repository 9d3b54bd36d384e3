"""The budget of a path: statements, and the work of the host between them.

Whatever the host repeats at the program's request asks here: each expression that is evaluated, each item drawn from
a long iterable. What happens to tensors is counted in statements alone; work is what else there is to do,
such as the preparation of data. It is counted from the last time that something happened to a tensor, and is shared:
what an expression, a call or a loop may take is a part of what is left for what is around it, so that one that takes
too much is given up where it stands (`Overworked`), and what follows goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from gradpath.interpreter.bounds import Overworked

PLAIN = 0.125
"""The cost of a statement that touches no tensor; others cost one."""

WORN = 8
"""Visits after which a statement of another file counts one, whatever comes of it: it has shown what it does."""

PATIENCE = 16_000
"""Work that a statement of a module's body may take on end, without anything happening to a tensor."""

LEAST = 100
"""Work that a statement or a loop may take in any case: programs go on after something that was too much."""

MOST = 600_000
"""Work of a path in all: about half a second."""

OPERATION = 8
"""The work that one operation on a tensor counts as."""

ASKED = 2_000
"""Work between two questions whether the check was cancelled."""

_UNLIMITED = 1 << 62


class Exhausted(Exception):
    """The path used up its budget of steps; what follows is not known."""


class Cancelled(Exception):
    """The check was cancelled."""


class Budget:
    """The remaining budget of one path; `stopped` says whether the check was cancelled."""

    __slots__ = ("_ceiling", "_earlier", "_stop", "_work", "happened", "steps", "stopped")

    def __init__(self, steps: float) -> None:
        self.steps = steps
        self.stopped: Callable[[], bool] = lambda: False
        self.happened = False  # Something has happened to a tensor since the last statement began.
        self._earlier = 0
        self._work = 0
        self._ceiling = _UNLIMITED
        self._stop = ASKED

    def spend(self, work: int = 1) -> None:
        """Count work; raises `Overworked`, `Exhausted` or `Cancelled` where there is to be no more."""
        self._work += work
        if self._work > self._stop:
            self._look()

    def step(self, *, again: bool, worn: bool = False) -> None:
        """Count a statement, which the path executes `again` or for the first time; a `worn` one counts in full."""
        self.steps -= 1 if worn or self.happened else PLAIN
        self.happened = False
        if self.steps <= 0:
            raise Exhausted
        self._work += 1
        # What is executed for the first time is no more than the program's text: only what comes again is given up.
        if again and self._work > self._stop:
            self._look()

    def refill(self) -> None:
        """Something has happened to a tensor: this is what the work was for."""
        self.happened = True
        self._earlier += self._work + OPERATION
        self._work = 0
        self._stop = ASKED if self._ceiling > ASKED else self._ceiling

    @property
    def work(self) -> int:
        return self._earlier + self._work

    def begin(self) -> int:
        """Something begins that may take its part; gives what `end` wants to have when it is over."""
        # This is done for every statement: `min` and `max` would take half of the time.
        before, work = self._ceiling, self._work
        if before == _UNLIMITED:
            self._earlier += work
            self._work = work = 0
            ceiling = PATIENCE
        else:
            part = (before - work) * 7 // 8
            ceiling = work + (part if part > LEAST else LEAST)
        stop = work + ASKED
        self._ceiling, self._stop = ceiling, stop if stop < ceiling else ceiling
        return before

    def apart(self) -> int:
        """Something begins of which the statements are a module's own; gives what `end` wants to have."""
        if self.stopped():
            raise Cancelled
        before, self._ceiling = self._ceiling, _UNLIMITED
        return before

    def end(self, before: int) -> None:
        """End a share that `begin` has opened."""
        stop = self._work + ASKED
        self._ceiling, self._stop = before, stop if stop < before else before

    def _look(self) -> None:
        if self.stopped():
            raise Cancelled
        if self.work > MOST:
            raise Exhausted
        if self._work > self._ceiling:
            raise Overworked
        self._stop = min(self._ceiling, self._work + ASKED)
