"""Edits in a document's own style, and chosen so that they do not get in each other's way."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.diagnostic import Diagnostic, Edit, Fix, Safety
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document
from gradpath.source.edits import apply_edits
from gradpath.source.parse import parse


def newline_of(document: Document) -> str:
    """The line ending of a document: that of its first line, or a line feed where there is only one line."""
    end = len(document.line(1))
    return "\r\n" if document.text.startswith("\r\n", end) else document.text[end : end + 1] or "\n"


def with_newlines_of(document: Document, edit: Edit) -> Edit:
    """The same edit with its new lines ended the way the document ends its lines."""
    newline = newline_of(document)
    if "\n" not in edit.new_text or newline == "\n":
        return edit
    return Edit(edit.path, edit.range, edit.new_text.replace("\r\n", "\n").replace("\n", newline))


def edited(document: Document, edits: Sequence[Edit]) -> Document | None:
    """The document after edits that do not overlap; None where they cannot be made in the cells of a notebook."""
    if isinstance(document, CellsDocument):
        return document.edited(edits)
    return Document(document.path, apply_edits(document, edits))


def still_parses(before: Document, after: Document) -> bool:
    """True if a document that was edited parses; of a notebook the cells that have changed count."""
    problems = parse(after).problems
    if not isinstance(before, CellsDocument) or not isinstance(after, CellsDocument):
        return not problems
    broken = {after.index_at(problem.range.start.line) for problem in problems}
    return all(before.cells[index] == after.cells[index] for index in broken)


def overlap(one: Edit, other: Edit) -> bool:
    """True if two edits touch the same text; two insertions at one place do, because their order would matter."""
    if one.path != other.path:
        return False
    return one.range == other.range or (one.range.start < other.range.end and other.range.start < one.range.end)


def first_safe(diagnostic: Diagnostic) -> Fix | None:
    """The fix that may be applied without asking: the preferred one if that is safe.

    Another safe one has a cost, as its title says, such as memory: a person decides.
    """
    safe = (fix for fix in diagnostic.fixes if fix.safety is Safety.SAFE and fix.edits)
    return next((fix for fix in safe if fix.preferred), None)


def compatible_safe_fixes(diagnostics: Sequence[Diagnostic]) -> tuple[tuple[Diagnostic, Fix], ...]:
    """The safe fix of each diagnostic, in order, without those that overlap one chosen before.

    A fix that does what one chosen before already does is left out too: applying it once mends both.
    """
    chosen: list[tuple[Diagnostic, Fix]] = []
    edits: list[Edit] = []
    for diagnostic in diagnostics:
        fix = first_safe(diagnostic)
        if fix is not None and not any(overlap(edit, other) for edit in fix.edits for other in edits):
            chosen.append((diagnostic, fix))
            edits.extend(fix.edits)
    return tuple(chosen)
