"""What the comments of a tested program claim, and the program without them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from gradpath.diagnostic import Level

PRELUDE = "import torch; from torch import nn; import torch.nn.functional as F\n"


class Malformed(Exception):
    """A document that does not keep to the grammar; `line` counts from 1 in the document."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Report:
    """gradpath reports `rule` with its squiggle starting on `line`; `squiggle` is the text under it, if claimed."""

    line: int
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
    """Some label of a report starts on `line` and contains `text`."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Raise:
    """PyTorch ends the program here with an exception of this class (or a subclass), whose message contains `text`."""

    line: int
    kind: str
    text: str | None = None

    def __str__(self) -> str:
        return self.kind if self.text is None else f"{self.kind} {self.text!r}"


@dataclass(frozen=True, slots=True)
class Fact:
    """`expression` is true in the program's namespace when it has ended."""

    line: int
    expression: str


Claim = Report | Note | Raise | Fact


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a program as it runs: without claims, with the prelude where the document leaves the imports out.

    `lines[i]` is the document's line of the text's line `i + 1`, 0 for the prelude.
    """

    name: str
    text: str
    lines: tuple[int, ...]
    claims: tuple[Claim, ...] = ()
    known_gap: str | None = None

    @property
    def bare(self) -> str:
        """The text as the document shows it: no prelude."""
        return self.text.removeprefix(PRELUDE)

    def shown_at(self, line: int) -> int:
        """The document's line of line `line` of the text; the nearest one for a line that is out of range."""
        return self.lines[min(max(line, 1), len(self.lines)) - 1]


_STRING = r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
_START = re.compile(r"#[ \t]*(?=(?:error|warning|hint|note|raises|torch|known gap)[ \t]*:)")
_REPORT = re.compile(rf"(error|warning|hint):\s*\[([a-z0-9-]+)\](?:\s+({_STRING}))?(?:\s+at\s+({_STRING}))?\s*")
_NOTE = re.compile(rf"note:\s*({_STRING})\s*")
_RAISE = re.compile(rf"raises:\s*([A-Za-z_][\w.]*)(?:\s+({_STRING}))?\s*")
_SEPARATOR = re.compile(r"#\s*")


def read_source(name: str, text: str, first_line: int) -> Source:
    """Read the claims of a program whose text begins on `first_line` of its document; raises Malformed."""
    shown = text.splitlines()
    kept: dict[int, str] = dict(enumerate(shown, start=1))
    claims: list[Claim] = []
    waiting: list[tuple[int, str]] = []
    known_gap: str | None = None
    for row, column, comment in _comments(text, first_line):
        start = _START.search(comment)
        if start is None:
            continue
        document_line = first_line + row - 1
        before = shown[row - 1][: column + start.start()].rstrip()
        body = comment[start.end() :].strip()
        alone = not before
        if alone:
            del kept[row]
        else:
            kept[row] = before
        if body.startswith("known gap"):
            known_gap = _reason(body, document_line)
        elif alone and not body.startswith("torch"):
            waiting.append((row, body))
        else:
            claims += _parse(body, document_line)
    for row, body in waiting:
        target = next((line for line in sorted(kept) if line > row and _is_code(kept[line])), None)
        if target is None:
            raise Malformed(first_line + row - 1, "no line of code follows this claim")
        claims += _parse(body, first_line + target - 1)
    program = "".join(f"{kept[line]}\n" for line in sorted(kept))
    lines = tuple(first_line + line - 1 for line in sorted(kept))
    if not _imports_something(program, lines, first_line):
        program, lines = PRELUDE + program, (0, *lines)
    claims.sort(key=lambda claim: claim.line)
    return Source(name, program, lines, tuple(claims), known_gap)


def reason_of_gap(line: str) -> str | None:
    """The reason in a line of prose such as `known gap: tuples are not followed`, or None for any other line."""
    found = re.match(r"known gap:\s*(.*\S)\s*$", line.strip(), re.IGNORECASE)
    return None if found is None else found[1]


def _comments(text: str, first_line: int) -> Iterator[tuple[int, int, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError) as problem:
        raise Malformed(first_line, f"this is not Python: {problem.args[0]}") from None


def _parse(body: str, line: int) -> list[Claim]:
    """The claims of one comment, from the first keyword to the end; a `torch:` claim takes the rest of the line."""
    claims: list[Claim] = []
    rest = body
    while rest:
        claim, rest = _parse_one(rest, line)
        claims.append(claim)
        if rest:
            separator = _SEPARATOR.match(rest)
            if separator is None:
                raise Malformed(line, f"cannot read {rest!r}: claims on one line are separated by '#'")
            rest = rest[separator.end() :]
    return claims


def _parse_one(text: str, line: int) -> tuple[Claim, str]:
    if found := _REPORT.match(text):
        level, rule, message, squiggle = found.groups()
        report = Report(line, Level(level), rule, _literal(message), _literal(squiggle))
        return report, text[found.end() :]
    if found := _NOTE.match(text):
        return Note(line, str(ast.literal_eval(found[1]))), text[found.end() :]
    if found := _RAISE.match(text):
        return Raise(line, found[1], _literal(found[2])), text[found.end() :]
    if text.startswith("torch:"):
        expression = text.removeprefix("torch:").strip()
        try:
            ast.parse(expression, mode="eval")
        except SyntaxError:
            raise Malformed(line, f"not an expression: {expression!r}") from None
        return Fact(line, expression), ""
    raise Malformed(line, f"not a claim: {text!r}")


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


def _imports_something(program: str, lines: tuple[int, ...], first_line: int) -> bool:
    try:
        tree = ast.parse(program)
    except SyntaxError as problem:
        row = min(max(problem.lineno or 1, 1), len(lines) or 1)
        raise Malformed(lines[row - 1] if lines else first_line, f"this is not Python: {problem.msg}") from None
    return any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))
