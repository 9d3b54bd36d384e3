"""CPython's own parser: quiet, with one kind of failure, and fed with any text an editor can hold."""

from __future__ import annotations

import ast
import sys
import warnings
from _thread import allocate_lock
from itertools import pairwise

from gradpath.diagnostic import Range
from gradpath.source.logical import Lines, logical_lines
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex

UNPARSED = "__unparsed__"
"""The placeholder in a recovered tree for an expression that could not be parsed: its value is unknown."""

_QUIET = allocate_lock()
_SURROGATE = regex("[\ud800-\udfff]")
_DEEPENING = regex(r"[-+*/%@|&^~<>=.\[({]|\b(?:not|if|lambda|await|elif)\b")
_STATEMENT_START = regex(r"(?m)^[ \t]*(?:def|class|return|import|with|while|raise|try|except|elif|assert)\b")
_DEEPEST_IN_3_10 = 8_000


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A range of text that could not be parsed: the tree has a placeholder for it, or nothing.

    If it is only `misplaced`, like a block with too much indentation, all of it was parsed.
    """

    range: Range
    message: str
    misplaced: bool = False


class Unparsable(Exception):
    """The parser's refusal: `line` counts from 1 within the parsed text and is None where the parser names none."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def for_parser(text: str) -> str:
    """The text with what the parser cannot take (NUL, lone surrogates, a byte order mark) replaced.

    Lines end in plain newlines, and each keeps its length in UTF-8 bytes, so that the tree's columns hold for the text
    itself.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", " ")
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
        if text.startswith("\ufeff"):
            # Three bytes as well, and the form feed sets the indentation back to zero.
            text = "  \f" + text[1:]
    return text


def parse_text(text: str) -> ast.Module:
    """Parse what `for_parser` returned; raises `Unparsable` and nothing else, and prints no warnings."""
    if sys.version_info < (3, 11) and _overflows_the_stack(text):
        raise Unparsable(None, "nested too deeply")
    if text.count(".") > _DOTS:
        for number, line in enumerate(text.split("\n"), 1):
            if line.count(".") > _DOTS and "import" in line:
                raise Unparsable(number, "an import of too many parts")
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise Unparsable(error.lineno, error.msg or "invalid syntax") from None
    except (RecursionError, MemoryError):
        raise Unparsable(None, "nested too deeply") from None
    except ValueError as error:
        raise Unparsable(None, str(error)) from None


_DOTS = 1_000
"""In the line of an import: Python's parser takes the square of the length of a dotted name in time and memory."""


def _overflows_the_stack(text: str) -> bool:
    """True if Python 3.10, whose tree builder recurses without a limit, could crash on the text."""
    if len(text) < _DEEPEST_IN_3_10:
        return False
    if text.count("elif") > _DEEPEST_IN_3_10:
        return True
    # The text between two lines that certainly begin a statement is an upper bound for a statement.
    places = [0, *(match.start() for match in _STATEMENT_START.finditer(text)), len(text)]
    return any(end - start > _DEEPEST_IN_3_10 and _is_deep(text[start:end]) for start, end in pairwise(places)) and any(
        _is_deep(lines.between(statement.first, statement.last))
        for lines in [Lines(text)]
        for statement in logical_lines(lines)
    )


def _is_deep(code: str) -> bool:
    return len(code) > _DEEPEST_IN_3_10 and len(_DEEPENING.findall(code)) > _DEEPEST_IN_3_10
