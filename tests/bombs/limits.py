"""Running a bomb under limits, in a child of its own: what it costs, and whether its mistake is found."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import traceback
from dataclasses import asdict, dataclass

from gradpath.analysis.check import check, load
from gradpath.diagnostic import GapKind
from gradpath.source.document import Document
from gradpath.support.internal_errors import unlogged

from .grammar import RULE, Bomb

SECONDS = 2.0
"""Of processor, for the check of one bomb."""

MEGABYTES = 250
"""Of memory, beyond what the process holds before it checks the bomb."""

_DEAD_AFTER = 12
"""Seconds of processor after which a child is killed."""

_ROOM = 1_500_000_000
"""Bytes of address space that a check may take in addition to what the program has."""


@dataclass(frozen=True)
class Outcome:
    """What became of a bomb; `trouble` is empty where it kept the limits and nothing failed."""

    name: str
    seconds: float
    megabytes: float
    is_found: bool
    trouble: str


def explode(bomb: Bomb) -> Outcome:
    """Check a bomb in a forked child."""
    load()
    gc.freeze()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _limit()
            with os.fdopen(writing, "w") as channel:
                channel.write(json.dumps(asdict(_checked(bomb))))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as channel:
        told = channel.read()
    _, status, usage = os.wait4(child, 0)
    if told:
        return Outcome(**json.loads(told))
    died = f"died of {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else "died"
    return Outcome(bomb.name, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, False, died)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (_DEAD_AFTER, _DEAD_AFTER))
    size = _pages()[0] * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + _ROOM, size + _ROOM))


def _checked(bomb: Bomb) -> Outcome:
    before, held = _seconds(), _megabytes()
    trouble, is_found = "", False
    try:
        with unlogged():
            found = check(Document(f"{bomb.name}.py", bomb.text))
        last = bomb.text.count("\n")
        is_found = any(each.rule == RULE and each.range.start.line == last for each in found.diagnostics)
        trouble = "; ".join(gap.detail for gap in found.incomplete if gap.kind in (GapKind.FAILURE, GapKind.MEMORY))
    except Exception:  # noqa: BLE001 - this is what the bomb is for.
        trouble = traceback.format_exc(limit=-3).strip()
    seconds = _seconds() - before
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - held
    if not trouble and seconds > SECONDS:
        trouble = f"took {seconds:.1f} s"
    if not trouble and megabytes > MEGABYTES:
        trouble = f"took {megabytes:.0f} MB"
    return Outcome(bomb.name, seconds, megabytes, is_found, trouble)


def _pages() -> tuple[int, ...]:
    """The sizes of this process, in pages: what it may address, what it holds, and more."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return tuple(map(int, file.read().split()))


def _megabytes() -> float:
    """What this process holds; a forked one begins with what its parent does."""
    return _pages()[1] * resource.getpagesize() / (1 << 20)


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
