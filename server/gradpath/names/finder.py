"""Asks for modules in the background; an answer is reported once it is there."""

from __future__ import annotations

import json
import logging
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from gradpath.names.environment import Environment
from gradpath.names.layout import find_root
from gradpath.support.isolation import isolated

log = logging.getLogger(__name__)

DEADLINE = 20.0
"""Seconds for one answer; the first of a large environment takes longest."""

FAILURES = 3
"""How often the process may hang or die before it is no longer started."""

_WORKER = os.path.join(os.path.dirname(__file__), "jedi_worker.py")

Question = tuple[str, Path, Environment, tuple[int, ...]]


class Finder:
    """Keeps a `jedi_worker` and its answers. Safe to use from any thread; `found` is called on a thread of its own.

    An answer holds until packages are installed or removed. `found` gets the file whose import has been found.
    """

    def __init__(self, found: Callable[[Path], None], command: Sequence[str] = (), deadline: float = DEADLINE) -> None:
        self._found = found
        self._command = command or isolated(_WORKER)
        self._deadline = deadline
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, Path, tuple[int, ...]], Path | None] = {}
        self._questions: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[str] | None = None
        self._failures = 0
        self._stopped = False
        self._thread: threading.Thread | None = None

    def ask(self, module: str, importer: Path, environment: Environment) -> Path | None:
        """The file of a module, as far as it is known by now; never waits."""
        stamp = environment.stamp()
        key = module, environment.prefix, stamp
        with self._lock:
            if key not in self._answers:
                self._answers[key] = None
                self._questions.put((module, importer, environment, stamp))
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="gradpath-finder", daemon=True)
                    self._thread.start()
            return self._answers[key]

    def stop(self) -> None:
        """End the process and the thread."""
        self._stopped = True
        self._questions.put(None)
        process = self._process
        if process is not None:
            process.kill()

    def _run(self) -> None:
        while (question := self._questions.get()) is not None and self._failures < FAILURES:
            module, importer, environment, stamp = question
            path = self._answer(module, importer, environment)
            if path is not None:
                with self._lock:
                    self._answers[module, environment.prefix, stamp] = path
                self._found(importer)
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _answer(self, module: str, importer: Path, environment: Environment) -> Path | None:
        """Ask the process, which is started where it does not run, and ended where it does not answer in time."""
        root = find_root(importer.parent)
        request = {
            "module": module,
            "importer": str(importer),
            "root": str(root),
            "folders": [str(folder) for folder in (root, *environment.folders())],
        }
        try:
            if self._process is None:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    encoding="utf-8",
                )
            if self._stopped:
                raise OSError("the session is over")
            line = _exchange(self._process, json.dumps(request), self._deadline)
            path = json.loads(line)["path"]
        except (OSError, ValueError, KeyError, TypeError):
            self._failures += 1
            if self._failures == FAILURES:
                log.info("jedi does not answer: imports that only it can find stay unknown")
            process, self._process = self._process, None
            if process is not None:
                _end(process)
            return None
        return Path(path) if isinstance(path, str) else None


def _exchange(process: subprocess.Popen[str], request: str, deadline: float) -> str:
    """Send a line and get one back; an empty one where the process has died, or has not answered by the deadline.

    A thread of its own does it: to kill the process would not end a read, or a write, if a child of that process held
    the other end of the pipe.
    """
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    answers: queue.SimpleQueue[str] = queue.SimpleQueue()

    def exchange() -> None:
        try:
            stdin.write(request + "\n")
            stdin.flush()
            answers.put(stdout.readline())
        except (OSError, ValueError):
            answers.put("")

    threading.Thread(target=exchange, name="gradpath-finder-exchange", daemon=True).start()
    try:
        return answers.get(timeout=deadline)
    except queue.Empty:
        return ""


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a process; its pipes are left to the collector, because a thread may still hang in one of them."""
    process.kill()
    process.wait()
