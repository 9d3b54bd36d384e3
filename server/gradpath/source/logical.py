"""The logical lines of a text, found without a parser and whatever state the text is in.

A bracket or a quote that is never closed would swallow the rest of the file. So a logical line also ends where a
statement certainly begins: at a line that the caller knows to begin one, or, inside brackets, at a keyword that no
bracket can hold.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from gradpath.source.positions import line_starts
from gradpath.support.lazy_regex import regex
from gradpath.support.words import words


class Lines:
    """A text whose lines end in plain newlines, with its line index.

    Lines count from 1, offsets and columns from 0.
    """

    __slots__ = ("count", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = line_starts(text)
        self.count = len(self.starts)

    def number_at(self, offset: int) -> int:
        return bisect_right(self.starts, offset)

    def start_of(self, number: int) -> int:
        """Where a line begins; the end of the text for a line after the last."""
        return self.starts[number - 1] if number <= self.count else len(self.text)

    def between(self, first: int, last: int) -> str:
        """The lines `first` to `last` with their endings."""
        return self.text[self.start_of(first) : self.start_of(last + 1)]


class LogicalLine(NamedTuple):
    """A statement without block, or the header of one: the lines `first` to `last`.

    `indent` is the width of its indentation. `word` is its first word (`async def` has `def`), or its first character
    where that is none (a decorator has `@`). The code, without a comment after it, ends before column `code_end` of
    the last line. `closers` are the closing brackets it lacks; `torn` is true where its text can be no statement.
    """

    first: int
    last: int
    indent: int
    word: str
    code_end: int
    closers: str = ""
    torn: bool = False


HEADERS = words("if elif else for while try except finally with def class match case @")
"""The first words of logical lines that open a block; `match` and `case` may be names as well."""

_BLANK = regex(r"(?:[ \t\f]*(?:\\?|#[^\n]*)\n)*(?:[ \t\f]*(?:#[^\n]*)?\Z)?")
_START = regex(r"[ \t\f]*((?:async[ \t]+)?([^\W\d]\w*)?)")
# A logical line on one line, with up to two levels of brackets: the common case, and quickly matched.
_PLAIN = r"""[^"'#()\[\]{}\\\n]*"""
_STRING = r"""(?:"[^"\\\n]*"(?!")|'[^'\\\n]*'(?!'))"""
_FLAT = rf"{_PLAIN}(?:{_STRING}{_PLAIN})*"
_BRACKETS = rf"(?:\({_FLAT}\)|\[{_FLAT}\]|\{{{_FLAT}\}})"
_NESTED = rf"{_PLAIN}(?:(?:{_STRING}|{_BRACKETS}){_PLAIN})*"
_CODE = rf"{_PLAIN}(?:(?:{_STRING}|\({_NESTED}\)|\[{_NESTED}\]){_PLAIN})*"
_ONE_LINE = regex(rf"([ \t\f]*)(?:async[ \t]+)?([^\W\d]\w*)({_CODE})([\n#]?)")
# From Python 3.12 on what stands in the braces of a formatted string may have the quotes of the string itself.
_TOKEN = regex(
    r"""[^"'#()\[\]{}\\\n]*(?:
      (?P<newline>\n)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<formatted>(?:(?<=[fFtT])|(?<=[fFtT][rR]))(?:
          (?!\"{3})"(?:[^"\\\n{]|\\.|\{\{|\{(?!\{)(?:[^{}\n]|\{[^{}\n]*\})*\})*"
        | (?!'{3})'(?:[^'\\\n{]|\\.|\{\{|\{(?!\{)(?:[^{}\n]|\{[^{}\n]*\})*\})*'))
    | (?P<string>(?!\"{3})"(?:[^"\\\n]|\\.)*" | (?!'{3})'(?:[^'\\\n]|\\.)*')
    | (?P<comment>\#[^\n]*\n?)
    | (?P<long>\"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"{3} | '{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3})
    | (?P<continued>\\\n)
    | (?P<endless>\"{3}|'{3})
    | (?P<torn>["'][^\n]*|\\)
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
# Keywords that no bracket can hold, each at the beginning of a line.
_STATEMENT = regex(
    r"""[ \t\f]*(?:
      (?:async[ \t]+)?def[ \t]+\w | class[ \t]+\w
    | (?:return|import|with|while|raise|pass|del|assert|global|nonlocal|break|continue|except|elif|try|finally)\b
    | from[ \t]+[\w.]+[ \t]+import\b
    | else[ \t]*:
    | @[\w.]+(?:\([^\n]*\))?[ \t]*\n[ \t]*(?:@|(?:async|def|class)\b)
    )""",
    re.VERBOSE,
)
_PERHAPS_STATEMENT = regex(r"([ \t\f]*)(?!(?:and|or|in|is|else)\b)[^\W\d]")
_OPERATORS = words("and or not in is if else for lambda await async yield from as")
_LAST_WORD = regex(r"\w+\Z")
_NEXT_WORD = regex(r"""[ \t\f]*(?:([^\W\d]\w*)(?!["'\w])|\w*["'])""")
_HEADER_END = regex(r"[ \t\f]*[)\]}].*:\Z")
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_MOST_RETURNS = 10


def width(indentation: str) -> int:
    """The width of leading white space as Python counts it: tabs advance to multiples of 8, a form feed resets it."""
    return len(indentation.rpartition("\f")[2].expandtabs(8))


def indentation_of(line: str) -> str:
    """The white space in front of a line's first other character."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def logical_lines(
    lines: Lines, first: int = 1, last: int | None = None, starts: Sequence[int] = ()
) -> list[LogicalLine]:
    """Split the lines `first` to `last`, the first of which begins a statement.

    `starts` are the numbers of lines, in rising order, at which a statement is known to begin.
    """
    offset = lines.start_of(first)
    end = len(lines.text) if last is None else lines.start_of(last + 1)
    found: list[LogicalLine] = []
    returns = 0
    text, line_starts = lines.text, lines.starts
    while (offset := _match_end(_BLANK, text, offset, end)) < end:
        if (plain := _ONE_LINE.match(text, offset, end)) is not None and plain[4]:
            indentation, word, code, ending = plain.groups()
            number = bisect_right(line_starts, offset)
            indent = width(indentation) if "\t" in indentation or "\f" in indentation else len(indentation)
            found.append(LogicalLine(number, number, indent, word, plain.start(3) + len(code.rstrip()) - offset))
            offset = plain.end() if ending == "\n" else text.find("\n", plain.end()) + 1 or end
            continue
        reader = _Reader(lines, offset, end, starts, hasty=returns >= _MOST_RETURNS)
        statement, offset = reader.read()
        found.append(statement)
        returns += reader.returned
    return found


class _Reader:
    """Reads one logical line.

    Afterwards `returned` says whether it went back to the end of an earlier line because a bracket was never closed.
    """

    def __init__(self, lines: Lines, offset: int, end: int, starts: Sequence[int], hasty: bool) -> None:
        match = _START.match(lines.text, offset, end)
        assert match is not None
        self.lines, self.text = lines, lines.text
        self.offset, self.end = offset, end
        self.starts = starts
        self.hasty = hasty
        self.indent = width(lines.text[offset : match.start(1)])
        self.word = match[2] or lines.text[match.end() : match.end() + 1]
        self.returned = False
        self.line_start = self.code_start = self.code_end = offset
        self.code = ""
        self.stack: list[str] = []
        self.torn = False
        self.way_out: tuple[int, int, str] | None = None

    def read(self) -> tuple[LogicalLine, int]:
        """The logical line, and where the next one can begin."""
        text = self.text
        position = self.offset
        while True:
            token = _TOKEN.match(text, position, self.end)
            assert token is not None, "every text has a next token"
            assert token.lastgroup is not None
            kind = token.lastgroup
            begin, position = token.span(kind)
            found: tuple[LogicalLine, int] | None = None
            match kind:
                case "open":
                    self.stack.append(_CLOSER[text[begin]])
                case "close":
                    self.torn = self.torn or not self.stack or self.stack[-1] != text[begin]
                    if text[begin] in self.stack:
                        while self.stack.pop() != text[begin]:
                            pass
                case "torn":
                    self.torn = True
                case "long" | "string" | "formatted" if "\n" not in token[kind]:
                    pass
                case "long" | "string" | "formatted" | "continued":
                    found = self.across_lines(kind, begin, position)
                case "endless":
                    known = self.known_start(begin, self.end) or self.end
                    found = torn_before(self.lines, self.line(begin, "", True), known), known
                case _:
                    found = self.end_of_line(begin, position)
            if found is not None:
                return found

    def keep_code(self, end: int) -> None:
        """Remember the code of the line that ends here, if there is any."""
        if line := self.text[self.line_start : end].rstrip():
            self.code, self.code_start, self.code_end = line, self.line_start, end

    def closers(self) -> str:
        """The closing brackets for the open ones."""
        return "".join(reversed(self.stack))

    def across_lines(self, kind: str, begin: int, end: int) -> tuple[LogicalLine, int] | None:
        """Go on after a string or a backslash that reaches into the next line, unless a statement is known to start."""
        known = self.known_start(begin, end)
        if known is not None and kind == "continued":
            return self.line(begin, self.closers(), True), known
        if known is not None:
            return torn_before(self.lines, self.line(begin, "", True), known), known
        if kind == "continued":
            self.keep_code(begin)
        self.line_start = self.text.rfind("\n", begin, end) + 1
        return None

    def end_of_line(self, begin: int, position: int) -> tuple[LogicalLine, int] | None:
        """Return the logical line where a line ends it; None where an open bracket may go on."""
        self.keep_code(begin)
        if not self.stack:
            return self.line(self.code_end, "", self.torn), position
        if self.way_out is None and self.may_end_before(position, self.code, self.code_start):
            self.way_out = position, self.code_end, self.closers()
        if (
            position >= self.end
            or (self.hasty and self.way_out is not None)
            or self.known_start(begin, position) is not None
            or _STATEMENT.match(self.text, position, self.end)
            or _operands_meet(self.code, self.text, position, self.end)
        ):
            self.returned = self.way_out is not None
            position, code_end, closers = self.way_out or (position, self.code_end, self.closers())
            return self.line(code_end, closers, True), position
        self.line_start = position
        return None

    def line(self, code_end: int, closers: str, torn: bool) -> LogicalLine:
        code_end = self.offset + len(self.text[self.offset : code_end].rstrip())
        last = self.lines.number_at(code_end)
        return LogicalLine(
            self.lines.number_at(self.offset),
            last,
            self.indent,
            self.word,
            code_end - self.lines.start_of(last),
            closers,
            torn,
        )

    def known_start(self, begin: int, end: int) -> int | None:
        """The first known start of a statement in the lines after that of `begin` up to that of `end`."""
        if not self.starts:
            return None
        index = bisect_right(self.starts, self.lines.number_at(begin))
        if index < len(self.starts) and self.starts[index] <= self.lines.number_at(end):
            return self.lines.start_of(self.starts[index])
        return None

    def may_end_before(self, next_line: int, code: str, code_start: int) -> bool:
        """True if the statement would end with `code`, before `next_line`, had its open bracket been closed."""
        match = _PERHAPS_STATEMENT.match(self.text, next_line, self.end)
        if match is not None and width(match[1]) <= self.indent:
            return True
        if self.word not in HEADERS or not code.endswith(":"):
            return False
        return code_start == self.offset or _HEADER_END.match(code) is not None


def _operands_meet(code: str, text: str, next_line: int, end: int) -> bool:
    """True if an operand ends `code` and another begins the next line: no bracket can hold the two."""
    following = _NEXT_WORD.match(text, next_line, end)
    if following is None or not code:
        return False
    if following[1] is not None and following[1] in _OPERATORS and following[1] != "lambda":
        return False
    if code[-1] in ")]}":
        return True
    if code[-1] in "\"'":
        return following[1] is not None
    word = _LAST_WORD.search(code)
    return word is not None and word[0] not in _OPERATORS


def torn_before(lines: Lines, line: LogicalLine, offset: int) -> LogicalLine:
    """The logical line as if it were torn off before an offset."""
    start = lines.start_of(line.first)
    code_end = start + len(lines.text[start:offset].rstrip())
    last = lines.number_at(code_end)
    return LogicalLine(line.first, last, line.indent, line.word, code_end - lines.start_of(last), torn=True)


def _match_end(pattern: re.Pattern[str], text: str, offset: int, end: int) -> int:
    match = pattern.match(text, offset, end)
    return offset if match is None else match.end()
