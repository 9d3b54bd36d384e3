"""Which lines of a document are half typed: those that could not be read, and all that depends on them."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.source.document import Document
from gradpath.source.logical import indentation_of, width
from gradpath.source.parse import Parsed


def unread_lines(parsed: Parsed) -> frozenset[int]:
    """The numbers (from 1) of the lines that could not be read, and of those in the blocks under them."""
    document = parsed.document
    found: set[int] = set()
    for problem in (each for each in parsed.problems if not each.misplaced):
        first, last = problem.range.start.line, problem.range.end.line
        found.update(range(first, last + 1), _block(document, first, last))
    return frozenset(found)


def _block(document: Document, first: int, last: int) -> Iterator[int]:
    """The lines after `last` that are indented further than `first`; for a decorator, with the definition under it."""
    head = document.line(first)
    level = width(indentation_of(head))
    decorates = head.lstrip().startswith("@")
    for number in range(last + 1, document.line_count + 1):
        line = document.line(number)
        if not line.strip():
            continue
        if width(indentation_of(line)) <= level:
            if not decorates:
                return
            decorates = line.lstrip().startswith("@")
        yield number
