"""The garbage collector of a server: it works between checks rather than in them, and looks at little twice."""

from __future__ import annotations

import gc

MUCH = 10_000
"""New objects with which no further check is begun."""

_TOO_MUCH = 75_000
"""New objects during a check after which garbage is collected all the same.

The check of a file of 1,000 lines makes fewer. Where one of many more lines left all of its garbage behind, the first
edit would wait for the collector a tenth of a second.
"""

_kept = 0
"""Objects that were left the last time that all of them were looked through."""


def begin() -> None:
    """Turn the collector on, once everything is loaded: what is in memory by now stays for good."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(_TOO_MUCH, 10, 10)


def clean_up_if_due() -> None:
    """Remove the garbage of earlier checks, where edits have come so quickly that there was no time for it."""
    if gc.get_count()[0] > MUCH:
        gc.collect(0)


def clean_up() -> None:
    """Remove the garbage that the checks have left, and look no more at what they have kept."""
    gc.collect()
    gc.freeze()


def clean_up_all() -> None:
    """Look through everything, if it has doubled since the last time: of what was kept some may be garbage by now."""
    global _kept
    if gc.get_freeze_count() > 2 * _kept:
        gc.unfreeze()
        clean_up()
        _kept = gc.get_freeze_count()
