"""Tables of names."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, for a table of names that would fill a screen one by one."""
    return frozenset(text.split())
