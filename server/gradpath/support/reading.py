"""Safe reading of files: regular files only, up to a size.

Other files may never end, or block: a pipe or a device in the place of a file must not stop gradpath, and
neither must a file that would fill the memory. A link counts as what it leads to.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

SOURCE = 10_000_000
"""Bytes of a Python file that are read; larger ones are data."""

NOTEBOOK = 50_000_000
"""Bytes of a notebook that are read: it may hold pictures."""

CONFIGURATION = 1_000_000
"""Bytes of a configuration file, a `.gitignore` and the like that are read."""

LOG = 100_000_000
"""Bytes of a log with a traceback in it, or of a baseline, that are read."""

_PART = 65_536
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def read_bytes(path: str | Path, limit: int, *, pipes: bool = False) -> bytes:
    """The content of a file; raises OSError, whose `strerror` is the reason in one line, and nothing else.

    `limit` is one of the sizes above. `pipes` also takes a pipe, and waits for its end: that is for files that the user
    has named.
    """
    try:
        # Asked before it is opened, because that alone has effects on some devices.
        _require_file(os.stat(path), limit, pipes=pipes)
        waiting = 0 if pipes else getattr(os, "O_NONBLOCK", 0)
        handle = os.open(path, os.O_RDONLY | waiting | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0))
    except ValueError as error:  # Of a path that no system call takes.
        raise OSError(errno.EINVAL, str(error)) from error
    try:
        status = os.fstat(handle)
        _require_file(status, limit, pipes=pipes)
        return _content(handle, status.st_size, limit)
    finally:
        os.close(handle)


def _content(handle: int, expected: int, limit: int) -> bytes:
    """All that can be read; pipes, and many files of the system, do not know their size."""
    parts: list[bytes] = []
    size = 0
    while part := os.read(handle, max(expected + 1 - size, _PART)):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise OSError(errno.EFBIG, f"more than the {shown_size(limit)} that are read")
    return b"".join(parts)


def read_text(path: str | Path, limit: int, *, errors: str = "strict") -> str:
    """The content of a UTF-8 file, without its byte order mark, each line ending as a line feed.

    Raises OSError as `read_bytes` does, and UnicodeDecodeError unless `errors` says otherwise.
    """
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, limit)), encoding="utf-8-sig", errors=errors).read()


def shown_size(size: int) -> str:
    """A number of bytes as people write it."""
    power = 0
    while size >= 1000 ** (power + 1) and power < len(_UNITS) - 1:
        power += 1
    number = size / 1000**power
    return f"{number:.0f} {_UNITS[power]}" if number == int(number) else f"{number:.1f} {_UNITS[power]}"


def _require_file(status: os.stat_result, limit: int, *, pipes: bool) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG and not (pipes and kind == stat.S_IFIFO):
        raise OSError(errno.EINVAL, f"not a file but {_KINDS.get(kind, 'something else')}")
    if status.st_size > limit:
        raise OSError(errno.EFBIG, f"{shown_size(status.st_size)} is more than the {shown_size(limit)} that are read")
