"""All tables together."""

from __future__ import annotations

from .blocks import COMPOUND
from .classes import CLASSES
from .containers import CONTAINERS
from .definitions import DEFINITIONS
from .draft import Vocabulary
from .expressions import EXPRESSIONS
from .operations import OPERATIONS
from .practice import PRACTICE
from .pythonic import OBJECTS, PYTHONIC
from .simple import SIMPLE
from .slips import CLASHES, SLIPS
from .tables import merged
from .threads import THREADS
from .training import TRAINING
from .undecided import MAYBE
from .words import BRIDGES, FALLBACK, LITERALS, MAKERS, NAMES

SHARES: dict[str, float] = {
    "create": 5,
    "assign": 24,
    "inplace": 13,
    "setitem": 5,
    "hidden": 3,
    "number": 1.5,
    "backward": 34,
    "gradient": 4,
    "update": 1.5,
    "world": 0.7,
    "mode": 4,
    "branch": 4,
    "loop": 5,
    "flow": 4,
    "handler": 1.5,
    "container": 5,
    "slip": 2.5,
    "clash": 4,
    "define": 6,
    "custom": 0.7,
    "made": 7,
    "class": 2.5,
    "netclass": 2.5,
    "model": 2.5,
    "optimizer": 6,
    "idiom": 8,
    "practice": 5,
    "thread": 5,
    "pythonic": 5,
    "object": 2.5,
}
"""The share of each family among the statements of an average program, in parts of their sum."""

VOCABULARY = Vocabulary(
    expressions={**merged(EXPRESSIONS, OPERATIONS), "maybe": MAYBE},
    statements=(
        *SIMPLE,
        *COMPOUND,
        *CONTAINERS,
        *SLIPS,
        *CLASHES,
        *DEFINITIONS,
        *CLASSES,
        *OBJECTS,
        *PYTHONIC,
        *TRAINING,
        *PRACTICE,
        *THREADS,
    ),
    literals=LITERALS,
    names=NAMES,
    fallback=FALLBACK,
    bridges=BRIDGES,
    shares=SHARES,
    makers=MAKERS,
)
