"""Applies the fixes that gradpath offers for a block."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.diagnostic import Diagnostic, Edit, Fix
from gradpath.source.document import Document
from tests.documents.grammar import PRELUDE
from tests.documents.pages import Block


class UnfitFix(Exception):
    """A fix whose edits cannot be applied to the one file of its block."""


def fix_complaints(block: Block, document: Document, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """What is wrong with the fixes of a block: each must apply and parse, and a fixed block must be what one makes."""
    complaints: list[str] = []
    for fix in (fix for diagnostic in diagnostics for fix in diagnostic.fixes if fix.edits):
        try:
            ast.parse(apply_edits(document, fix.edits))
        except (UnfitFix, SyntaxError) as problem:
            complaints.append(f"{block.place}: the fix {fix.title!r} breaks the program: {problem}")
    if block.fix_of is not None:
        complaints += _difference(block, block.fix_of)
    return complaints


def apply_edits(document: Document, edits: Sequence[Edit]) -> str:
    """The text after all edits; raises UnfitFix where they overlap or belong to another file."""
    text = document.text
    earliest = len(text) + 1
    for edit in sorted(edits, key=lambda edit: (edit.range.start, edit.range.end), reverse=True):
        if edit.path != document.path:
            raise UnfitFix(f"an edit belongs to {edit.path!r}")
        start, end = document.offset(edit.range.start), document.offset(edit.range.end)
        if not start <= end <= earliest:
            raise UnfitFix(f"the edit of {edit.range} overlaps another")
        text = text[:start] + edit.new_text + text[end:]
        earliest = start
    return text


def _difference(fixed: Block, broken: Block) -> list[str]:
    document = Document(broken.main.name, broken.main.text)
    fix = _choose(mended(check(document)).diagnostics, fixed.fix_title)
    if fix is None:
        wanted = "" if fixed.fix_title is None else f" with {fixed.fix_title!r} in its title"
        return [f"{fixed.place}: gradpath offers no fix{wanted} for the block at {broken.place}"]
    try:
        result = apply_edits(document, fix.edits).removeprefix(PRELUDE)
    except UnfitFix as problem:
        return [f"{fixed.place}: the fix {fix.title!r} cannot be applied: {problem}"]
    if result == fixed.main.bare:
        return []
    lines = difflib.unified_diff(
        fixed.main.bare.splitlines(keepends=True), result.splitlines(keepends=True), "the fixed block", "the fix", n=1
    )
    return [f"{fixed.place}: the fix {fix.title!r} makes another text\n{''.join(lines)}"]


def _choose(diagnostics: Sequence[Diagnostic], title: str | None) -> Fix | None:
    """The fix whose title contains `title`, or else the preferred (or first) one of the first report."""
    offered = [fix for diagnostic in diagnostics for fix in diagnostic.fixes if fix.edits]
    if title is not None:
        return next((fix for fix in offered if title in fix.title), None)
    offered = [fix for fix in diagnostics[0].fixes if fix.edits] if diagnostics else []
    return next((fix for fix in offered if fix.preferred), offered[0] if offered else None)
