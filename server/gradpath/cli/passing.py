"""Runs a program so that what it writes passes through unchanged, and keeps the end of it.

The program keeps the standard input, the process group and the terminal that it would have had. A stream of its that
goes to a terminal goes to a terminal of its own first, so that bars and colours are as always; standard output and
standard error that go to one place go there in one stream, so that their order stays.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from types import FrameType

from gradpath.support.fast_dataclasses import dataclass, field

_STDOUT, _STDERR = 1, 2
_PIECE = 65_536
_KEPT = 4_000_000
"""Bytes of the end of a stream that are kept."""
_PAUSE = 0.05
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_OF_THE_KEYBOARD = ("SIGINT", "SIGQUIT")


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a program: its status, below 0 for the signal that ended it, and the end of what it wrote."""

    status: int
    written: str


@dataclass(slots=True)
class _Channel:
    """A stream on its way from the program, `source`, to where it would have gone, `target`."""

    source: int
    target: int
    kept: deque[bytes] = field(default_factory=deque)
    size: int = 0

    def keep(self, piece: bytes) -> None:
        self.kept.append(piece)
        self.size += len(piece)
        while self.size - len(self.kept[0]) >= _KEPT:
            self.size -= len(self.kept.popleft())

    @property
    def text(self) -> str:
        """The end of the stream."""
        return b"".join(self.kept).decode(errors="replace")


def passing(command: Sequence[str]) -> Ended:
    """Run a program to its end; raises OSError where it cannot be started."""
    channels, streams = _channels()
    try:
        process = subprocess.Popen(command, stdout=streams.get(_STDOUT), stderr=streams.get(_STDERR))
    except OSError:
        for channel in channels:
            os.close(channel.source)
        raise
    finally:
        for descriptor in set(streams.values()):
            os.close(descriptor)
    with _signals(process, channels):
        _relay(channels, process)
        status = process.wait()
        for channel in channels:
            _leave(channel)
    return Ended(status, "\n".join(channel.text for channel in channels))


def _channels() -> tuple[list[_Channel], dict[int, int]]:
    """The channels, and for each standard stream of the program what it writes to instead.

    On Windows standard error alone is read, since it has no substitute for a console.
    """
    targets = [_STDERR] if sys.platform == "win32" or _same(_STDOUT, _STDERR) else [_STDOUT, _STDERR]
    channels, streams = [], {}
    for target in targets:
        opened = _terminal_like(target) if os.isatty(target) and sys.platform != "win32" else os.pipe()
        channels.append(_Channel(opened[0], target))
        streams[target] = opened[1]
    if sys.platform != "win32":
        streams.setdefault(_STDOUT, streams[_STDERR])
    return channels, streams


def _same(one: int, other: int) -> bool:
    """True if two streams go to one place."""
    try:
        return os.path.sameopenfile(one, other)
    except OSError:  # One of them is closed.
        return False


def _terminal_like(target: int) -> tuple[int, int]:
    """A terminal like another one that leaves its bytes alone, since that other one gets them: its two ends."""
    import termios

    ours, theirs = os.openpty()
    attributes = termios.tcgetattr(target)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    _resize(ours, target)
    return ours, theirs


def _resize(terminal: int, like: int) -> None:
    import fcntl
    import termios

    with contextlib.suppress(OSError):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, fcntl.ioctl(like, termios.TIOCGWINSZ, bytes(8)))


def _relay(channels: Sequence[_Channel], process: subprocess.Popen[bytes]) -> None:
    """Pass everything on until the program has ended and what it wrote has arrived.

    A process that it leaves behind may hold its streams open for ever: they are not waited for.
    """
    waiting = {channel.source: channel for channel in channels}
    while waiting:
        if sys.platform == "win32":
            ready = list(waiting)  # The one pipe; to read it waits for it.
        else:
            ended = process.poll() is not None
            ready = select.select(list(waiting), [], [], 0 if ended else _PAUSE)[0]
            if ended and not ready:
                return
        for source in ready:
            if not _pass(waiting[source]):
                del waiting[source]


def _pass(channel: _Channel) -> bool:
    """Pass a piece on; False at the end of the stream, or if its reader has gone, as the program then learns."""
    try:
        piece = os.read(channel.source, _PIECE)
    except OSError:  # So ends a terminal.
        return False
    channel.keep(piece)
    rest = memoryview(piece)
    try:
        while rest:
            rest = rest[os.write(channel.target, rest) :]
    except OSError:
        os.close(channel.source)
        channel.source = -1
        return False
    return bool(piece)


def _leave(channel: _Channel) -> None:
    """Let go of a stream; processes that the program left behind still write to it, to where it always went."""
    if channel.source < 0:
        return
    if sys.platform != "win32" and select.select([channel.source], [], [], 0)[0] == [] and os.fork() == 0:
        while _pass(channel):
            pass
        os._exit(0)
    os.close(channel.source)


@contextlib.contextmanager
def _signals(process: subprocess.Popen[bytes], channels: Sequence[_Channel]) -> Iterator[None]:
    """Pass signals on to the program; those of the keyboard reach it by themselves, like all of its process group."""

    def hand_on(number: int, _: FrameType | None) -> None:
        if not (signal.Signals(number).name in _OF_THE_KEYBOARD and _in_the_foreground()):
            process.send_signal(number)

    def resize(number: int, _: FrameType | None) -> None:
        for channel in channels:
            if channel.source >= 0 and os.isatty(channel.target):
                _resize(channel.source, channel.target)
        process.send_signal(number)

    before = {}
    for name in (*_FORWARDED, *_OF_THE_KEYBOARD, "SIGWINCH"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, resize if name == "SIGWINCH" else hand_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_the_foreground() -> bool:
    """True if the keys of a terminal reach this process, and so the program."""
    if sys.platform == "win32":
        return True
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def end_like(status: int) -> int:
    """The status to end with, where a program ended with one; does not return where a signal ended it."""
    if status >= 0 or sys.platform == "win32":
        return status
    import resource

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(ValueError, OSError):
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    return 128 - status
