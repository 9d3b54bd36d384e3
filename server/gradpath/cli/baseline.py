"""`--baseline` and `--write-baseline`: what is known already is left out, and an old project starts clean."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from gradpath.cli.run import Checked
from gradpath.cli.status import UsageError
from gradpath.cli.writing import write_file
from gradpath.diagnostic import Diagnostic
from gradpath.features.baseline import (
    FORMAT,
    BrokenBaseline,
    Entry,
    TextOf,
    entry_of,
    known_among,
    read_entries,
    seen_from,
)
from gradpath.render.width import safe_text
from gradpath.source.document import Document, UnreadableSource, read_document
from gradpath.support.fast_dataclasses import replace


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
    entries = _read(path)
    kept, count = _without_known(outcomes, entries, path)
    checked = {seen_from(path.parent, each.path) for each in outcomes}
    looked_for = [each for each in entries if each.path in checked or not (path.parent / each.path).exists()]
    gone = len(looked_for) - count
    if gone > 0 and not quiet:
        what = "1 entry fits nothing" if gone == 1 else f"{gone} entries fit nothing"
        print(f"gradpath: {safe_text(str(path))}: {what} any more", file=sys.stderr)
    return kept


def choose_new(path: Path) -> Callable[[Checked], tuple[Diagnostic, ...]]:
    """The function that returns the mistakes of a file that the baseline at `path` does not have."""
    entries = _read(path)

    def new(checked: Checked) -> tuple[Diagnostic, ...]:
        kept, _ = _without_known([checked], entries, path)
        return kept[0].diagnostics

    return new


def _read(path: Path) -> tuple[Entry, ...]:
    try:
        return read_entries(path)
    except BrokenBaseline as error:
        raise UsageError(f"{path}: {error}") from error


def write_baseline(path: Path, diagnostics: Iterable[Diagnostic], text_of: TextOf) -> int:
    """Write all that was found as known; the number of entries. Raises `UsageError`."""
    entries = sorted(entry_of(each, path.parent, text_of) for each in diagnostics)
    rows = ",\n".join(f"  {json.dumps(_row(each), ensure_ascii=False)}" for each in entries)
    body = f"[\n{rows}\n ]" if entries else "[]"
    text = f'{{"version": {FORMAT},\n "entries": {body}}}\n'
    try:
        # What UTF-8 does not have, in the name of a file, is written as JSON escapes it.
        write_file(str(path), text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    return len(entries)


def _row(entry: Entry) -> dict[str, str]:
    return {name: getattr(entry, name) for name in entry.__match_args__}


def _without_known(outcomes: Sequence[Checked], entries: Sequence[Entry], path: Path) -> tuple[list[Checked], int]:
    """The outcomes without those in the baseline at `path`, and the number of entries that were found again."""
    found = (each for outcome in outcomes for each in outcome.diagnostics)
    known = known_among(found, entries, path.parent, texts_of(outcomes))
    kept = [
        replace(outcome, diagnostics=tuple(each for each in outcome.diagnostics if id(each) not in known))
        for outcome in outcomes
    ]
    return kept, len(known)


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
