"""Watches the client's process: a server whose editor has crashed must not outlive it."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable

INTERVAL = 2.0
"""Seconds between two looks at the process, where the system does not signal its end."""


def is_alive(process: int) -> bool:
    """True if a process of that id exists, whoever owns it."""
    if process <= 0:
        return False
    if sys.platform == "win32":
        return _is_alive_on_windows(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # It belongs to another user, so it exists.
    return True


def watch(process: int, gone: Callable[[], None], interval: float = INTERVAL) -> None:
    """Call `gone` from a daemon thread once the process has ended.

    A process that cannot be seen from the start is not watched: its id is that of another machine or container.
    """
    if not is_alive(process):
        return

    def look() -> None:
        if not _has_waited(process):
            pause = threading.Event()
            while is_alive(process):
                pause.wait(interval)
        gone()

    threading.Thread(target=look, name="gradpath-client-watch", daemon=True).start()


def _has_waited(process: int) -> bool:
    """Wait for the end of a process; False at once where the system cannot wait for one that is not a child."""
    if sys.platform != "linux":
        return False
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    try:
        select.select([descriptor], [], [])
    finally:
        os.close(descriptor)
    return True


def _is_alive_on_windows(process: int) -> bool:
    import ctypes

    synchronize, still_waiting = 0x00100000, 0x102
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 (mypy knows `windll` on Windows alone)
    handle = kernel.OpenProcess(synchronize, False, process)
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == still_waiting)
    finally:
        kernel.CloseHandle(handle)
