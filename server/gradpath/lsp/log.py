"""Log records to the client: an editor shows what a server writes on standard error as an error."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Callable

from lsprotocol import types

Send = Callable[[types.LogMessageParams], None]

_REMEMBERED = 1000
"""The number of different records that are remembered to send each only once; the rest of a flood is dropped."""


class ClientHandler(logging.Handler):
    """Sends each different record once. `send` may be called from any thread."""

    def __init__(self, send: Send) -> None:
        super().__init__(logging.INFO)
        self._send = send
        self._seen: set[tuple[str, str | None]] = set()
        self._sending = threading.local()
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record, unless it was sent before or comes from the sending of another."""
        if getattr(self._sending, "now", False):
            return
        self._sending.now = True
        try:
            text = self.format(record)
            key = (record.name, record.exc_text or text)
            if key not in self._seen and len(self._seen) < _REMEMBERED:
                self._seen.add(key)
                self._send(types.LogMessageParams(_type_of(record.levelno), text))
        except Exception:  # noqa: BLE001 (a log line that cannot be sent has nowhere else to go)
            return
        finally:
            self._sending.now = False


def log_to_file(path: str) -> None:
    """Write every log record to a file as well, after what is there; raises OSError where that cannot be done."""
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)


def log_to_client(send: Send) -> None:
    """Make the client the place where log records, warnings and lost exceptions of this process go."""
    root = logging.getLogger()
    files = [handler for handler in root.handlers if isinstance(handler, logging.FileHandler)]
    root.handlers[:] = [ClientHandler(send), *files]
    root.setLevel(logging.WARNING)
    # pygls logs the mistakes of a client at lower levels, which are no concern of its user.
    for name in ("pygls", "asyncio"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("gradpath").setLevel(logging.DEBUG if files else logging.INFO)
    warnings.simplefilter("ignore")

    def report(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            root.error("A thread of gradpath has failed", exc_info=args.exc_value)

    threading.excepthook = report
    sys.unraisablehook = lambda _: None


def _type_of(level: int) -> types.MessageType:
    if level >= logging.ERROR:
        return types.MessageType.Error
    if level >= logging.WARNING:
        return types.MessageType.Warning
    return types.MessageType.Info
