"""What folders hold, read once for as long as they do not change."""

from __future__ import annotations

import os
import time
from pathlib import Path

_SETTLED = 2_000_000_000
"""Nanoseconds after a change before a list is kept: file systems have coarse clocks, and two changes may look alike."""

_MOST = 2_000
"""Folders whose lists are kept."""

asked: dict[str, dict[str, bool]] | None = None
"""What was asked for by folder, and the answers, while somebody watches (see `watch`); they stand as long."""

_known: dict[str, tuple[int, frozenset[str]]] = {}


def has(folder: Path, name: str) -> bool:
    """Whether there is anything called `name` in a folder."""
    key = str(folder)
    if asked is None:
        return _has(key, name)
    answers = asked.setdefault(key, {})
    found = answers.get(name)
    if found is None:
        found = answers[name] = _has(key, name)
    return found


def _has(key: str, name: str) -> bool:
    try:
        modified = os.stat(key).st_mtime_ns
    except (OSError, ValueError):
        return False
    known = _known.get(key)
    if known is None or known[0] != modified:
        if time.time_ns() - modified < _SETTLED:
            return os.path.lexists(os.path.join(key, name))
        try:
            known = modified, frozenset(os.listdir(key))
        except OSError:  # Not a folder, or one that may not be read.
            return os.path.lexists(os.path.join(key, name))
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = known
    return name in known[1]
