"""The provenance of a fact about a graph: observed, proved, presumed, or open."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum


@dataclass(frozen=True, slots=True)
class Presumption:
    """A condition on the program under which a presumed fact holds.

    `row` is the row of the table of presumptions, `condition` says it in the user's words, without an "if":
    "`model` returns a state that is still on the graph"; `brief` where there is little room. Of several the one with
    the highest `doubt` is named.
    """

    row: str
    condition: str
    brief: str
    doubt: int


SHOWN = "shown"
"""The row of a presumption that a backward bears out: what it says fails only where the callee has its own graph."""

LOADED = "loader"
"""The row of a presumption about what a loader gives: data, whoever hands the loader over."""


PARTS = "parts"
"""The row of the presumption that the parts of a result share one graph."""


@lru_cache(256)
def shown(presumption: Presumption) -> Presumption:
    """The same presumption of a callee after a backward through nothing but its result."""
    return Presumption(SHOWN, presumption.condition, presumption.brief, min(presumption.doubt, 2))


class Settled(Enum):
    """The provenances without a condition: of facts, and of what is so uncertain that nothing is reported of it."""

    OBSERVED = "observed"
    """The program, or a rule of PyTorch, says so."""
    PROVED = "proved"
    """Something that happened later settles it, such as a backward that went through."""
    OPEN = "open"
    """It may or may not be so."""


Provenance = Settled | Presumption

OBSERVED, PROVED, OPEN = Settled.OBSERVED, Settled.PROVED, Settled.OPEN


def of_any(grounds: Iterable[Provenance]) -> Provenance:
    """The provenance of a fact for which any one of its grounds suffices."""
    known = list(grounds)
    return OPEN if known and all(each is OPEN for each in known) else OBSERVED


def of_all(grounds: Iterable[Provenance]) -> Provenance:
    """The provenance of a fact that needs all of its grounds: that of the first one that is not observed."""
    return next((each for each in grounds if each is not OBSERVED), OBSERVED)
