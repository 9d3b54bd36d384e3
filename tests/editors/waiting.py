"""Waiting for a server that an editor test has started."""

from __future__ import annotations

import time
import urllib.request

_PATIENCE = 90.0
_PAUSE = 0.1
"""Seconds between two questions: the servers are other people's, and tell nobody when they are ready."""


def wait_for(address: str) -> None:
    """Return once the address answers; fails where it does not within `_PATIENCE` seconds."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            assert time.monotonic() < end, f"{address} does not answer"
            time.sleep(_PAUSE)
