"""Edits applied to a text, and the edits that lead from one text to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradpath.diagnostic import Edit, Range
from gradpath.source.document import Document


def apply_edits(document: Document, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap; insertions at one place keep the order they are given in."""
    text = document.text
    in_order = sorted(edits, key=lambda edit: (edit.range.start, edit.range.end))
    for edit in reversed(in_order):
        start, end = document.offset(edit.range.start), document.offset(edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    return text


def difference(document: Document, text: str) -> tuple[Edit, ...]:
    """The edits that make `text` of a document: one for each stretch of lines that differ, as short as it can be."""
    from difflib import SequenceMatcher  # Imported here because checks compare no texts.

    old, new = document.text.splitlines(keepends=True), text.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    edits: list[Edit] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            before, after = "".join(old[i1:i2]), "".join(new[j1:j2])
            head = _common(before, after)
            tail = _common(before[head:][::-1], after[head:][::-1])
            place = document.range_between(starts[i1] + head, starts[i2] - tail)
            edits.append(Edit(document.path, place, after[head : len(after) - tail]))
    return tuple(edits)


def kept_lines(document: Document, edits: Iterable[Edit]) -> dict[int, int]:
    """Where the lines of a document are after edits, from 1; a line that is rewritten in its place is kept, too."""
    kept: dict[int, int] = {}
    first, shift = 1, 0
    own = (edit for edit in edits if edit.path == document.path)
    for edit in sorted(own, key=lambda each: each.range.start):
        start, end, added = edit.range.start, edit.range.end, edit.new_text.count("\n")
        kept.update((line, line + shift) for line in range(first, start.line))
        first, removed = end.line, end.line - start.line
        if added == removed:
            kept.update((line, line + shift) for line in range(start.line, end.line))
        elif document.line(start.line)[: start.column - 1].strip():
            kept[start.line] = start.line + shift
            first += 1  # What is left of the last line has another beginning.
        shift += added - removed
    kept.update((line, line + shift) for line in range(first, document.line_count + 1))
    return kept


def place_before(document: Document, edits: Iterable[Edit], after: Document, place: Range) -> Range | None:
    """Where a place of the text after edits is in the document before them; None where they wrote it themselves."""
    spans = sorted(
        (document.offset(edit.range.start), document.offset(edit.range.end), len(edit.new_text))
        for edit in edits
        if edit.path == document.path
    )
    start = _offset_before(spans, after.offset(place.start), later=True)
    end = start if place.start == place.end else _offset_before(spans, after.offset(place.end), later=False)
    return None if start is None or end is None else document.range_between(start, end)


def _offset_before(spans: Iterable[tuple[int, int, int]], offset: int, *, later: bool) -> int | None:
    """The offset before edits; where text was removed, the one after it if `later`, else the one before."""
    shift = 0
    for start, end, length in spans:
        new = start + shift
        if offset < new or (offset == new and not later):
            break
        if offset < new + length:
            return start if offset == new else None
        shift += length - (end - start)
    return offset - shift


def _common(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return index
    return min(len(one), len(other))


def added(edits: Sequence[Edit], place: Range, path: str) -> int:
    """The number of lines by which edits move a place of a file down."""
    above = (each for each in edits if each.path == path and each.range.end <= place.start)
    return sum(each.new_text.count("\n") - (each.range.end.line - each.range.start.line) for each in above)
