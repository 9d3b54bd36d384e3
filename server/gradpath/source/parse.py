"""Source text to a syntax tree, whatever state the text is in."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradpath.diagnostic import Position, Range
from gradpath.source.cells import CellsDocument
from gradpath.source.depth import prune
from gradpath.source.document import Document
from gradpath.source.fragments import fragment
from gradpath.source.grammar import UNPARSED, SyntaxProblem, Unparsable, for_parser, parse_text
from gradpath.source.logical import Lines, LogicalLine, logical_lines
from gradpath.source.magics import pasted
from gradpath.source.positions import line_starts
from gradpath.source.quotes import end_swallowing_strings
from gradpath.source.recovery import Recovery
from gradpath.source.reuse import first_line, last_line, unchanged
from gradpath.source.sessions import entered
from gradpath.source.splice import spliced
from gradpath.support.fast_dataclasses import dataclass, field, replace

__all__ = ["UNPARSED", "Parsed", "SyntaxProblem", "parse", "unparsed"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document with its tree, whose locations match the text exactly, and what could not be read.

    Trees may share nodes with those of earlier parses and must not be changed. `complete` is true where the parser took
    the text as it is; otherwise `base` is the last complete parse of the document, if there was one. In a recovered
    tree the name `UNPARSED` replaces expressions that could not be parsed.
    """

    document: Document
    tree: ast.Module
    problems: tuple[SyntaxProblem, ...]
    complete: bool = True
    base: Parsed | None = field(default=None, repr=False, compare=False)


def parse(document: Document, last: Parsed | None = None) -> Parsed:
    """Parse a document; never raises. `last` is an earlier parse of the same document: it makes recovery better."""
    text = for_parser(document.text)
    base = last.base if last is not None and not last.complete else last
    problems: list[SyntaxProblem]
    try:
        found = None if base is None else _spliced(document, text, base)
        if found is not None:
            return found
        tree = parse_text(text)
    except Unparsable as error:
        try:
            if isinstance(document, CellsDocument) and len(document.cells) > 1:
                tree, problems = _parse_cells(document, base)
            else:
                tree, problems = _pasted(document, text, error) or _recover(document, entered(text), error, base)
        except (RecursionError, MemoryError):
            # The caller is so deep in its own stack that there is no room left.
            tree, problems = ast.Module(body=[], type_ignores=[]), [_problem_at(document, error)]
        return Parsed(document, tree, _in_order(problems), complete=not problems, base=base)
    return Parsed(document, tree, tuple(prune(tree, document)))


def unparsed(document: Document) -> Parsed:
    """The empty parse of a document whose tree is not needed."""
    return Parsed(document, ast.Module([], []), (), complete=False)


def _spliced(document: Document, text: str, base: Parsed) -> Parsed | None:
    """The parse with what an edit has left of an earlier one; None where that does not work out."""
    starts = document.line_starts if len(text) == len(document.text) else line_starts(text)
    found = spliced(for_parser(base.document.text), base.tree.body, text, starts)
    if found is None:
        return None
    body, low, high = found
    # The code above and below was examined when it was parsed.
    new = body[low:high]
    problems = prune(ast.Module(new, []), document)
    body[low:high] = new
    if base.problems:
        first = last_line(body[low - 1]) + 1 if low else 1
        last = first_line(body[high]) - 1 if high < len(body) else base.document.line_count
        problems += _kept_problems(base, first, last, 0)
    return Parsed(document, ast.Module(body, []), _in_order(problems))


def _parse_cells(document: CellsDocument, base: Parsed | None) -> tuple[ast.Module, list[SyntaxProblem]]:
    """Parse each cell for itself, so that one that cannot be read costs nothing but itself."""
    before = base.document if base is not None else None
    same = isinstance(before, CellsDocument) and len(before.cells) == len(document.cells)
    body: list[ast.stmt] = []
    problems: list[SyntaxProblem] = []
    for index, first in enumerate(document.first_lines):
        # The empty lines above keep the places right.
        above = "\n" * (first - 1)
        text = for_parser(above + document.text[slice(*document.bounds(index))])
        try:
            tree = parse_text(text)
            found = list(prune(tree, document))
        except Unparsable as error:
            cell = Document(document.path, text)
            old = None
            if same and isinstance(before, CellsDocument):
                old = parse(Document(document.path, above + before.text[slice(*before.bounds(index))]))
            tree, found = _recover(cell, text, error, old)
        body += tree.body
        problems += found
    return ast.Module(body=body, type_ignores=[]), problems


