"""Checks files in several processes. A process that dies costs the one file that it had, and is replaced."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe, get_context, get_start_method
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
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
    """Check files as `check_file` does in `workers` processes; the outcomes are in the order of the files."""
    outcomes: dict[int, Checked] = {}
    waiting = list(reversed(range(len(files))))
    busy: dict[Connection, tuple[BaseProcess, int]] = {}
    _interrupts(wanted=False)
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                connection, process = _start(measure, trials, busy)
                busy[connection] = process, waiting.pop()
                connection.send(files[busy[connection][1]])
            for ready in _next(busy):
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
        _interrupts(wanted=True)
    return tuple(outcomes[index] for index in range(len(files)))


def _start(measure: bool, trials: bool, others: Iterable[Connection]) -> tuple[Connection, BaseProcess]:
    """A process and the connection to it; `others` lead from here to the processes that there are."""
    here, there = Pipe()
    with _outside_current_folder() as folder:
        inherited = (here, *others) if _forks() else ()
        process = get_context("fork" if _forks() else None).Process(
            target=_work, args=(there, measure, trials, folder, inherited), daemon=True
        )
        process.start()
    there.close()  # So that the end of the process is the end of the connection.
    return here, process


def _forks() -> bool:
    """True where a process is a fork, which has loaded what this one has.

    Linux forks, as Python did by itself until 3.13: there is no thread here that a fork could lose.
    """
    usual = "fork" if sys.platform == "linux" else ""
    return (get_start_method(allow_none=True) or usual) == "fork"


@contextmanager
def _outside_current_folder() -> Iterator[str | None]:
    """Start a process elsewhere unless it is a fork: its Python looks for its first modules in the current folder.

    Return the folder that the process then has to change to; it inherits the `sys.path` of this one.
    """
    if _forks():
        yield None
        return
    current = os.getcwd()
    os.chdir(os.path.dirname(os.__file__))  # The standard library, which it imports from anyway.
    try:
        yield current
    finally:
        os.chdir(current)


def _next(busy: Iterable[Connection]) -> list[object]:
    """Wait until a process has sent something, or has died; only this wait can be interrupted by Ctrl-C."""
    _interrupts(wanted=True)
    try:
        return list(wait(list(busy)))
    finally:
        _interrupts(wanted=False)


def _interrupts(*, wanted: bool) -> None:
    """Let Ctrl-C through, or put it off: Python loses it in the middle of a fork and where it deletes an object."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK if wanted else signal.SIG_BLOCK, {signal.SIGINT})


def _work(
    connection: Connection, measure: bool, trials: bool, folder: str | None, inherited: Iterable[Connection]
) -> None:
    """Check one file after the other until there are no more; `folder` is where to go first, unless it is here.

    `inherited` are ends of connections that a fork got from the main process: as long as they are open, its end is not
    noticed.
    """
    for each in inherited:
        each.close()
    if folder is not None:
        os.chdir(folder)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # As in a job in the background.
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word: the main process answers for all.
    _interrupts(wanted=True)
    calm_collector()
    while True:
        try:
            path, config = connection.recv()
            connection.send(check_file(path, config, measure=measure, trials=trials))
        except (EOFError, OSError):
            return
        sweep()
