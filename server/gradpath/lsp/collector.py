"""The garbage collector of a server: it works when nothing else is to be done, and looks at nothing twice."""

from __future__ import annotations

import gc

_kept = 0
"""Objects that were left the last time that all of them were looked through."""


def begin() -> None:
    """Turn the collector on, once everything is loaded: what is in memory by now stays for good."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 4, 4)  # An analysis makes many objects that die together, and few that stay.


def clean_up() -> None:
    """Remove the garbage that the checks have left, and look no more at what they have kept.

    Only when that has doubled all of it is looked through, since of what was kept then some may be garbage by now.
    """
    global _kept
    has_doubled = gc.get_freeze_count() > 2 * _kept
    if has_doubled:
        gc.unfreeze()
    gc.collect()
    gc.freeze()
    if has_doubled:
        _kept = gc.get_freeze_count()
