"""Which files a command line means: files as given, folders walked.

A walk leaves out what `.gitignore` files leave out, what `exclude` of the configuration names, and the folders where
tools keep other people's code. A file that is named on the command line is always checked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from gradpath.names.walk import Excludes, walk
from gradpath.render.report import Problem
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """Paths of files to check, as they are to be shown, sorted and each file once.

    `empty` are the folders, as given, in which there was nothing to check.
    """

    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    empty: tuple[str, ...]


def find_files(arguments: Sequence[str], excludes: Excludes) -> Found:
    """Resolve the paths of a command line; what does not exist or cannot be read becomes a problem."""
    files: dict[str, str] = {}
    problems: list[Problem] = []
    empty: list[str] = []

    def unreadable(shown: str, error: OSError) -> None:
        problems.append(Problem(shown, _reason(error)))

    for argument in arguments:
        try:
            mode = os.stat(argument).st_mode
        except (OSError, ValueError) as error:
            problems.append(Problem(argument, _reason(error)))
            continue
        if stat.S_ISDIR(mode):
            walked = list(walk(argument, excludes, unreadable))
            if not walked:
                empty.append(argument)
            top = os.path.realpath(argument)
            for path in walked:
                # To follow each folder on the way for each file takes long in a deep tree, where only files are links.
                inside = path if argument == "." else os.path.relpath(path, argument)
                files.setdefault(os.path.realpath(path) if os.path.islink(path) else os.path.join(top, inside), path)
        elif stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
            files.setdefault(os.path.realpath(argument), argument)
        else:
            problems.append(Problem(argument, "not a file"))
    return Found(tuple(sorted(files.values(), key=_sort_key)), tuple(problems), tuple(empty))


def part_of(files: Sequence[str], number: int, of: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of one part of so many, and those of the others; a path stays in its part whatever comes or goes."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    for path in files:
        shown = Path(path).as_posix()
        parts[crc32(shown.encode("utf-8", "surrogateescape")) % of == number - 1].append(path)
    return tuple(parts[True]), tuple(parts[False])


def _sort_key(path: str) -> tuple[tuple[str, ...], str]:
    return Path(path).parts, path


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    return (isinstance(error, OSError) and error.strerror) or str(error)
