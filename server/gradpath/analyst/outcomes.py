"""The part of an analysis that leaves the process: the findings, and the lines that they refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from gradpath.analysis.check import Analysis
from gradpath.analyst.messages import Lines, Outcome
from gradpath.diagnostic import Diagnostic, Edit, Mark, MarkKind, Range
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document, UnreadableSource, read_document

TextAt = Callable[[Path], str | None]
"""The text of a file that is open in the editor, or None."""


def outcome_of(analysis: Analysis, seconds: float, text_at: TextAt, *, is_open: bool = True) -> Outcome:
    """The findings of a check that took so long; the lines of its own document are included unless that is open."""
    document = analysis.document
    is_notebook = isinstance(document, CellsDocument)
    return Outcome(
        document.path,
        analysis.diagnostics,
        analysis.dependencies,
        analysis.used,
        marks_once(analysis),
        document if isinstance(document, CellsDocument) else None,
        lines_told(analysis.diagnostics, (), document, text_at, own=not is_open and not is_notebook),
        analysis.incomplete,
        analysis.parsed.complete,
        analysis.unknowns,
        seconds,
    )


def marks_once(analysis: Analysis) -> tuple[Mark, ...]:
    """The marks for an editor, in order: one hint where code ends, one line above a call."""
    found: dict[tuple[bool, Range], Mark] = {}
    for mark in analysis.marks:
        is_hint = mark.kind is MarkKind.HINT
        found.setdefault((is_hint, Range(mark.range.end, mark.range.end) if is_hint else mark.range), mark)
    return tuple(found[key] for key in sorted(found))


def lines_told(
    diagnostics: Iterable[Diagnostic], edits: Iterable[Edit], document: Document, text_at: TextAt, *, own: bool = False
) -> Lines:
    """The lines that diagnostics and edits speak of in other files than the document, or also in its `own`."""
    wanted: dict[str, set[int]] = {}
    for path, place in _places(diagnostics, edits):
        if own or path != document.path:
            wanted.setdefault(path, set()).update((place.start.line, place.end.line))
    found: dict[str, dict[int, str]] = {}
    for path, numbers in wanted.items():
        source = document if path == document.path else document_at(path, text_at)
        if source is not None:
            found[path] = {number: source.line(number) for number in sorted(numbers)}
    return found


def _places(diagnostics: Iterable[Diagnostic], edits: Iterable[Edit]) -> Iterable[tuple[str, Range]]:
    for diagnostic in diagnostics:
        yield diagnostic.path, diagnostic.range
        for label in diagnostic.labels:
            yield label.path, label.range
        for fix in diagnostic.fixes:
            for edit in fix.edits:
                yield edit.path, edit.range
    for edit in edits:
        yield edit.path, edit.range


def document_at(path: str, text_at: TextAt) -> Document | None:
    """The document of a path, as it is in the editor or else on disk; None where it cannot be read."""
    text = text_at(Path(path))
    if text is not None:
        return Document(path, text)
    try:
        return read_document(Path(path))
    except UnreadableSource:
        return None
