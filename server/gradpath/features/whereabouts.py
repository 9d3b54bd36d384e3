"""Where the files of a traceback are now: it may have been written in another folder, or on another machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from gradpath.features.explaining import Place
from gradpath.features.tracebacks import Frame
from gradpath.names.walk import SKIPPED_FOLDERS
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document, UnreadableSource
from gradpath.source.notebook import SUFFIX, read_source
from gradpath.support.fast_dataclasses import dataclass, field

_INSTALLED = {"site-packages", "dist-packages"}
_MOST = 5_000
"""Files that are looked at before a search is given up."""


@dataclass(slots=True)
class Whereabouts:
    """Finds the places of frames in files under a folder, or among the files that were `given`.

    `documents` are the files found so far, by path as it is shown: relative where `folder` is.
    """

    folder: Path = field(default_factory=Path)
    given: Sequence[str] = ()
    documents: dict[str, Document] = field(default_factory=dict)

    def places(self, frames: Iterable[Frame]) -> list[Place]:
        """The places of the frames that lie in the user's own files, in their order."""
        found = (self._cell(frame) if frame.execution is not None else self._place(frame) for frame in frames)
        return [place for place in found if place is not None]

    def shown(self, place: Place) -> tuple[int | None, int]:
        """The number of the cell, where the place is in a notebook, and the line as its reader counts it."""
        document = self.documents[place.path]
        if not isinstance(document, CellsDocument):
            return None, place.line
        index = document.index_at(place.line)
        return document.cells[index].number, place.line - document.first_lines[index] + 1

    def _place(self, frame: Frame) -> Place | None:
        if _is_installed(frame.path):
            return None
        for path in self._candidates(frame.path):
            document = self._document(path)
            if document is not None and not isinstance(document, CellsDocument):
                line = _line_now(document, frame)
                if line is not None:
                    return Place(path, line, frame.function)
        return None

    def _candidates(self, path: str) -> Iterator[str]:
        """Files that a path may mean, the likeliest first: itself, then those whose last folders are the same."""
        parts = (PureWindowsPath(path) if "\\" in path else PurePosixPath(path)).parts
        if not parts:
            return
        expanded = os.path.expanduser(path)
        if os.path.isfile(expanded):
            yield self._shown(expanded)
            return
        yield from (given for given in self.given if Path(given).name == parts[-1])
        for start in range(len(parts)):
            tail = self.folder.joinpath(*parts[start:])
            if start and os.path.isfile(tail):
                yield str(tail)
                return
        yield from sorted(_called(parts[-1], self.folder), key=lambda each: (-_common_tail(each, parts), each))

    def _cell(self, frame: Frame) -> Place | None:
        """The place of a frame in the cell of a notebook, found by its number or its code."""
        given = [path for path in self.given if path.endswith(SUFFIX)]
        notebooks = given or sorted(map(str, self.folder.glob(f"*{SUFFIX}")))
        for path in notebooks:
            document = self._document(path)
            if isinstance(document, CellsDocument):
                line = _line_of_cell(document, frame)
                if line is not None:
                    return Place(path, line, frame.function)
        return None

    def _shown(self, path: str) -> str:
        """An absolute path, or one from the current folder, as it is shown."""
        real, folder = os.path.realpath(path), os.path.realpath(self.folder)
        return str(self.folder / os.path.relpath(path, self.folder)) if Path(real).is_relative_to(folder) else path

    def _document(self, path: str) -> Document | None:
        if path not in self.documents:
            try:
                self.documents[path] = read_source(Path(path), path)
            except UnreadableSource:
                return None
        return self.documents[path]


def _is_installed(path: str) -> bool:
    """True if a file belongs to a library or to Python itself."""
    parts = path.replace("\\", "/").split("/")
    standard = "lib" in parts and any(part.startswith("python3") for part in parts)
    return path.startswith("<") or standard or not _INSTALLED.isdisjoint(parts)


def _called(name: str, under: Path) -> Iterator[str]:
    """The files of that name under a folder."""
    seen = 0
    for folder, folders, files in os.walk(under):
        folders[:] = sorted(each for each in folders if each not in SKIPPED_FOLDERS and not each.startswith("."))
        seen += len(files)
        if name in files:
            yield str(Path(folder) / name)
        if seen > _MOST:
            return


def _common_tail(path: str, parts: Sequence[str]) -> int:
    """The number of parts that two paths share at their ends."""
    count = 0
    for mine, theirs in zip(reversed(Path(path).parts), reversed(parts), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _line_now(document: Document, frame: Frame) -> int | None:
    """The line of a frame in the text as it is now; None where its code is nowhere in it."""
    if not frame.code:
        return frame.line if 1 <= frame.line <= document.line_count else None
    return _nearest(document, frame.code, frame.line, range(1, document.line_count + 1))


def _nearest(document: Document, code: str, line: int, lines: range) -> int | None:
    """The line that holds `code` and is nearest to `line`; a log may have put its prefix before the code."""
    same = [number for number in lines if (text := document.line(number).strip()) and code.endswith(text)]
    longest = max((len(document.line(number).strip()) for number in same), default=0)
    same = [number for number in same if len(document.line(number).strip()) == longest]
    return min(same, key=lambda number: abs(number - line), default=None)


def _line_of_cell(document: CellsDocument, frame: Frame) -> int | None:
    """The line, in the notebook's whole code, of a frame in one of its cells."""
    for cell, source, first in zip(document.cells, document.sources, document.first_lines, strict=True):
        if cell.execution == frame.execution and 1 <= frame.line <= source.line_count:
            return first + frame.line - 1
    for source, first in zip(document.sources, document.first_lines, strict=True):
        if frame.code and 1 <= frame.line <= source.line_count and source.line(frame.line).strip() == frame.code:
            return first + frame.line - 1
    return None
