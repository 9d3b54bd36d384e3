"""Edits that leave a file half-typed, and how much of the file's tree outlives them."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator

from gradpath.source.document import Document
from gradpath.source.parse import Parsed

HALF_TYPED = (
    "x = ",
    "x = foo(",
    "self.",
    "loss.backward(",
    "return (",
    "for i in",
    "for i in range(10)",
    "if x",
    "if x:",
    "while (a",
    "with torch.no_grad(",
    "with torch.no_grad():",
    "else:",
    "try:",
    "elif x",
    "import",
    "from torch import (",
    "print 'hello'",
    "x = [1, 2",
    "x = {'a': 1,",
    'x = "abc',
    "x = 'abc",
    '"""Half a doc',
    "f(x, y=",
    "x +=",
    "@",
    "@torch.jit.script",
    "lambda x",
    "raise",
    "assert x ==",
    "del",
    "async",
    "x = y if",
    "not",
    "def",
    "def f",
    "def f(",
    "def f(self, x",
    "def f(self, x)",
    "def f(self, x):",
    "class",
    "class A",
    "class A(B",
    "class A:",
)


def _insert_characters(text: str, at: random.Random) -> tuple[int, int, str]:
    offset = at.randrange(len(text))
    return (
        offset,
        offset,
        at.choice(["(", "[", "{", ")", "]", "}", '"', "'", '"""', "'''", ":", "=", ".", "\\", "x(", "$"]),
    )


def _delete_characters(text: str, at: random.Random) -> tuple[int, int, str]:
    offset = at.randrange(len(text))
    return offset, min(offset + at.choice([1, 1, 1, 2, 3, 8, 30]), len(text)), ""


def _delete_one_of(characters: str) -> Callable[[str, random.Random], tuple[int, int, str]]:
    def delete(text: str, at: random.Random) -> tuple[int, int, str]:
        offset = at.choice([match.start() for match in re.finditer(f"[{re.escape(characters)}]", text)])
        return offset, offset + 1, ""

    return delete


def _delete_colon(text: str, at: random.Random) -> tuple[int, int, str]:
    offset = at.choice([match.start() for match in re.finditer(r":(?=[ \t]*\n)", text)])
    return offset, offset + 1, ""


def _type_statement(text: str, at: random.Random) -> tuple[int, int, str]:
    line = at.choice(list(re.finditer(r"(?m)^([ \t]*)\S.*\n", text)))
    return line.start(), line.start(), line[1] + at.choice(HALF_TYPED) + "\n"


def _cut_line(text: str, at: random.Random) -> tuple[int, int, str]:
    line = at.choice(list(re.finditer(r"(?m)\S.+$", text)))
    return at.randrange(line.start(), line.end()), line.end(), ""


KINDS: dict[str, Callable[[str, random.Random], tuple[int, int, str]]] = {
    "insert": _insert_characters,
    "delete": _delete_characters,
    "delete bracket": _delete_one_of("()[]{}"),
    "delete quote": _delete_one_of("\"'"),
    "delete colon": _delete_colon,
    "half-typed statement": _type_statement,
    "cut line": _cut_line,
}


def breaking_edits(text: str, count: int, at: random.Random) -> Iterator[tuple[str, int, int, str]]:
    """Edits (kind, start, end, new text) after which the text does not parse, each kind as often as the others."""
    kinds = list(KINDS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        while True:
            start, end, new = KINDS[kind](text, at)
            try:
                ast.parse(text[:start] + new + text[end:])
            except SyntaxError:
                yield kind, start, end, new
                break


def functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions and methods of a module, each with its dotted name; not those within functions."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + node.name, node
            case ast.ClassDef():
                yield from functions(node.body, f"{prefix}{node.name}.")
            case ast.If() | ast.Try() | ast.With():
                for field in ("body", "orelse", "finalbody"):
                    yield from functions(getattr(node, field, []), prefix)


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def fingerprint(node: ast.AST, moved: int = 0) -> str:
    """The node's dump with its locations, as if it had moved down by so many lines."""
    dump = ast.dump(node, include_attributes=True)
    return re.sub(r"lineno=(\d+)", lambda match: f"lineno={int(match[1]) + moved}", dump) if moved else dump


def survival(good: Parsed, start: int, end: int, new: str, after: Parsed) -> tuple[int, int]:
    """How many functions that an edit did not touch have the same tree, and how many such functions there are."""
    document = good.document
    first, last = document.position(start).line, document.position(end).line
    moved = new.count("\n") - document.text.count("\n", start, end)
    if start == end and document.position(start).column == 1 and new.endswith("\n"):
        last = first - 1
    kept = {(name, first_line(node)): node for name, node in functions(after.tree.body)}
    same = total = 0
    for name, node in functions(good.tree.body):
        shift = moved if first_line(node) > last else 0
        if first_line(node) <= last and (node.end_lineno or 0) >= first:
            continue
        total += 1
        now = kept.get((name, first_line(node) + shift))
        same += now is node or (now is not None and fingerprint(now) == fingerprint(node, shift))
    return same, total


def edited(document: Document, start: int, end: int, new: str) -> Document:
    return Document(document.path, document.text[:start] + new + document.text[end:])
