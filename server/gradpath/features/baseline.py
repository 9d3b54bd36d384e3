"""The baseline of an old project: known mistakes that should not be reported again.

An entry is found again by its file, its rule and the text of its line and of the lines around it, never by a line's
number, so that it survives changes elsewhere in the file. Each entry stands for one mistake.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from gradpath.diagnostic import Diagnostic
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.reading import LOG, read_bytes
from gradpath.support.renamed_rules import now

FORMAT = 1

TextOf = Callable[[str], Document | None]
"""The text that contains a report, by its path."""


class BrokenBaseline(Exception):
    """A file of which nothing can be taken; the text is the reason, in one line."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A known mistake: `line` is the text of its line, `before` and `after` those of the nearest that are not blank.

    `path` has slashes, and is seen from the folder of the baseline.
    """

    path: str
    rule: str
    line: str
    before: str = ""
    after: str = ""


def read_entries(path: Path) -> tuple[Entry, ...]:
    """The entries of a file; raises `BrokenBaseline` where it cannot be read."""
    try:
        data = json.loads(read_bytes(path, LOG, pipes=True).decode("utf-8-sig"))
    except OSError as error:
        raise BrokenBaseline(error.strerror or str(error)) from error
    except ValueError as error:
        raise BrokenBaseline(f"not a baseline: {error}") from error
    except RecursionError:
        raise BrokenBaseline("not a baseline: nested too deeply") from None
    if not isinstance(data, dict) or data.get("version") != FORMAT or not isinstance(data.get("entries"), list):
        raise BrokenBaseline(f"not a baseline of version {FORMAT}")
    entries = []
    for row in data["entries"]:
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("path", "rule", "line")):
            raise BrokenBaseline("an entry lacks its path, rule or line")
        around = {name: row.get(name) if isinstance(row.get(name), str) else "" for name in ("before", "after")}
        entries.append(Entry(row["path"], row["rule"], row["line"], str(around["before"]), str(around["after"])))
    return tuple(entries)


def known_among(
    diagnostics: Iterable[Diagnostic], entries: Iterable[Entry], folder: Path, text_of: TextOf
) -> frozenset[int]:
    """The identities of those diagnostics that are in a baseline, which lies in `folder`.

    Where several mistakes fit an entry, the one whose neighbours fit best is meant. One whose neighbours have both
    changed is known only if there are not more such lines than entries for them.
    """
    found: dict[tuple[str, str, str], list[tuple[Entry, Diagnostic]]] = {}
    for each in diagnostics:
        entry = entry_of(each, folder, text_of)
        found.setdefault((entry.path, entry.rule, entry.line), []).append((entry, each))
    wanted: dict[tuple[str, str, str], list[Entry]] = {}
    for known in entries:
        for rule in now(known.rule):
            wanted.setdefault((known.path, rule, known.line), []).append(known)
    gone: set[int] = set()
    spent: set[int] = set()  # An entry for a rule that was split is still one mistake.
    for key, candidates in found.items():
        _match([each for each in wanted.get(key, []) if id(each) not in spent], candidates, gone, spent)
    return frozenset(gone)


def _match(
    wanted: Sequence[Entry], candidates: Sequence[tuple[Entry, Diagnostic]], gone: set[int], spent: set[int]
) -> None:
    left, open_entries = list(candidates), list(wanted)
    for least in (2, 1, 0):
        if least == 0 and len(left) > len(open_entries):
            return
        for known in list(open_entries):
            fitting = next((each for each in left if _likeness(known, each[0]) >= least), None)
            if fitting is not None:
                left.remove(fitting)
                open_entries.remove(known)
                spent.add(id(known))
                gone.add(id(fitting[1]))


def _likeness(one: Entry, other: Entry) -> int:
    """The number of neighboring lines that are alike."""
    return (one.before == other.before) + (one.after == other.after)


def entry_of(diagnostic: Diagnostic, folder: Path, text_of: TextOf) -> Entry:
    """The entry that stands for a diagnostic."""
    document = text_of(diagnostic.path)
    path = seen_from(folder, diagnostic.path)
    number = diagnostic.range.start.line
    if document is None:
        return Entry(path, diagnostic.rule, "")
    before = _nearest(document, range(number - 1, 0, -1))
    after = _nearest(document, range(number + 1, document.line_count + 1))
    return Entry(path, diagnostic.rule, _words(document.line(number)), before, after)


def seen_from(folder: Path, path: str) -> str:
    """A path as a baseline in `folder` has it."""
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # Another drive of Windows.
        return Path(path).as_posix()


def _nearest(document: Document, numbers: Iterable[int]) -> str:
    return next((words for number in numbers if (words := _words(document.line(number)))), "")


def _words(line: str) -> str:
    """A line without what reformatting changes: its indentation and the width of its spaces."""
    return " ".join(line.split())
