"""Messages over a pipe between two processes of gradpath: pickles, each after its length."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Callable

_LENGTH = struct.Struct("!Q")


def write_bytes(descriptor: int, data: bytes) -> None:
    """Write some bytes after their length; raises OSError if the reader has gone."""
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def read_bytes(descriptor: int) -> bytes:
    """Read what `write_bytes` has written; raises EOFError at the end, OSError where it cannot be read."""
    (length,) = _LENGTH.unpack(_read(descriptor, _LENGTH.size))
    return _read(descriptor, length)


def packed(message: object) -> bytes:
    """A message as bytes."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def write(descriptor: int, message: object) -> None:
    """Write a message; raises OSError if the reader has gone."""
    write_bytes(descriptor, packed(message))


def listen(descriptor: int, hear: Callable[[object], None]) -> None:
    """Hand on each message that arrives, until the other side closes the pipe or cannot be understood."""
    try:
        while True:
            hear(pickle.loads(read_bytes(descriptor)))
    except (OSError, EOFError, pickle.UnpicklingError):
        return


def _read(descriptor: int, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = os.read(descriptor, min(length - len(data), 1 << 20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)
