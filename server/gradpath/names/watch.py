"""The state of the file system that decided where modules were found, in short texts that can be compared later."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from gradpath.names import folders
from gradpath.names.environment import editable, hooked
from gradpath.source.notebook import source_bytes

_SETTINGS = ("pyproject.toml", "setup.cfg", "setup.py")


@contextmanager
def watched() -> Iterator[dict[str, dict[str, bool]]]:
    """Collect what is asked of folders meanwhile: names by folder, and whether they are there."""
    before, folders.asked = folders.asked, {}
    try:
        yield folders.asked
    finally:
        folders.asked = before


@cache
def _names_in(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def state_of(folder: str, names: Collection[str]) -> str:
    """Which of the names a folder holds, and what its configurations among them say, as a short text."""
    there = _names_in(folder)
    held = [name for name in sorted(names) if name in there]
    said = [content_of(os.path.join(folder, name)) for name in _SETTINGS if name in held]
    return digest_of("\0".join([*held, "", *said]).encode("utf-8", "surrogateescape"))[:16]


@cache
def content_of(path: str) -> str:
    """A file's content as a short text, "" where it cannot be read; asked once in a process."""
    try:
        return digest_of(source_bytes(path))
    except OSError:
        return ""


@cache
def environment(root: str, python: str | None) -> str:
    """The additions of the environment to the files of a project, as a short text."""
    found = editable(Path(root), python), hooked(Path(root), python)
    return digest_of(repr(found).encode("utf-8", "surrogateescape"))


def digest_of(data: bytes) -> str:
    """A short text that two contents share only if they are the same."""
    import hashlib

    return hashlib.sha256(data).hexdigest()[:32]


def forget() -> None:
    """Ask the file system again from here on."""
    for each in (content_of, environment, _names_in):
        each.cache_clear()
