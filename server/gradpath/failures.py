"""Failures of gradpath itself: they cost a part of an analysis, and whoever runs it decides who hears of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_collected: list[str] | None = None
_logged: set[str] = set()


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect what fails meanwhile, in this process, instead of logging it."""
    global _collected
    before, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = before


def failed(what: str) -> None:
    """Tell, while its exception is handled, what has failed; it is logged the first time, with the traceback."""
    if _collected is not None:
        _collected.append(what)
    elif what not in _logged:
        _logged.add(what)
        # Loading this takes as long as loading the interpreter.
        import logging

        logging.getLogger("gradpath.check").exception("%s", what)
