"""The comments of a text, found without a parser so that broken code keeps them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex

# Strings are matched only to be passed over; of one that never ends, the quote alone is.
_STRING_OR_COMMENT = regex(
    r"""
      (?:\"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"{3} | '{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3})
    | \"{3} | '{3}
    | "(?:[^"\\\r\n]|\\(?:\r\n|.))*" | '(?:[^'\\\r\n]|\\(?:\r\n|.))*' | ["'][^\r\n]*
    | (?P<comment>\#[^\r\n]*)
    | \\(?:\r\n?|\n)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment from its `#` to the end of its line; `start` is an offset into the document's text."""

    line: int
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Comments:
    """All comments in order, and the lines that cannot have one because a string or a backslash continues there."""

    found: Sequence[Comment]
    closed: frozenset[int]


def comments_of(document: Document) -> Comments:
    """Find the comments of a document."""
    found = []
    closed: set[int] = set()
    for match in _STRING_OR_COMMENT.finditer(document.text):
        line = document.line_at(match.start())
        if match["comment"] is not None:
            found.append(Comment(line, match.start(), match[0]))
        else:
            closed.update(range(line, document.line_at(match.end())))
    return Comments(found, frozenset(closed))
