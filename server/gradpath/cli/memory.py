"""The garbage collector while files are checked: seldom, and without what stays in memory for good.

An analysis makes many objects that point at each other, and the trees of imported files are kept from one file to the
next; left to itself the collector walks over all of it again and again, which costs as much as the analysis.
"""

from __future__ import annotations

import gc

_NOTABLE = 20_000
"""New objects from which on it is worth while to look for garbage behind a file."""


def calm_collector() -> None:
    """Have the collector leave alone what is in memory by now, and look at the rest only now and then."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 50, 1_000)


def sweep() -> None:
    """Remove the garbage that the check of a file has left, and leave alone what it has made for good."""
    young, middle, old = gc.get_count()
    if young > _NOTABLE or middle or old:
        gc.collect()
        gc.freeze()
