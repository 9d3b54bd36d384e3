"""Atomic writes: the new file is written beside the old one, and then renamed over it.

The mode stays, and the owner where the system lets that be. Another name of the same file (a hard link) keeps the old
text, as with every program that replaces files: half a file would be worse.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress

from gradpath.support.reading import read_bytes


class UnwritableFile(Exception):
    """A file that cannot be replaced; the text is the reason, in one line."""


def replace_file(path: str, data: bytes, new_data: bytes) -> None:
    """Put `new_data` in place of a file that still holds `data`.

    A symbolic link stays and its target is replaced. Raises `UnwritableFile`, and then nothing has changed.
    """
    target = os.path.realpath(path)
    try:
        if not os.access(target, os.W_OK):
            raise UnwritableFile("the file is not writable")
        _put(target, new_data, unless_changed_from=data)
    except OSError as error:
        raise UnwritableFile(error.strerror or str(error)) from error


def write_file(path: str, data: bytes) -> None:
    """Write a file, which need not be there; raises OSError, and then nothing has changed."""
    target = os.path.realpath(path)
    if os.path.lexists(target) and not os.path.isfile(target):
        with open(target, "wb") as stream:  # A device or a pipe, which the user has named, is written to.
            stream.write(data)
    else:
        _put(target, data)


def leads_outside(path: str, walked: Iterable[str]) -> bool:
    """True if a file is a link, found in one of the folders that were `walked`, to a file outside of all of them.

    A link that is named itself leads where its user wants it to.
    """
    if not os.path.islink(path):
        return False
    folders = tuple(walked)
    found = any(_is_below(os.path.abspath(path), os.path.abspath(folder)) for folder in folders)
    return found and not any(_is_below(os.path.realpath(path), os.path.realpath(folder)) for folder in folders)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _put(target: str, data: bytes, *, unless_changed_from: bytes | None = None) -> None:
    folder = os.path.dirname(target)
    handle, temporary = _open_beside(folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            _keep_rights(handle, target)
            os.fsync(handle)
            if unless_changed_from is not None and _has_changed(target, unless_changed_from):
                raise UnwritableFile("the file has changed in the meantime")
            if temporary is None:
                temporary = os.path.join(folder, f".gradpath-{os.getpid()}-{os.urandom(4).hex()}.tmp")
                # Python follows the link to the file only where it is given a folder; an absolute path needs none.
                os.link(f"/proc/self/fd/{handle}", temporary, src_dir_fd=handle)
        os.replace(temporary, target)  # After it is closed, which Windows wants.
        temporary = None
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def _open_beside(folder: str) -> tuple[int, str | None]:
    """A new file in a folder, and its name: None where it has none yet, so that nothing is left of it after a kill."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with suppress(OSError):  # Some file systems do not have it.
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600), None
    return tempfile.mkstemp(prefix=".gradpath-", suffix=".tmp", dir=folder)


def _keep_rights(handle: int, target: str) -> None:
    """Give a new file the owner and the mode of the one whose place it takes."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    else:
        mode = stat.S_IMODE(status.st_mode)
        if hasattr(os, "fchown"):
            with suppress(OSError):  # Only root may give a file away.
                os.fchown(handle, status.st_uid, status.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


def _has_changed(target: str, data: bytes) -> bool:
    """True if a file no longer holds what was read."""
    try:
        return read_bytes(target, len(data)) != data
    except OSError:
        return True
