"""The right word for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean `x`?`` with the nearest known word, or nothing where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return f"; did you mean `{near[0]}`?" if near else ""
