"""Suppression: the diagnostics that comments drop, and the hints at comments that drop none.

`# gradpath: ignore[rule-id, ...]` holds for its line and, on the first line of a statement or of a compound statement's
header, for all of its lines. `# gradpath: ignore-file[...]` above the first statement holds for the file. Without
brackets they hold for all rules; a family represents its rules. Where the first line can have no comment, because a
string or a backslash continues after it, the statement's last line takes its place.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence

from gradpath.diagnostic import Diagnostic, Edit, Fix, Level, Safety
from gradpath.source.comments import Comments, comments_of
from gradpath.source.document import Document
from gradpath.source.grammar import for_parser
from gradpath.source.ignores import ALL, MARK, Ignore, ignores_of, new_ignore, removal, stands_alone, with_names
from gradpath.source.logical import Lines, logical_lines
from gradpath.source.parse import Parsed
from gradpath.source.reuse import first_line
from gradpath.support.fast_dataclasses import replace
from gradpath.support.renamed_rules import RENAMED, now
from gradpath.support.suggestions import did_you_mean, nearest

UNUSED = "unused-ignore"
"""The rule of the hint at a suppression without effect."""

FAMILY = "suppression"
"""The family of that rule."""


def apply_suppressions(
    document: Document,
    parsed: Parsed,
    diagnostics: Sequence[Diagnostic],
    *,
    known: Collection[str] | None = None,
    active: Collection[str] | None = None,
) -> tuple[Diagnostic, ...]:
    """Drop the diagnostics that comments suppress, and append a hint for each suppression without effect.

    `known` are the ids of all rules and families: with them, a mistyped name is reported. `active` are those that could
    have been reported: a suppression of another, switched off, is no fault. A text that does not parse gets no hints,
    because what a suppression is for may be half-typed.
    """
    if MARK not in document.text:
        return tuple(diagnostics)
    comments = comments_of(document)
    ignores = list(ignores_of(comments))
    if not ignores:
        return tuple(diagnostics)
    top = _end_of_top(parsed)
    in_force = [ignore for ignore in ignores if ignore.closed and (not ignore.for_file or ignore.line < top)]
    for_file = [ignore for ignore in in_force if ignore.for_file]
    by_line: dict[int, list[Ignore]] = {}
    for ignore in in_force:
        if not ignore.for_file:
            by_line.setdefault(ignore.line, []).append(ignore)
    heads = _heads(document, comments) if diagnostics and by_line else {}
    used: set[tuple[int, str]] = set()

    def is_dropped(diagnostic: Diagnostic, by: Iterable[Ignore]) -> bool:
        for ignore in by:
            name = ignore.covers(diagnostic)
            if name is not None:
                used.add((ignore.start, name))
                return True
        return False

    kept = []
    for diagnostic in diagnostics:
        line = diagnostic.range.start.line
        near = [ignore for number in dict.fromkeys((line, heads.get(line, line))) for ignore in by_line.get(number, ())]
        if diagnostic.path != document.path or not is_dropped(diagnostic, (*near, *for_file)):
            kept.append(diagnostic)
    if not parsed.complete or (active is not None and UNUSED not in active):
        return tuple(kept)
    # Those for the file come last, because they may cover the hints at others.
    for ignore in sorted(ignores, key=lambda ignore: ignore.for_file):
        hint = _hint(document, ignore, {name for start, name in used if start == ignore.start}, top, known, active)
        # A suppression of everything on a line does not hide that it is itself superfluous.
        near = [other for other in by_line.get(ignore.line, ()) if other.names is not None]
        if hint is not None and not is_dropped(hint, (*near, *(other for other in for_file if other is not ignore))):
            kept.append(hint)
    return tuple(kept)


def ignore_edit(document: Document, line: int, rules: Sequence[str]) -> Edit:
    """The edit that suppresses rules on a line, by a new comment or a longer list; other comments stay.

    The comment goes to another line of the statement where the line itself can have none. The edit is empty where the
    rules are suppressed already.
    """
    comments = comments_of(document)
    if line in comments.closed:
        line = _heads(document, comments).get(line, line)
    for ignore in ignores_of(comments):
        if ignore.line == line and ignore.closed and not ignore.for_file:
            if ignore.names is None:
                return Edit(document.path, document.range_between(ignore.end, ignore.end), "")
            return with_names(document, ignore, tuple(dict.fromkeys((*ignore.names, *rules))))
    return new_ignore(document, line, tuple(rules))


def _heads(document: Document, comments: Comments) -> Mapping[int, int]:
    """For each line of a statement over several lines, the line whose comment holds for all of them."""
    heads = {}
    for statement in logical_lines(Lines(for_parser(document.text))):
        last = statement.last
        while last in comments.closed and last < document.line_count:
            last += 1
        if last > statement.first:
            head = last if statement.first in comments.closed else statement.first
            heads.update(dict.fromkeys(range(statement.first, last + 1), head))
    return heads


def _end_of_top(parsed: Parsed) -> int:
    """The line of the first statement that is no docstring."""
    body = parsed.tree.body
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *others]:
            body = others
    return first_line(body[0]) if body else parsed.document.line_count + 1


def _hint(
    document: Document,
    ignore: Ignore,
    used: Collection[str],
    top: int,
    known: Collection[str] | None,
    active: Collection[str] | None,
) -> Diagnostic | None:
    """The hint at a suppression that covered something under the names `used`, if any."""
    names = ignore.names if ignore.names is not None else (ALL,)
    off = [
        name
        for name in names
        if active is not None and name != ALL and not any(each in active for each in now(name))
        if known is None or name in known or name in RENAMED
    ]
    unused = [name for name in names if name not in used and name not in off and name != UNUSED]
    if names and not unused:
        return None
    left = tuple(name for name in names if name not in unused)
    unknown = [name for name in unused if known is not None and name not in (*known, *RENAMED, ALL)]
    if unknown:
        message = f"no rule is called `{unknown[0]}`{did_you_mean(unknown[0], known or ())}"
    elif not ignore.closed:
        message = f"the list of this `{ignore.word}` lacks its closing bracket"
    elif ignore.for_file and ignore.line >= top:
        message = "`ignore-file` suppresses nothing here: it must be above the first statement"
    elif not ignore.for_file and stands_alone(document, ignore):
        message = "`ignore` on a line of its own suppresses nothing: it must be at the end of the line it is for"
    elif left:
        message = f"`{ignore.word}` suppresses nothing here for {', '.join(f'`{name}`' for name in unused)}"
    else:
        message = f"this `{ignore.word}` suppresses nothing"
    if left:
        fix = Fix("Remove what suppresses nothing", Safety.SAFE, (with_names(document, ignore, left),), preferred=True)
    else:
        fix = Fix("Remove the suppression", Safety.SAFE, (removal(document, ignore),), preferred=True)
    fixes: tuple[Fix, ...] = (fix,)
    right = nearest(unknown[0], known or ()) if unknown else None
    if right is not None:
        corrected = tuple(dict.fromkeys(right if name == unknown[0] else name for name in names))
        # It may hide a report that was shown so far, so a person decides.
        edit = with_names(document, ignore, corrected)
        fixes = (Fix(f"Write `{right}`", Safety.UNSAFE, (edit,), preferred=True), replace(fix, preferred=False))
    place = document.range_between(ignore.start, ignore.end)
    return Diagnostic(document.path, place, UNUSED, FAMILY, Level.HINT, message, help=fixes[0].title, fixes=fixes)
