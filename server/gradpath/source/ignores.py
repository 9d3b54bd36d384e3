"""The form of suppression comments: `# gradpath: ignore[rule-id, ...]` and `# gradpath: ignore-file[...]`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gradpath.diagnostic import Diagnostic, Edit, Range
from gradpath.source.comments import Comments
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex
from gradpath.support.renamed_rules import now

MARK = "gradpath:"
"""The text that every suppression contains."""

ALL = "*"
"""The name under which a suppression without a list covers what it covers."""

_MOST = 50
"""Suppressions in one comment that count."""

_IGNORE = regex(
    r"#[ \t]*gradpath:[ \t]*(?P<word>ignore-file|ignore)(?![\w-])(?:[ \t]*\[(?P<names>[^\]#]*)(?P<closed>\]?))?"
)


@dataclass(frozen=True, slots=True)
class Ignore:
    """One suppression comment, with offsets into the document's text.

    `names` are rules and families, None for all rules. The suppression itself spans `start` to `end`, words of its
    writer after it reach up to `comment_end`, and the list between its brackets spans `list_start` to `list_end`.
    `closed` is false where the list lacks its bracket: such a suppression holds for nothing.
    """

    line: int
    word: str
    names: tuple[str, ...] | None
    closed: bool
    start: int
    end: int
    comment_end: int
    list_start: int
    list_end: int

    @property
    def for_file(self) -> bool:
        """True if it applies to the file when it is above the first statement."""
        return self.word == "ignore-file"

    def covers(self, diagnostic: Diagnostic) -> str | None:
        """The name under which it covers a diagnostic, None if it does not."""
        if self.names is None:
            return ALL
        meant = {diagnostic.rule, diagnostic.family}
        return next((name for name in self.names if not meant.isdisjoint(now(name))), None)


def ignores_of(comments: Comments) -> Iterator[Ignore]:
    """The suppressions among comments; several may share a line."""
    for comment in comments.found:
        for match in islice(_IGNORE.finditer(comment.text), _MOST) if MARK in comment.text else ():
            names = match["names"]
            list_start, list_end = match.span("names" if names is not None else 0)
            following = comment.text.find("#", match.end())
            yield Ignore(
                line=comment.line,
                word=match["word"],
                names=None if names is None else tuple(filter(None, map(str.strip, names.split(",")))),
                closed=names is None or bool(match["closed"]),
                start=comment.start + match.start(),
                end=comment.start + match.end(),
                comment_end=comment.start + (following if following >= 0 else len(comment.text)),
                list_start=comment.start + list_start,
                list_end=comment.start + list_end,
            )


def stands_alone(document: Document, ignore: Ignore) -> bool:
    """True if only white space precedes it on its line."""
    return not document.text[document.offset_of_line(ignore.line) : ignore.start].strip()


def removal(document: Document, ignore: Ignore) -> Edit:
    """The edit that removes a suppression: other comments stay, and a line that had nothing else is removed with it."""
    line = document.line(ignore.line)
    line_start = document.offset_of_line(ignore.line)
    line_end = line_start + len(line)
    start, end = ignore.start, ignore.comment_end
    if end >= line_end:
        start = line_start + len(document.text[line_start:start].rstrip())
        if start == line_start:
            end = document.offset_of_line(ignore.line + 1)
    return Edit(document.path, document.range_between(start, end), "")


def with_names(document: Document, ignore: Ignore, names: tuple[str, ...]) -> Edit:
    """The edit that gives a suppression with a list another list."""
    place = document.range_between(ignore.list_start, ignore.list_end)
    return Edit(document.path, place, ", ".join(names))


def new_ignore(document: Document, line: int, names: tuple[str, ...]) -> Edit:
    """The edit that adds a suppression to the end of a line."""
    text = document.line(line)
    start = document.offset_of_line(line)
    code_end = len(text.rstrip())
    comment = f"# gradpath: ignore[{', '.join(names)}]"
    place: Range = document.range_between(start + code_end, start + len(text))
    return Edit(document.path, place, f"  {comment}" if code_end else comment)
