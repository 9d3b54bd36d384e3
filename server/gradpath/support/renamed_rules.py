"""Rule ids and families of earlier versions with their current names: an old name continues to work.

Every name that a person may have written, in a comment, a setting, an option or a baseline, goes through `now`. A
name that was split means all of its parts.
"""

from __future__ import annotations

RENAMED: dict[str, tuple[str, ...]] = {}
"""The old name, and the new ones, which are not old themselves; none where the rule is gone."""


def now(name: str) -> tuple[str, ...]:
    """The current meaning of a name: mostly itself. So is that of a removed one, which no report has."""
    return RENAMED.get(name) or (name,)
