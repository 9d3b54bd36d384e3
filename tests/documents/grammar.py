"""What the comments of a tested program claim, and the program without them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gradpath.diagnostic import Level
from gradpath.source.cells import Cell, CellsDocument
from gradpath.source.document import Document

PRELUDE = "import torch; from torch import nn; import torch.nn.functional as F\n"


class Malformed(Exception):
    """A document that does not keep to the grammar; `line` counts from 1 in the document."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class Place(NamedTuple):
    """A line of a document; `path` is relative to the project, `line` counts from 1."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Report:
    """gradpath reports `rule` with its squiggle starting at `place`; `squiggle` is the text under it, if claimed."""

    place: Place
    level: Level
    rule: str
    message: str | None = None
    squiggle: str | None = None

    def __str__(self) -> str:
        message = "" if self.message is None else f" {self.message!r}"
        squiggle = "" if self.squiggle is None else f" at {self.squiggle!r}"
        return f"{self.level.value}: [{self.rule}]{message}{squiggle}"


@dataclass(frozen=True, slots=True)
class Note:
    """Some label of a report starts at `place` and contains `text`."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Raise:
    """PyTorch ends the program here with an exception of this class (or a subclass), whose message contains `text`."""

    place: Place
    kind: str
    text: str | None = None

    def __str__(self) -> str:
        return self.kind if self.text is None else f"{self.kind} {self.text!r}"


@dataclass(frozen=True, slots=True)
class Fact:
    """`expression` is true in the program's namespace when it has ended."""

    place: Place
    expression: str


Claim = Report | Note | Raise | Fact


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a program as it runs: without claims, with the prelude where the document leaves the imports out.

    `name` is the file's own path in the program, `path` the document's in the project. `lines[i]` is the document's
    line of the text's line `i + 1`, 0 for the prelude. Of a notebook, whose text is that of all its code cells,
    `cells[i]` is the number of the cell that holds that line.
    """

    name: str
    text: str
    path: str
    lines: tuple[int, ...]
    claims: tuple[Claim, ...] = ()
    known_gap: str | None = None
    cells: tuple[int, ...] = ()

    def document(self, path: str) -> Document:
        """What gradpath is given for it."""
        if not self.cells:
            return Document(path, self.text)
        lines: dict[int, str] = {}
        for number, line in zip(self.cells, self.text.splitlines(keepends=True), strict=True):
            lines[number] = lines.get(number, "") + line
        # The empty line that ends each cell is put there by the document itself.
        return CellsDocument(path, (Cell(number, text[:-2]) for number, text in lines.items()))

    @property
    def bare(self) -> str:
        """The text as the document shows it: no prelude."""
        return self.text.removeprefix(PRELUDE)

    def place_of(self, line: int) -> Place:
        """Where line `line` of the text stands in the document; the nearest one for a line that is out of range."""
        return Place(self.path, self.lines[min(max(line, 1), len(self.lines)) - 1])


_STRING = r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
_START = re.compile(r"#[ \t]*(?=(?:error|warning|hint|note|raises|torch|known gap)[ \t]*:)")
_REPORT = re.compile(rf"(error|warning|hint):\s*\[([a-z0-9-]+)\](?:\s+({_STRING}))?(?:\s+at\s+({_STRING}))?\s*")
_NOTE = re.compile(rf"note:\s*({_STRING})\s*")
_RAISE = re.compile(rf"raises:\s*([A-Za-z_][\w.]*)(?:\s+({_STRING}))?\s*")
_SEPARATOR = re.compile(r"#\s*")


def read_source(name: str, text: str, path: str, first_line: int = 1, *, prelude: bool = False) -> Source:
    """Read the claims of a program whose text begins on `first_line` of the document `path`; raises Malformed.

    With `prelude`, a program that imports nothing is given the usual imports.
    """
    shown = text.splitlines()
    kept: dict[int, str] = dict(enumerate(shown, start=1))
    claims: list[Claim] = []
    waiting: list[tuple[int, str]] = []
    known_gap: str | None = None
    for row, column, comment in _comments(text, first_line):
        start = _START.search(comment)
        if start is None:
            continue
        place = Place(path, first_line + row - 1)
        before = shown[row - 1][: column + start.start()].rstrip()
        body = comment[start.end() :].strip()
        alone = not before
        if alone:
            del kept[row]
        else:
            kept[row] = before
        if body.startswith("known gap"):
            known_gap = _reason(body, place.line)
        elif alone and not body.startswith("torch"):
            waiting.append((row, body))
        else:
            claims += _parse(body, place)
    for row, body in waiting:
        target = next((line for line in sorted(kept) if line > row and _is_code(kept[line])), None)
        if target is None:
            raise Malformed(first_line + row - 1, "no line of code follows this claim")
        claims += _parse(body, Place(path, first_line + target - 1))
    program = "".join(f"{kept[line]}\n" for line in sorted(kept))
    lines = tuple(first_line + line - 1 for line in sorted(kept)) or (first_line,)
    if prelude and not _imports_something(program, lines):
        program, lines = PRELUDE + program, (0, *lines)
    claims.sort(key=lambda claim: claim.place)
    return Source(name, program, path, lines, tuple(claims), known_gap)


def reason_of_gap(line: str) -> str | None:
    """The reason in a line of prose such as `known gap: tuples are not followed`, or None for any other line."""
    found = re.match(r"known gap:\s*(.*\S)\s*$", line.strip(), re.IGNORECASE)
    return None if found is None else found[1]


def _comments(text: str, first_line: int) -> Iterator[tuple[int, int, str]]:
    """The row, column and text of each comment that may make a claim; tokens tell only where quotes leave it open."""
    claiming = [(row, line) for row, line in enumerate(text.splitlines(), start=1) if _START.search(line)]
    if not any(quotes in text for quotes in ("'''", '"""')):
        starts = [line.index("#") for _row, line in claiming]
        if not any(set(line[:start]) & {"'", '"'} for (_row, line), start in zip(claiming, starts, strict=True)):
            yield from ((row, start, line[start:]) for (row, line), start in zip(claiming, starts, strict=True))
            return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError) as problem:
        raise Malformed(first_line, f"this is not Python: {problem.args[0]}") from None


