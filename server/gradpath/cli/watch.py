"""`gradpath check --watch`: checks again whenever a file changes, until it is interrupted.

Files are polled: that works on every file system, those of containers and networks included.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

Stamps = Mapping[str, tuple[int, int]]
"""From a path to when the file was changed, in nanoseconds, and its size in bytes."""

_PAUSE = 0.25
"""Seconds between two looks."""

_SHARE = 10
"""A look that took a second is followed by a pause of this many: a large tree should not keep a processor busy."""


def watch(check: Callable[[], int], files: Callable[[], Iterable[str]]) -> NoReturn:
    """Run `check`, and again each time one of `files` has changed, appeared or gone; ends by `KeyboardInterrupt`."""
    while True:
        # Taken first: what changes while it is being checked is checked again.
        seen = stamps(files())
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[2J\x1b[3J\x1b[H")
        check()
        sys.stdout.flush()
        watched = "1 file" if len(seen) == 1 else f"{len(seen)} files"
        print(f"gradpath: watching {watched}; Ctrl+C ends it", file=sys.stderr, flush=True)
        _wait_for_change(seen, files)


def stamps(files: Iterable[str]) -> Stamps:
    """The state of files, to see whether they have changed; deleted ones are left out."""
    found: dict[str, tuple[int, int]] = {}
    for path in files:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _wait_for_change(seen: Stamps, files: Callable[[], Iterable[str]]) -> None:
    pause = _PAUSE
    while True:
        time.sleep(pause)
        began = time.monotonic()
        if stamps(files()) != seen:
            return
        pause = max(_PAUSE, _SHARE * (time.monotonic() - began))
