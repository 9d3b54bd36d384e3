"""The right word for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like another, None where none is like it."""
    from difflib import get_close_matches

    # The longest known words have some thirty characters, and the comparison takes quadratic time.
    near = get_close_matches(word[:100].lower().replace("_", "-"), list(known), n=1, cutoff=0.5)
    return near[0] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean `x`?`` with the nearest known word, or nothing where none is near."""
    near = nearest(word, known)
    return f"; did you mean `{near}`?" if near else ""
