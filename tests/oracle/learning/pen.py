"""What all parts of the generator write with: a draft with the grammar of training programs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from ..draft import Draft, Inapplicable, Template
from .tables import VOCABULARY


@dataclass(slots=True)
class Pen:
    """A program in the making.

    `parts` are the attributes of the classes defined so far, and how each is used; `opts` are the optimizers.
    """

    random: Random
    draft: Draft
    parts: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    opts: list[str] = field(default_factory=list)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def emit(self, line: str) -> None:
        """Write a line as it is."""
        self.draft.emit(line)

    def say(self, text: str) -> bool:
        """Write the lines of a template, if what they ask for is there."""
        with contextlib.suppress(Inapplicable):
            self.draft.fill(Template("said", 1.0, text))
            return True
        return False

    def pick(self, rows: Sequence[Template]) -> bool:
        """Write one of these templates."""
        return self.say(self.random.choices(rows, [row.weight for row in rows])[0].text)

    def net(self) -> str:
        """The name of a module."""
        return self.draft.pick("net", "var")

    def call(self, text: str, weight: float) -> None:
        """Let this be an expression for H from now on."""
        state = self.draft.state
        self.draft.state = replace(state, calls=(*state.calls, Template("H", weight, text)))

    def bound_by(self, text: str) -> str | None:
        """Write a template, and tell the last name that it binds."""
        before = self.draft.visible()
        if not self.say(text):
            return None
        return next(reversed([name for name in self.draft.visible() if name not in before]), None)


def new(random: Random) -> Pen:
    """A pen for an empty program; some programs cut nothing, some much."""
    cutting = random.choice((0.0, 0.0, 0.4, 1.0, 2.5))

    def taste(family: str) -> float:
        return cutting if family == "cut" else math.exp(random.gauss(0.0, 0.5))

    return Pen(random, Draft(random, VOCABULARY, taste, 0.3, random.choice((1, 1, 2))))
