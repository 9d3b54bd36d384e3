"""The baseline of an old project: known mistakes that should not be reported again.

An entry is found again by its file, its rule and the text of its line and of the lines around it, never by a line's
number, so that it survives changes elsewhere in the file. Each entry stands for one mistake.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from gradpath.cli.run import Checked
from gradpath.cli.status import UsageError
from gradpath.cli.writing import write_file
from gradpath.diagnostic import Diagnostic
from gradpath.render.width import safe_text
from gradpath.source.document import Document, UnreadableSource, read_document
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.reading import LOG, read_bytes
from gradpath.support.renamed_rules import now

_FORMAT = 1

TextOf = Callable[[str], Document | None]
"""The text that contains a report, by its path."""


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


def make_known(path: Path, outcomes: Sequence[Checked], *, quiet: bool) -> list[Checked]:
    """Write all findings to the file at `path`, and report how many; return the outcomes without them."""
    found = [diagnostic for outcome in outcomes for diagnostic in outcome.diagnostics]
    count = write_baseline(path, found, texts_of(outcomes))
    if not quiet:
        mistakes = "1 mistake is" if count == 1 else f"{count} mistakes are"
        print(f"gradpath: {mistakes} known in {safe_text(str(path))}", file=sys.stderr)
    return [replace(outcome, diagnostics=()) for outcome in outcomes]


def leave_out_known(path: Path, outcomes: Sequence[Checked], *, quiet: bool) -> list[Checked]:
    """The outcomes without what the file at `path` knows; entries that fit nothing any more are counted.

    Those of files that are there and were not checked may fit.
    """
    entries = read_baseline(path)
    kept, count = without_known(outcomes, entries, path, texts_of(outcomes))
    checked = {_seen_from(path.parent, each.path) for each in outcomes}
    looked_for = [each for each in entries if each.path in checked or not (path.parent / each.path).exists()]
    gone = len(looked_for) - count
    if gone > 0 and not quiet:
        what = "1 entry fits nothing" if gone == 1 else f"{gone} entries fit nothing"
        print(f"gradpath: {safe_text(str(path))}: {what} any more", file=sys.stderr)
    return kept


def choose_new(path: Path) -> Callable[[Checked], tuple[Diagnostic, ...]]:
    """The function that returns the mistakes of a file that the baseline at `path` does not have."""
    entries = read_baseline(path)

    def new(checked: Checked) -> tuple[Diagnostic, ...]:
        kept, _ = without_known([checked], entries, path, texts_of([checked]))
        return kept[0].diagnostics

    return new


def read_baseline(path: Path) -> list[Entry]:
    """The entries of a file; raises `UsageError` where it cannot be read."""
    try:
        data = json.loads(read_bytes(path, LOG, pipes=True).decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not a baseline: {error}") from error
    except RecursionError:
        raise UsageError(f"{path}: not a baseline: nested too deeply") from None
    if not isinstance(data, dict) or data.get("version") != _FORMAT or not isinstance(data.get("entries"), list):
        raise UsageError(f"{path}: not a baseline of version {_FORMAT}")
    entries = []
    for row in data["entries"]:
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("path", "rule", "line")):
            raise UsageError(f"{path}: an entry lacks its path, rule or line")
        around = {name: row.get(name) if isinstance(row.get(name), str) else "" for name in ("before", "after")}
        entries.append(Entry(row["path"], row["rule"], row["line"], str(around["before"]), str(around["after"])))
    return entries


def write_baseline(path: Path, diagnostics: Iterable[Diagnostic], text_of: TextOf) -> int:
    """Write all that was found as known; the number of entries. Raises `UsageError`."""
    entries = sorted(_entry(each, path, text_of) for each in diagnostics)
    rows = ",\n".join(f"  {json.dumps(_row(each), ensure_ascii=False)}" for each in entries)
    body = f"[\n{rows}\n ]" if entries else "[]"
    text = f'{{"version": {_FORMAT},\n "entries": {body}}}\n'
    try:
        # What UTF-8 does not have, in the name of a file, is written as JSON escapes it.
        write_file(str(path), text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    return len(entries)


def _row(entry: Entry) -> dict[str, str]:
    return {name: getattr(entry, name) for name in entry.__match_args__}


def without_known(
    outcomes: Sequence[Checked], entries: Sequence[Entry], path: Path, text_of: TextOf
) -> tuple[list[Checked], int]:
    """The outcomes without those in the baseline at `path`, and the number of entries that were found again.

    Where several mistakes fit an entry, the one whose neighbours fit best is meant. One whose neighbours have both
    changed is known only if there are not more such lines than entries for them.
    """
    found: dict[tuple[str, str, str], list[tuple[Entry, Diagnostic]]] = {}
    for outcome in outcomes:
        for each in outcome.diagnostics:
            entry = _entry(each, path, text_of)
            found.setdefault((entry.path, entry.rule, entry.line), []).append((entry, each))
    wanted: dict[tuple[str, str, str], list[Entry]] = {}
    for known in entries:
        for rule in now(known.rule):
            wanted.setdefault((known.path, rule, known.line), []).append(known)
    gone: set[int] = set()
    spent: set[int] = set()  # An entry for a rule that was split is still one mistake.
    for key, candidates in found.items():
        _match([each for each in wanted.get(key, []) if id(each) not in spent], candidates, gone, spent)
    kept = [
        replace(outcome, diagnostics=tuple(each for each in outcome.diagnostics if id(each) not in gone))
        for outcome in outcomes
    ]
    return kept, len(gone)


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


def _entry(diagnostic: Diagnostic, baseline: Path, text_of: TextOf) -> Entry:
    document = text_of(diagnostic.path)
    path = _seen_from(baseline.parent, diagnostic.path)
    number = diagnostic.range.start.line
    if document is None:
        return Entry(path, diagnostic.rule, "")
    before = _nearest(document, range(number - 1, 0, -1))
    after = _nearest(document, range(number + 1, document.line_count + 1))
    return Entry(path, diagnostic.rule, _words(document.line(number)), before, after)


def _seen_from(folder: Path, path: str) -> str:
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # Another drive of Windows.
        return Path(path).as_posix()


def _nearest(document: Document, numbers: Iterable[int]) -> str:
    return next((words for number in numbers if (words := _words(document.line(number)))), "")


def _words(line: str) -> str:
    """A line without what reformatting changes: its indentation and the width of its spaces."""
    return " ".join(line.split())


def texts_of(outcomes: Sequence[Checked]) -> TextOf:
    """The texts that were checked; others are read from their files."""
    known: dict[str, Document | None] = {each.path: each.document for each in outcomes if each.document is not None}

    def text_of(path: str) -> Document | None:
        if path not in known:
            try:
                known[path] = read_document(Path(path), path)
            except UnreadableSource:
                known[path] = None
        return known[path]

    return text_of
