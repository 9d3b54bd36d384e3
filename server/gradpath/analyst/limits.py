"""The limits of the analysis process, enforced by itself: they hold even without a supervisor."""

from __future__ import annotations

import faulthandler
import gc
import sys
from contextlib import suppress
from pathlib import Path

MEMORY = 300 * 1024 * 1024
"""Bytes that the process may take beyond what it holds once the analysis is loaded."""

MUCH = MEMORY // 2
"""Bytes beyond that with which no further work should begin."""

LATE = 4.0
"""Seconds after which work that has not ended, although its time was over, ends the process."""

_STDERR = 2

_loaded = 0


def limit_process() -> None:
    """Limit the memory, where the system can, and print the stack when the process crashes."""
    global _loaded
    # All threads, because the one that crashes is not always the one that gets the signal.
    faulthandler.enable(_STDERR, all_threads=True)
    _loaded = held()
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Linux counts what a process may write; other systems count nothing, or what it has mapped.
    if _loaded:
        with suppress(OSError, ValueError):
            _, most = resource.getrlimit(resource.RLIMIT_DATA)
            wanted = _loaded + MEMORY
            resource.setrlimit(resource.RLIMIT_DATA, (wanted if most < 0 else min(wanted, most), most))
    if sys.platform == "linux":
        _end_with_parent()


def begin_work(seconds: float) -> None:
    """End the process where the next work goes on for longer, even if it holds the lock of the interpreter."""
    if sys.platform != "emscripten":  # There is no second thread to watch in a page of a browser.
        faulthandler.dump_traceback_later(seconds + LATE, exit=True, file=_STDERR)


def end_work() -> None:
    """The work has ended in time."""
    if sys.platform != "emscripten":
        faulthandler.cancel_dump_traceback_later()


def held() -> int:
    """Bytes of memory of its own that the process has; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmData")), 0)


def has_grown() -> bool:
    """True if the process holds much more than it did when the analysis was loaded, garbage aside."""
    if held() <= _loaded + MUCH:
        return False
    gc.unfreeze()
    gc.collect()
    return held() > _loaded + MUCH


def _end_with_parent() -> None:
    """Have the system end the process with the one that has started it, whatever the process is doing then."""
    import ctypes
    import signal

    end_with_parent = 1  # PR_SET_PDEATHSIG
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(end_with_parent, signal.SIGKILL, 0, 0, 0)
