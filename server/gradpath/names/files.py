"""The project's files as one check sees them: each located, read and parsed at most once."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from gradpath.names.layout import Layout
from gradpath.names.project import Project, project_of
from gradpath.names.search_path import added_folders
from gradpath.source.document import Document, UnreadableSource, read_document
from gradpath.source.parse import Parsed, parse
from gradpath.source.unread import unread_lines
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex

_LARGEST = 1_000_000
"""Bytes of a file that is still read; larger ones are data that happens to be Python."""

MOST_SOURCE = 3_000_000
"""Characters of source, that of imported files included, whose trees one check holds: they take some 200 MB.

A longer document is not checked, and what a document imports beyond that is not read.
"""

_KEPT = MOST_SOURCE
"""Characters of source whose trees are kept in memory, the least used ones going first."""

_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.-]+:|<")
"""The prefix of a path that is not a file: a URI, or a word such as `<stdin>`."""

Stamp = tuple[int, int]
"""The modification time of a file (in nanoseconds) and its size, which show whether it has changed."""


class Trees:
    """The newest parse of each file, kept from one check to the next. For one thread only.

    Files that others import go last: where a folder is checked, each of the others is looked at once. `when_parsed` is
    called when a document that is to be checked has been parsed, `when_gone` when there was no room for a tree.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self.kept = kept
        self.when_parsed: Callable[[], None] = lambda: None
        self.when_gone: Callable[[Parsed], None] = lambda _: None
        self._checked: OrderedDict[str, tuple[Parsed, Stamp | None]] = OrderedDict()
        self._imported: OrderedDict[str, tuple[Parsed, Stamp | None]] = OrderedDict()
        self._size = 0

    def of_document(self, document: Document, last: Parsed | None) -> Parsed:
        """The parse of a document, made again unless its file has been read with this text; `last` is as in `parse`."""
        known = self._parsed(document.path)
        plain = known is not None and type(document) is type(known.document) is Document
        if known is not None and plain and known.complete and known.document.text == document.text:
            return known
        parsed = parse(document, last)
        self.when_parsed()
        return parsed

    def of_text(self, shown: str, text: str) -> Parsed:
        """The parse of a text that an editor has."""
        known = self._parsed(shown)
        if known is not None and known.document.text == text:
            return self._keep(shown, known, self._stamp(shown), self._imported)
        return self._keep(shown, parse(Document(shown, text), known), None, self._imported)

    def of_file(self, shown: str, path: Path) -> Parsed | None:
        """The parse of a file on disk; None where it cannot be read or is too large."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._parsed(shown)
        if known is not None and self._stamp(shown) == stamp:
            return self._keep(shown, known, stamp, self._imported)
        if status.st_size > _LARGEST:
            return None
        try:
            document = read_document(path, shown)
        except UnreadableSource:
            return None
        same = known is not None and known.document.text == document.text
        return self._keep(shown, known if known is not None and same else parse(document), stamp, self._imported)

    def keep(self, parsed: Parsed) -> Parsed:
        """Remember a parse that has been made anyway."""
        shown = parsed.document.path
        stamp = self._stamp(shown) if self._parsed(shown) is parsed else None
        return self._keep(shown, parsed, stamp, self._imported if shown in self._imported else self._checked)

    def drop(self, shown: str) -> None:
        """Forget the parse of a file."""
        for known in (self._checked, self._imported):
            parsed, _ = known.pop(shown, (None, None))
            self._size -= 0 if parsed is None else len(parsed.document.text)

    def clear(self) -> None:
        """Forget everything."""
        self._checked.clear()
        self._imported.clear()
        self._size = 0

    def _parsed(self, shown: str) -> Parsed | None:
        return self._entry(shown)[0]

    def _stamp(self, shown: str) -> Stamp | None:
        return self._entry(shown)[1]

    def _entry(self, shown: str) -> tuple[Parsed | None, Stamp | None]:
        return self._checked.get(shown) or self._imported.get(shown) or (None, None)

    def _keep(
        self, shown: str, parsed: Parsed, stamp: Stamp | None, among: OrderedDict[str, tuple[Parsed, Stamp | None]]
    ) -> Parsed:
        self.drop(shown)
        among[shown] = parsed, stamp
        self._size += len(parsed.document.text)
        while self._size > self.kept and len(self._checked) + len(self._imported) > 1:
            # The checked text is among them: it is the newest of those that were not imported.
            least = self._checked if len(self._checked) > 1 or not self._imported else self._imported
            _, (gone, _) = least.popitem(last=False)
            self._size -= len(gone.document.text)
            self.when_gone(gone)
        return parsed


TREES = Trees()


def _text_of(parsed: Parsed | None) -> str | None:
    return None if parsed is None else parsed.document.text


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The state of other files in a check: where modules were found, what was parsed, and what was searched as text."""

    located: Mapping[tuple[str, str], Path | None]
    members: Mapping[tuple[Path, str], Path | None]
    texts: Mapping[Path, str | None]
    words: Mapping[Path, str]


