"""The loop of the analysis process: one thread hears what the server says, another one works."""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import warnings
from collections.abc import Callable, Mapping

from gradpath.analyst import collector, limits, pipe
from gradpath.analyst.allowance import Allowance
from gradpath.analyst.desk import Desk
from gradpath.analyst.messages import (
    Answer,
    Cancel,
    Check,
    Closed,
    Complained,
    ConfigurationChanged,
    Done,
    Ending,
    Found,
    Grown,
    Logged,
    Opened,
    Ready,
    Settings,
    Work,
    title_of,
)

logger = logging.getLogger(__name__)

_STACK = 128 * 1024 * 1024
"""Bytes of address space for the stack of the thread: deeply nested code needs more than a thread is given."""

_RESTS: Mapping[float, str] = {0.03: "short", 5.0: "long"}


def serve(inlet: int, outlet: int) -> None:
    """Work for the process at the other ends of two pipes, and end this one when they are closed."""
    # A busy check gives way to messages sooner than by default (5 ms).
    sys.setswitchinterval(0.001)
    sending = threading.Lock()

    def send(answer: Answer) -> None:
        with sending:
            pipe.write(outlet, answer)

    service = Service(send)
    before = threading.stack_size(_STACK)
    threading.Thread(target=service.run, name="gradpath-work", daemon=True).start()
    threading.stack_size(before)
    pipe.listen(inlet, service.hear)
    os._exit(0)


class Service:
    """Does the requested work, one piece after the other, and answers at once."""

    def __init__(self, send: Callable[[Answer], None], *, alone: bool = False) -> None:
        self._send = send
        self._inbox: queue.SimpleQueue[Work | Closed] = queue.SimpleQueue()
        self._desk = Desk(lambda importer: send(Found(importer)), lambda text: send(Complained(text)), alone=alone)
        self._cancelled = 0

    # On the thread that hears

    def hear(self, message: object) -> None:
        """Take a message; what it says of texts and settings holds at once, for work that is under way, too."""
        match message:
            case Work():
                self._inbox.put(message)
            case Cancel(number=number):
                self._cancelled = number
            case Opened():
                self._desk.open(message)
            case Closed():
                self._desk.close(message.uri)
                self._inbox.put(message)
            case Settings():
                logging.getLogger("gradpath").setLevel(message.level)
                self._desk.configure(message)
            case ConfigurationChanged():
                self._desk.configurations.forget()

    # On the thread that works

    def run(self) -> None:
        """Load the analysis, then work for ever."""
        try:
            self._log_to_server()
            self._desk.load()
            limits.limit_process()
            collector.begin()
            self._send(Ready())
            while True:
                self._do(self._next())
        except BaseException:  # noqa: BLE001 (it ends the process)
            # Without this thread the process is of no use; what it has to say is read from its standard error.
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    def load(self) -> None:
        """Load the analysis, where nothing but `do_next` is to run it."""
        self._desk.load()
        self._send(Ready())

    def do_next(self) -> None:
        """Do the piece of work that waits longest, if one does."""
        if not self._inbox.empty():
            self._do(self._inbox.get())

    def _do(self, message: Work | Closed) -> None:
        match message:
            case Work() as work:
                self._work(work)
            case Closed(uri=uri):
                self._desk.clear(uri)

    def _next(self) -> Work | Closed:
        passed = 0.0
        for pause, kind in _RESTS.items():
            try:
                return self._inbox.get(timeout=pause - passed)
            except queue.Empty:
                passed = pause
            if kind == "short":
                collector.clean_up()
            else:
                self._rest()
        return self._inbox.get()

    def _rest(self) -> None:
        collector.clean_up_all()
        if limits.has_grown():
            self._desk.forget()
            if limits.has_grown():
                self._send(Grown())

    def _work(self, work: Work) -> None:
        allowance = Allowance(work.seconds, lambda: self._cancelled >= work.number)
        answer: object = None
        if isinstance(work.request, Check):
            collector.clean_up_if_due()
        limits.begin_work(work.seconds)
        try:
            answer = self._desk.answer(work.request, allowance)
        except MemoryError:
            allowance.ending = Ending.OUT_OF_MEMORY
        except Exception:  # One request has no answer; the process continues with the next.
            logger.exception("%s has failed", title_of(work.request))
        limits.end_work()
        ending = allowance.ending
        if ending is Ending.OUT_OF_MEMORY:
            self._desk.forget()
        try:
            self._send(Done(work.number, ending, None if ending is Ending.CANCELLED else answer))
        except OSError:
            raise
        except Exception:  # An answer that cannot be pickled.
            logger.exception("%s cannot be told", title_of(work.request))
            self._send(Done(work.number, ending))

    def _log_to_server(self) -> None:
        logging.getLogger().handlers[:] = [_ToServer(self)]
        logging.getLogger("gradpath").setLevel(logging.INFO)
        warnings.simplefilter("ignore")

        def report(args: threading.ExceptHookArgs) -> None:
            if args.exc_value is not None:
                logger.error("A thread of gradpath has failed", exc_info=args.exc_value)

        threading.excepthook = report
        sys.unraisablehook = lambda _: None

    def log(self, record: logging.LogRecord, text: str, traceback: str | None) -> None:
        """Tell the server of a log record."""
        self._send(Logged(record.name, record.levelno, text, traceback))


class _ToServer(logging.Handler):
    def __init__(self, service: Service) -> None:
        super().__init__(logging.DEBUG)
        self._service = service
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            traceback = self._formatter.formatException(record.exc_info) if record.exc_info else None
            self._service.log(record, record.getMessage(), traceback)
        except Exception:  # noqa: BLE001 (a log line that cannot be sent has nowhere else to go)
            return
