"""The parts of a document that were not fully checked, so that "no mistakes" is never said of unchecked code.

Only what the likeliest path of an entry point should have reached counts. Untried combinations of undecided branches
are no gap: every check has some.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gradpath.analysis.entry_points import Entry
from gradpath.analysis.mentions import is_telling
from gradpath.diagnostic import Gap, GapKind, Position, Range
from gradpath.interpreter.trace import Trace
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document
from gradpath.source.nodes import BLOCKS, nodes, statements
from gradpath.source.parse import Parsed
from gradpath.support.internal_errors import Failure, Place


def unreadable(parsed: Parsed) -> tuple[Gap, ...]:
    """The first place that does not parse, in a notebook that of each cell; statements too deep to be followed."""
    document = parsed.document
    kind = GapKind.BUDGET if parsed.complete else GapKind.SYNTAX
    first: dict[int, Gap] = {}
    for problem in parsed.problems:
        line = problem.range.start.line
        cell = document.index_at(line) if isinstance(document, CellsDocument) else 0
        first.setdefault(cell, Gap(document.path, kind, line_of(document, line), "", detail=problem.message))
    return tuple(first.values())


def left_out(document: Document, paths: Sequence[str]) -> tuple[Gap, ...]:
    """The files that the document imports and that were not read, as they are shown."""
    if not paths:
        return ()
    more = f" (and {len(paths) - 1} more)" if paths[1:] else ""
    return (Gap(document.path, GapKind.IMPORTS, line_of(document, 1), None, detail=f"{paths[0]}{more}"),)


def unfollowed(document: Document, trace: Trace, entry: Entry | None) -> tuple[Gap, ...]:
    """The entry point (None: the module body) whose likeliest path, which left `trace`, did not come to its end."""
    lost = tuple(_lost(document, trace, "" if entry is None else name_of(entry)))
    if not trace.truncated:
        return lost
    if entry is None:
        body = trace.entry.body if isinstance(trace.entry, ast.Module) else []
        return (Gap(document.path, GapKind.BUDGET, line_of(document, _last_line(body, trace.visits)), ""),)
    return (_gap_at(document, entry, GapKind.BUDGET),)


def unentered(document: Document, left: Iterable[Entry], called: Collection[ast.AST]) -> Iterator[Gap]:
    """The functions among those that were `left` in which gradients are computed or used; none that was `called`."""
    for entry in {each.function: each for each in left}.values():
        if entry.function not in called and is_telling(entry.function):
            yield _gap_at(document, entry, GapKind.BUDGET)


def failure_in(
    document: Document, entry: Entry | None, place: Place, error: Exception, failure: Failure, rule: str = ""
) -> Gap:
    """The entry point (None: the module body) on which gradpath itself failed, or one `rule` did.

    It is reported at the `place` of the failure, if that is in the document.
    """
    begin = 1 if entry is None else entry.function.lineno
    line = place.line if place.path == document.path else begin
    name = "" if entry is None else name_of(entry)
    return Gap(document.path, kind_of(error), line_of(document, line), name, rule, failure.cause, failure.report)


def kind_of(error: Exception) -> GapKind:
    """Why what an exception ended was not checked."""
    return GapKind.MEMORY if isinstance(error, MemoryError) else GapKind.FAILURE


def name_of(entry: Entry) -> str:
    """The name of a function, qualified by its class if it is a method."""
    return ".".join(filter(None, (entry.owner, entry.function.name)))


def line_of(document: Document, line: int) -> Range:
    """The text of a line, without its indentation."""
    text = document.line(line)
    start = len(text) - len(text.lstrip()) + 1
    return Range(Position(line, start), Position(line, max(start, len(text.rstrip()) + 1)))


def _lost(document: Document, trace: Trace, entry: str) -> Iterator[Gap]:
    """The statements that were given up, if something in them that computes or uses gradients was not come to."""
    own = {*nodes(trace.entry)} if trace.given_up else set()
    for statement in (each for each in dict.fromkeys(trace.given_up) if isinstance(each, ast.stmt)):
        inner = [each for each in statements([statement]) if not any(getattr(each, field, None) for field in BLOCKS)]
        unseen = (each for each in inner if each is statement or each not in trace.visits)
        if statement in own and any(map(is_telling, unseen)):
            yield Gap(document.path, GapKind.BUDGET, line_of(document, statement.lineno), entry)


def _gap_at(document: Document, entry: Entry, kind: GapKind) -> Gap:
    return Gap(document.path, kind, line_of(document, entry.function.lineno), name_of(entry))


def _last_line(body: list[ast.stmt], visits: Mapping[ast.AST, int]) -> int:
    """The line of the last of some statements that a path came to, or of the last in its block."""
    last = next((each for each in reversed(body) if each in visits), None)
    if last is None:
        return 1
    if isinstance(last, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return last.lineno
    blocks = [getattr(last, field, None) for field in BLOCKS]
    inner = (_last_line(block, visits) for block in blocks if isinstance(block, list) and block)
    return max(last.lineno, *inner, 1)
