"""Rule ids and families of earlier versions, and what they are called now: an old name goes on working.

Wherever a person may have written a name, in a comment, a setting, an option or a baseline, `now` is asked. A name that
was split stands for all of its parts.
"""

from __future__ import annotations

RENAMED: dict[str, tuple[str, ...]] = {}
"""The old name, and the new ones, which are not old themselves; none where the rule is gone."""


def now(name: str) -> tuple[str, ...]:
    """What a name stands for today: as a rule itself. So does one that is gone, which no report has."""
    return RENAMED.get(name) or (name,)
