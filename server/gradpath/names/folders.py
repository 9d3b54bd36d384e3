"""The content of folders, read again only when they change."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

_SETTLED = 2_000_000_000
"""Nanoseconds after a change before a list is kept: file systems have coarse clocks, and two changes may look alike."""

_MOST = 2_000
"""Folders whose lists are kept."""

asked: dict[str, dict[str, bool]] | None = None
"""The questions by folder, and the answers, which are valid while they are watched (see `watch`)."""

_known: dict[str, tuple[int, frozenset[str]]] = {}


def has(folder: Path, name: str) -> bool:
    """True if there is anything called `name` in a folder."""
    return bool(held(folder, (name,)))


def held(folder: Path, names: Sequence[str]) -> Sequence[str]:
    """Those of some names that exist in a folder; they are asked for together."""
    key = str(folder)
    if asked is None:
        return _held(key, names)
    answers = asked.setdefault(key, {})
    new = [name for name in names if name not in answers]
    if new:
        there = _held(key, new)
        answers.update((name, name in there) for name in new)
    return [name for name in names if answers[name]]


def _held(key: str, names: Sequence[str]) -> Sequence[str]:
    listed = _listed(key)
    if listed is None:
        return [name for name in names if os.path.lexists(os.path.join(key, name))]
    return [name for name in names if name in listed]


def _listed(key: str) -> frozenset[str] | None:
    """The content of a folder; None where it has just changed, is not a folder, or may not be read."""
    try:
        modified = os.stat(key).st_mtime_ns
    except (OSError, ValueError):
        return frozenset()
    known = _known.get(key)
    if known is None or known[0] != modified:
        if time.time_ns() - modified < _SETTLED:
            return None
        try:
            known = modified, frozenset(os.listdir(key))
        except OSError:
            return None
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = known
    return known[1]
