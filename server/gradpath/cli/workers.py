"""Checks files in several processes. A process that dies costs the one file that it had, and is replaced."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection, wait
from typing import cast

from gradpath.cli.memory import calm_collector, sweep
from gradpath.cli.run import Checked, check_file
from gradpath.config import Config


def check_in_processes(
    files: Sequence[tuple[str, Config]],
    workers: int,
    on_done: Callable[[], None],
    *,
    measure: bool = False,
    trials: bool = True,
) -> tuple[Checked, ...]:
    """Check files as `check_file` does in `workers` processes; the outcomes stand in the order of the files."""
    outcomes: dict[int, Checked] = {}
    waiting = list(reversed(range(len(files))))
    busy: dict[Connection, tuple[Process, int]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                connection, process = _start(measure, trials)
                busy[connection] = process, waiting.pop()
                connection.send(files[busy[connection][1]])
            for ready in wait(list(busy)):
                connection = cast("Connection", ready)
                process, index = busy.pop(connection)
                try:
                    outcomes[index] = connection.recv()
                except (EOFError, OSError):
                    problem = "not checked: the process that checked it has died"
                    outcomes[index] = Checked(files[index][0], problem=problem)
                    connection.close()
                else:
                    if waiting:
                        busy[connection] = process, waiting.pop()
                        connection.send(files[busy[connection][1]])
                    else:
                        connection.close()
                on_done()
    finally:
        for connection, (process, _) in busy.items():
            process.terminate()
            connection.close()
    return tuple(outcomes[index] for index in range(len(files)))


def _start(measure: bool, trials: bool) -> tuple[Connection, Process]:
    here, there = Pipe()
    process = Process(target=_work, args=(there, measure, trials), daemon=True)
    with _without_interrupts():
        process.start()
    there.close()  # So that the end of the process is the end of the connection.
    return here, process


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Put off Ctrl-C: Python loses it in the middle of a fork, and a new process would answer with a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _work(connection: Connection, measure: bool, trials: bool) -> None:
    """Check one file after the other until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word: the main process answers for all.
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    calm_collector()
    while True:
        try:
            path, config = connection.recv()
            connection.send(check_file(path, config, measure=measure, trials=trials))
        except (EOFError, OSError):
            return
        sweep()