def _pasted(document: Document, text: str, error: Unparsable) -> tuple[ast.Module, list[SyntaxProblem]] | None:
    """The tree of a text that was pasted from a notebook, a session or a block; None where there is more wrong."""
    session = entered(text)
    masked = pasted(session)
    indented = fragment(masked)
    if indented is None and masked == text:
        return None
    try:
        tree = indented or parse_text(masked)
    except Unparsable:
        return None
    problem = _problem_at(document, error)
    if indented is not None and masked == session:
        problem = replace(problem, misplaced=True)
    return tree, [problem, *prune(tree, document)]


def _recover(
    document: Document, text: str, error: Unparsable, base: Parsed | None
) -> tuple[ast.Module, list[SyntaxProblem]]:
    lines = Lines(text)
    before: Sequence[ast.stmt] = ()
    after: Sequence[ast.stmt] = ()
    problems: list[SyntaxProblem] = []
    found: list[LogicalLine] | None = None
    if base is not None:
        old = Lines(for_parser(base.document.text))
        more_before = more_after = 0
        while True:
            same = unchanged(old, base.tree.body, lines, more_before, more_after)
            found = logical_lines(lines, same.first, same.last, same.starts)
            # The edit may have gone on with the statement before it, or have put a decorator on the one after it.
            if found and same.before and (found[0].indent or found[0].word in ("elif", "else", "except", "finally")):
                more_before += 1
            elif found and same.after and found[-1].word == "@":
                more_after += 1
            else:
                break
        before, after = same.before, same.after
        problems += _kept_problems(base, same.first, same.last, same.moved)
        if after and same.moved:
            try:
                below = parse_text("\n" * same.last + lines.between(same.last + 1, lines.count))
            except Unparsable:
                before, after, found = (), (), None
                problems = []
            else:
                after = below.body
                problems += prune(below, document)
    if found is None:
        found = end_swallowing_strings(lines, logical_lines(lines))
    recovery = Recovery(document, lines, found)
    statements = recovery.block(0, len(found), suspect_line=error.line)
    if not recovery.problems:
        recovery.problems.append(_problem_at(document, error))
    problems += recovery.problems
    problems += prune(ast.Module(body=statements, type_ignores=[]), document)
    return ast.Module(body=[*before, *statements, *after], type_ignores=[]), problems


def _problem_at(document: Document, error: Unparsable) -> SyntaxProblem:
    number = min(max(error.line or 1, 1), document.line_count)
    line = document.line(number)
    return SyntaxProblem(Range(Position(number, 1), Position(number, len(line) + 1)), error.message)


def _kept_problems(base: Parsed, first: int, last: int, moved: int) -> list[SyntaxProblem]:
    kept = []
    for problem in base.problems:
        start, end = problem.range.start, problem.range.end
        if end.line < first:
            kept.append(problem)
        elif start.line + moved > last:
            place = Range(Position(start.line + moved, start.column), Position(end.line + moved, end.column))
            kept.append(replace(problem, range=place))
    return kept


def _place(problem: SyntaxProblem) -> tuple[int, int, str]:
    return problem.range.start.line, problem.range.start.column, problem.message


def _in_order(problems: Sequence[SyntaxProblem]) -> tuple[SyntaxProblem, ...]:
    """Sorted, with one problem for several of the same kind in lines that follow each other."""
    merged: list[SyntaxProblem] = []
    for problem in sorted(problems, key=_place):
        if merged and merged[-1].message == problem.message:
            previous = merged[-1].range
            if problem.range.start.line <= previous.end.line + 1:
                merged[-1] = replace(problem, range=Range(previous.start, max(previous.end, problem.range.end)))
                continue
        merged.append(problem)
    return tuple(merged)
