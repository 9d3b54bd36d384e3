"""An analysis process as seen by the process that started it."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import gradpath
from gradpath.analyst import pipe
from gradpath.support.isolation import isolated
from gradpath.support.lazy_regex import regex

_PROGRAM = os.path.join(os.path.dirname(__file__), "program.py")

_MOMENT = 0.2
"""Seconds that a process has to print its stack before it is killed."""

_THREAD = regex(r"(?m)^(?:Current thread|Thread) .*\n(?:  File .*\n)+")
_FRAME = regex(r'  File "([^"]+)", line (\d+) in (\S+)')


class Link:
    """A process, two threads that talk to it, and what it writes on standard error.

    Nothing here waits for the process. `hear` gets its messages and `ended` is called after the last one, on the event
    loop; what it has said by the time that it is ended counts no more.
    """

    def __init__(self, command: Sequence[str] = ()) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        options: dict[str, Any] = {}
        if sys.platform != "win32":
            options["start_new_session"] = True  # What it has started ends with it.
        self._process = subprocess.Popen(
            command or isolated(_PROGRAM), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, **options
        )
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._is_ended = False
        self.is_ready = False

    def attach(self, loop: AbstractEventLoop, hear: Callable[[Link, object], None]) -> None:
        """Begin to talk: `hear` gets each message, and None when the process has ended by itself."""

        def heard(message: object) -> None:
            if not self._is_ended:
                hear(self, message)

        def later(message: object) -> None:
            with suppress(RuntimeError):  # The loop is closed.
                loop.call_soon_threadsafe(heard, message)

        def read() -> None:
            assert self._process.stdout is not None
            pipe.listen(self._process.stdout.fileno(), later)
            self._process.wait()
            later(None)

        def write() -> None:
            assert self._process.stdin is not None
            descriptor = self._process.stdin.fileno()
            with suppress(OSError):
                while (data := self._outbox.get()) is not None:
                    pipe.write_bytes(descriptor, data)

        for work in (read, write):
            threading.Thread(target=work, name=f"gradpath-analysis-{work.__name__}", daemon=True).start()

    def send(self, message: object) -> None:
        """Send a message, as soon as the process takes it."""
        self._outbox.put(pipe.packed(message))

    def end(self) -> None:
        """End the process, and what it has started, at once."""
        self._is_ended = True
        self._outbox.put(None)
        _end(self._process)

    def end_with_word(self, loop: AbstractEventLoop, told: Callable[[str], None]) -> None:
        """End the process, and return its place; empty where that is unknown."""
        self._is_ended = True
        self._outbox.put(None)
        if sys.platform != "win32":
            with suppress(OSError):
                os.kill(self._process.pid, signal.SIGABRT)  # `faulthandler` prints the stack.

        def finish() -> None:
            _end(self._process)
            told(self.place())

        loop.call_later(_MOMENT, finish)

    def place(self) -> str:
        """The file and line of gradpath where the process was when it ended, as far as it is known."""
        with suppress(OSError, ValueError):
            self._errors.seek(0)
            return place_in(self._errors.read(1 << 20).decode(errors="replace"))
        return ""


def place_in(dump: str) -> str:
    """The innermost place of the working thread in what `faulthandler` has written."""
    root = str(Path(gradpath.__file__).parent)
    for thread in _THREAD.finditer(dump):
        frames = [(file, line) for file, line, _ in _FRAME.findall(thread[0])]
        names = [name for _, _, name in _FRAME.findall(thread[0])]
        if "listen" in names:
            continue  # It waits for messages.
        own = [f"{os.path.relpath(file, root)}:{line}" for file, line in frames if file.startswith(root)]
        if own:
            return own[0].replace(os.sep, "/")
    return ""


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