def _words(path: Path) -> str:
    """The text of a file on disk; empty where it cannot be read or is too large."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return _words_then(path, (status.st_mtime_ns, status.st_size)) if status.st_size <= _LARGEST else ""


@lru_cache(32)
def _words_then(path: Path, stamp: Stamp) -> str:
    """The same of a file as it was written then: the next check asks for it again."""
    try:
        return read_document(path, str(path)).text
    except UnreadableSource:
        return ""


class Files:
    """One check's view of the files around the checked one.

    `documents` are the texts by the paths under which they are shown: absolute where that of the checked one is, else
    relative to the current folder. `read` are the absolute paths of all files that were looked into, whether they could
    be read or not, and `left_out` those that were not read because the others are `MOST_SOURCE` already.
    """

    def __init__(
        self, parsed: Parsed, project: Project | None = None, python: str | None = None, trees: Trees = TREES
    ) -> None:
        shown = parsed.document.path
        self.checked = trees.keep(parsed)
        self.documents: dict[str, Document] = {shown: parsed.document}
        self.read: set[Path] = set()
        self.left_out: list[Path] = []
        self._room = MOST_SOURCE - len(parsed.document.text)
        self._trees = trees
        self._shown_absolute = os.path.isabs(shown)
        self._paths: dict[str, Path] = {}
        self._located: dict[tuple[str, str], Path | None] = {}
        self._roots: dict[tuple[Path, bool, Path | None], tuple[Layout, ...]] = {}
        self._roots_for: dict[tuple[str, bool], tuple[Layout, ...]] = {}
        self._members: dict[tuple[Path, str], Path | None] = {}
        self._added: dict[Path, tuple[Path, ...]] = {}
        self._texts: dict[Path, str] = {}
        self._parsed: dict[Path, Parsed | None] = {}
        self._unread: dict[str, frozenset[int]] = {}
        self.project = project
        if _SCHEME.match(shown) is None:
            path = self.path_of(shown)
            self.project = project if project is not None else project_of(path, python)
            self._parsed[path] = parsed

    def surroundings(self) -> Surroundings:
        """The state of the files around the checked one, as this check has seen it so far."""
        # In the order in which they were read: it decides which of them are left out.
        texts = {path: _text_of(parsed) for path, parsed in self._parsed.items() if path in self.read}
        return Surroundings(dict(self._located), dict(self._members), texts, dict(self._texts))

    def still(self, before: Surroundings) -> bool:
        """True if an earlier check would see the same today; what it saw counts as seen by this one."""
        for path, text in before.texts.items():
            if _text_of(self.parsed(path)) != text:
                return False
        if any(self.text(path) != text for path, text in before.words.items()):
            return False
        if any(self.locate(*key) != path for key, path in before.located.items()):
            return False
        return all(self.member(*key) == path for key, path in before.members.items())

    def path_of(self, shown: str) -> Path:
        """The absolute path of a file that is shown as `shown`."""
        known = self._paths.get(shown)
        if known is None:
            known = self._paths[shown] = Path(os.path.abspath(shown))
        return known

    def locate(self, module: str, importer: str) -> Path | None:
        """The file of a module as the file that is shown as `importer` names it (see `Project.locate`)."""
        if self.project is None:
            return None
        key = module, importer
        if key not in self._located:
            roots = () if module.startswith(".") else self._roots_of(importer, self.project)
            self._located[key] = self.project.locate(module, self.path_of(importer), roots)
        return self._located[key]

    def _roots_of(self, importer: str, project: Project) -> tuple[Layout, ...]:
        document = self.documents.get(importer)
        asked = importer, document is not None
        if asked not in self._roots_for:
            self._roots_for[asked] = self._roots_around(importer, "" if document is None else document.text, project)
        return self._roots_for[asked]

    def _roots_around(self, importer: str, text: str, project: Project) -> tuple[Layout, ...]:
        """Where the imports of a file with some text begin; many files share a folder, and then an answer."""
        path = self.path_of(importer)
        key = path.parent, "__main__" in text, path if "sys.path" in text else None
        if key not in self._roots:
            added = dict.fromkeys((*self._added_by(path), *self._added_by(self.path_of(self.checked.document.path))))
            configured = project.roots(path, script=key[1])
            self._roots[key] = (Layout(tuple(added)), *configured) if added else configured
        return self._roots[key]

    def _added_by(self, path: Path) -> tuple[Path, ...]:
        """The folders that the code of a file, or of the checked one, which is the program, adds to `sys.path`."""
        parsed = self._parsed.get(path)
        if parsed is None or self.project is None or "sys.path" not in parsed.document.text:
            return ()
        if path not in self._added:
            self._added[path] = added_folders(parsed, path, self.project.root)
        return self._added[path]

    def member(self, package: Path, name: str) -> Path | None:
        """The file of a module in a package that `locate` gave."""
        key = package, name
        if key not in self._members:
            self._members[key] = None if self.project is None else self.project.member(package, name)
        return self._members[key]

    def parsed(self, path: Path) -> Parsed | None:
        """The parse of a located file, the editor's text before that on disk; None where there is nothing to read."""
        if path not in self._parsed:
            self.read.add(path)
            found = self._parse(path) if self._room > 0 else None
            self._parsed[path] = found
            if found is not None:
                self._room -= len(found.document.text)
                self.documents[found.document.path] = found.document
            elif self._room <= 0:
                self.left_out.append(path)
        return self._parsed[path]

    def text(self, path: Path) -> str:
        """The text of a located file, which is not parsed for that; empty where there is nothing to read."""
        parsed = self._parsed.get(path)
        if parsed is not None:
            return parsed.document.text
        if path not in self._texts:
            self.read.add(path)
            text = None if self.project is None else self.project.read(path)
            self._texts[path] = _words(path) if text is None else text
        return self._texts[path]

    def unread(self, shown: str) -> frozenset[int]:
        """The lines of a file, by the path under which it is shown, that are half typed (see `unread_lines`)."""
        if shown not in self._unread:
            parsed = self.checked if shown == self.checked.document.path else self.parsed(self.path_of(shown))
            self._unread[shown] = frozenset() if parsed is None else unread_lines(parsed)
        return self._unread[shown]

    def _parse(self, path: Path) -> Parsed | None:
        if path.suffix != ".py" or self.project is None:
            return None
        text = self.project.read(path)
        if text is not None:
            return self._trees.of_text(self.shown(path), text)
        return self._trees.of_file(self.shown(path), path)

    def shown(self, path: Path) -> str:
        if self._shown_absolute:
            return str(path)
        try:
            return os.path.relpath(path)
        except ValueError:  # Another drive of Windows.
            return str(path)
