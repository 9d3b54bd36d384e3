"""The patterns of `.gitignore`, matched as git does, in time that grows with the pattern times the path at most.

Libraries translate such a pattern into one regular expression, which takes exponential time for `a*a*a*b`; the patterns
come with the checked files, so they are not trusted. Here a name is matched piece by piece between the
stars: each piece is taken where it comes first, and that is never taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from gradpath.support.fast_dataclasses import dataclass

_LONGEST = 4096
"""Characters of a pattern: no path has more."""

_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a `.gitignore`; paths are given as their parts, from the folder of the file.

    `segments` are matched with those names, one each; None, for `**`, with any number of them.
    """

    negated: bool
    folders_only: bool
    segments: tuple[_Segment | None, ...]

    def matches(self, names: Sequence[str], *, folder: bool) -> bool:
        """True if it names this very file or folder."""
        if self.folders_only and not folder:
            return False
        if len(self.segments) == 2 and self.segments[0] is None and self.segments[1] is not None:
            return bool(names) and self.segments[1].matches(names[-1])
        return _in_order(self.segments, names)

    def covers(self, names: Sequence[str]) -> bool:
        """True if it matches this file, or a folder that contains it."""
        ends = range(1, len(names))
        return self.matches(names, folder=False) or any(self.matches(names[:end], folder=True) for end in ends)


@lru_cache(maxsize=4096)
def pattern_of(line: str) -> Pattern | None:
    """The pattern in a line; None for an empty line, a comment, and what matches nothing."""
    text = _without_spaces_at_end(line[: _LONGEST + 1])
    if text.startswith("#") or len(text) > _LONGEST:
        return None
    negated = text.startswith("!")
    text = text.removeprefix("!") if negated else text
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        return None
    parts: list[list[str]] = [[]]
    for token in _tokens(text):
        if token is None:
            return None
        if token == "/":
            parts.append([])
        else:
            parts[-1].append(token)
    anywhere = len(parts) == 1
    if not anywhere and not parts[0]:
        parts = parts[1:]  # The slash at the beginning says no more than that the pattern counts from its folder.
    segments: list[_Segment | None] = [None] if anywhere else []
    for part in parts:
        if not anywhere and len(part) > 1 and set(part) == {"*"}:
            if not segments or segments[-1] is not None:
                segments.append(None)
        else:
            segments.append(_segment(part))
    if segments[-1] is None:  # At the end it matches the content, and not the folder itself.
        segments[-1:] = [_segment(["*"]), None]
    return Pattern(negated, folders_only, tuple(segments))


def verdict(patterns: Iterable[Pattern], names: Sequence[str], *, folder: bool) -> bool | None:
    """True if the last of some patterns that names a file or folder leaves it out; None where none of them does."""
    answer: bool | None = None
    for pattern in patterns:
        if answer is not (not pattern.negated) and pattern.matches(names, folder=folder):
            answer = not pattern.negated
    return answer


@dataclass(frozen=True, slots=True)
class _Piece:
    """The piece between two stars: a text, or an expression for exactly `length` characters."""

    text: str
    expression: re.Pattern[str] | None
    length: int

    def stands_at(self, name: str, start: int) -> bool:
        if self.expression is None:
            return name.startswith(self.text, start)
        return self.expression.match(name, start) is not None

    def find(self, name: str, start: int) -> int:
        """Where it comes first, from an index on; -1 where it does not."""
        if self.expression is None:
            return name.find(self.text, start)
        found = self.expression.search(name, start)
        return -1 if found is None else found.start()


@dataclass(frozen=True, slots=True)
class _Segment:
    """A pattern for one name: the pieces around its stars; one piece is all of it where there is no star."""

    pieces: tuple[_Piece, ...]

    def matches(self, name: str) -> bool:
        first, *between = self.pieces
        if not between:
            return len(name) == first.length and first.stands_at(name, 0)
        last = between.pop()
        end = len(name) - last.length
        if not first.stands_at(name, 0) or end < first.length or not last.stands_at(name, end):
            return False
        start = first.length
        for piece in between:
            found = piece.find(name, start)
            if found < 0:
                return False
            start = found + piece.length
        return start <= end


def _in_order(segments: Sequence[_Segment | None], names: Sequence[str]) -> bool:
    """True if names match segments, where only the last `**` before a mismatch takes one name more."""
    at = name = 0
    again: tuple[int, int] | None = None
    while name < len(names):
        segment = segments[at] if at < len(segments) else None
        if at < len(segments) and segment is None:
            at += 1
            again = at, name
        elif segment is not None and segment.matches(names[name]):
            at, name = at + 1, name + 1
        elif again is not None:
            again = again[0], again[1] + 1
            at, name = again
        else:
            return False
    return all(segment is None for segment in segments[at:])


def _segment(tokens: Sequence[str]) -> _Segment:
    pieces: list[list[str]] = [[]]
    for token in tokens:
        if token != "*":
            pieces[-1].append(token)
        elif len(pieces) == 1 or pieces[-1]:  # Several stars in a row are one.
            pieces.append([])
    return _Segment(tuple(map(_piece, pieces)))


def _piece(tokens: Sequence[str]) -> _Piece:
    if all(token != "?" and (len(token) == 1 or token[0] == "\\") for token in tokens):
        return _Piece("".join(token[-1] for token in tokens), None, len(tokens))
    return _Piece("", re.compile("".join(map(_expression, tokens)), re.DOTALL), len(tokens))


def _expression(token: str) -> str:
    """The regular expression for a token that matches one character."""
    if token == "?":
        return "."
    return re.escape(token[-1]) if len(token) == 1 or token[0] == "\\" else token


def _tokens(text: str) -> Iterator[str | None]:
    """A pattern character by character: `*`, `?`, `/`, a class as a regular expression, what a backslash escapes.

    None is a token that can never match.
    """
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            escaped = text[at + 1 : at + 2]
            yield escaped if escaped == "/" else f"\\{escaped}" if escaped else None
            at += 2
        elif character == "[":
            expression, at = _class(text, at + 1)
            yield expression
        else:
            yield character
            at += 1


def _class(text: str, at: int) -> tuple[str | None, int]:
    """The regular expression for a class whose opening bracket is before an index, and the index after the class."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    members: list[str] = []
    first = True
    while first or text[at : at + 1] != "]":
        first = False
        if text.startswith("[:", at) and (end := text.find(":]", at)) > 0:
            if text[at + 2 : end] not in _POSIX:
                return None, len(text)
            members.append(_POSIX[text[at + 2 : end]])
            at = end + 2
            continue
        low, at = _member(text, at)
        high = low
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("]", ""):
            high, at = _member(text, at + 1)
        if not low or not high:
            return None, len(text)  # There is no bracket at its end.
        if low <= high:
            members.append(f"{re.escape(low)}-{re.escape(high)}")
    if not members:
        return ("[^/]" if negated else "(?!)"), at + 1
    return f"[{'^' if negated else ''}{''.join(members)}]", at + 1


def _member(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] == "\\":
        at += 1
    return text[at : at + 1], at + 1


def _without_spaces_at_end(line: str) -> str:
    """A line without the spaces at its end, of which one after a backslash stays."""
    end = at = 0
    while at < len(line):
        step = 2 if line[at] == "\\" else 1
        if line[at] != " ":
            end = min(at + step, len(line))
        at += step
    return line[:end]