def _parse(body: str, place: Place) -> list[Claim]:
    """The claims of one comment, from the first keyword to the end; a `torch:` claim takes the rest of the line."""
    claims: list[Claim] = []
    rest = body
    while rest:
        claim, rest = _parse_one(rest, place)
        claims.append(claim)
        if rest:
            separator = _SEPARATOR.match(rest)
            if separator is None:
                raise Malformed(place.line, f"cannot read {rest!r}: claims on one line are separated by '#'")
            rest = rest[separator.end() :]
    return claims


def _parse_one(text: str, place: Place) -> tuple[Claim, str]:
    if found := _REPORT.match(text):
        level, rule, message, squiggle = found.groups()
        report = Report(place, Level(level), rule, _literal(message), _literal(squiggle))
        return report, text[found.end() :]
    if found := _NOTE.match(text):
        return Note(place, str(ast.literal_eval(found[1]))), text[found.end() :]
    if found := _RAISE.match(text):
        return Raise(place, found[1], _literal(found[2])), text[found.end() :]
    if text.startswith("torch:"):
        expression = text.removeprefix("torch:").strip()
        try:
            ast.parse(expression, mode="eval")
        except SyntaxError:
            raise Malformed(place.line, f"not an expression: {expression!r}") from None
        return Fact(place, expression), ""
    raise Malformed(place.line, f"not a claim: {text!r}")


def _literal(text: str | None) -> str | None:
    return None if text is None else str(ast.literal_eval(text))


def _reason(body: str, line: int) -> str:
    reason = reason_of_gap(body)
    if reason is None:
        raise Malformed(line, "a known gap needs its reason")
    return reason


def _is_code(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _imports_something(program: str, lines: tuple[int, ...]) -> bool:
    try:
        tree = ast.parse(program)
    except SyntaxError as problem:
        row = min(max(problem.lineno or 1, 1), len(lines))
        raise Malformed(lines[row - 1], f"this is not Python: {problem.msg}") from None
    return any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))
