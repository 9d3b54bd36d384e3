"""Texts kept in a folder of the checked tree, of which only those count that this user's own runs have written.

The author of the tree may put anything there: a folder that is a link, or texts that would hide what gradpath finds.
So a link is neither followed nor written through, and each file begins with a code that cannot be made without a secret
key, which is in the user's own cache folder and nowhere else. Where no key can be kept nothing is kept.
"""

from __future__ import annotations

import hmac
import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from gradpath.support.internal_errors import folder as crash_reports
from gradpath.support.reading import LOG, read_bytes

_KEY = 32
"""Bytes of the key."""


class Store:
    """Texts by name in the folder `name` inside of `home`, which git ignores."""

    def __init__(self, home: Path, name: str) -> None:
        self._home = home
        self._folder = home / name

    def read(self, name: str) -> str:
        """The text under a name; empty where there is none, or where another user has written it."""
        key = user_key()
        if key is None or not (_is_own_folder(self._home) and _is_own_folder(self._folder)):
            return ""
        try:
            seal, _, data = read_bytes(self._folder / name, LOG).partition(b"\n")
            return (
                data.decode("utf-8", "surrogatepass") if hmac.compare_digest(seal, self._seal(key, name, data)) else ""
            )
        except (OSError, UnicodeDecodeError):
            return ""

    def write(self, name: str, text: str) -> None:
        """Keep a text, whole or not at all; nothing happens where that is not possible."""
        key = user_key()
        if key is None or not (_made_own_folder(self._home) and _made_own_folder(self._folder)):
            return
        data = text.encode("utf-8", "surrogatepass")
        with suppress(OSError):
            _create(self._home / ".gitignore", b"*\n")
            handle, temporary = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(self._seal(key, name, data) + b"\n" + data)
                os.replace(temporary, self._folder / name)
            except BaseException:
                os.unlink(temporary)
                raise

    def _seal(self, key: bytes, name: str, data: bytes) -> bytes:
        place = os.fsencode(os.path.abspath(self._folder / name))
        return hmac.digest(key, place + b"\n" + data, "sha256").hex().encode()


@cache
def user_key() -> bytes | None:
    """The secret of this user, made when it is first asked for; None where none can be kept."""
    try:
        file = crash_reports().parent / "cache-key"
        file.parent.mkdir(parents=True, exist_ok=True)
        _create(file, os.urandom(_KEY))
        status = os.lstat(file)
        if not stat.S_ISREG(status.st_mode) or not _is_mine(status):
            return None
        if os.name == "posix" and status.st_mode & 0o077:
            return None  # Others may have read it, or written it.
        key = read_bytes(file, _KEY)
    except (OSError, RuntimeError):  # There may be no home.
        return None
    return key if len(key) == _KEY else None  # Shorter is one that another run is about to write.


def _create(file: Path, data: bytes) -> None:
    """Write a file for this user's eyes alone, unless there is anything of its name, be it a link to nowhere."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except FileExistsError:
        return
    with os.fdopen(handle, "wb") as new:
        new.write(data)


def _made_own_folder(folder: Path) -> bool:
    with suppress(OSError):
        folder.mkdir()
    return _is_own_folder(folder)


def _is_own_folder(folder: Path) -> bool:
    """True if it is a folder of this user, and no link to one."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _is_mine(status)


def _is_mine(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
