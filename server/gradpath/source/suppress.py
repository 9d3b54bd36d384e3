"""Suppression comments: `# gradpath: ignore[rule-id]`."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.diagnostic import Diagnostic, Edit, Position, Range
from gradpath.source.document import Document
from gradpath.source.parse import Parsed


def apply_suppressions(document: Document, parsed: Parsed, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Drop the diagnostics that comments suppress, and append a hint for each suppression without effect."""
    return tuple(diagnostics)


def ignore_edit(document: Document, line: int, rules: Sequence[str]) -> Edit:
    """The edit that suppresses `rules` on a line."""
    end = Position(line, len(document.line(line)) + 1)
    return Edit(document.path, Range(end, end), f"  # gradpath: ignore[{', '.join(rules)}]")
