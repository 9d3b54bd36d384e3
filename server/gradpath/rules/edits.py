"""Edits like a careful person's: minimal, and only where the syntax leaves no doubt; None otherwise."""

from __future__ import annotations

import ast

from gradpath.diagnostic import Edit, Position, Range
from gradpath.source.document import Document


def add_keyword(document: Document, call: ast.Call, name: str, value: str) -> Edit | None:
    """`name=value` as the call's last argument, or in place of what the call passes for `name` now."""
    if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return Edit(document.path, document.range_of(keyword.value), value)
    last = max(
        [*call.args, *(keyword.value for keyword in call.keywords)],
        key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0),
        default=None,
    )
    if last is not None:
        if isinstance(last, ast.GeneratorExp):
            return None
        end = _behind_parentheses(document, document.range_of(last).end, document.range_of(call).end)
        return Edit(document.path, Range(end, end), f", {name}={value}")
    close = document.range_of(call).end
    place = Position(close.line, close.column - 1)
    return Edit(document.path, Range(place, place), f"{name}={value}")


def _behind_parentheses(document: Document, end: Position, limit: Position) -> Position:
    """The place behind the parentheses that may stand around an argument, the call's own left aside."""
    text = document.text
    place, stop = document.offset(end), document.offset(limit) - 1
    found = place
    while place < stop:
        if text[place] == ")":
            found = place + 1
        elif not text[place].isspace():
            break
        place += 1
    return document.position(found)


def append(document: Document, node: ast.expr, suffix: str) -> tuple[Edit, ...]:
    """`suffix` (such as `.detach()`) behind an expression, with parentheses where precedence asks for them."""
    place = document.range_of(node)
    if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return (Edit(document.path, Range(place.end, place.end), suffix),)
    return (
        Edit(document.path, Range(place.start, place.start), "("),
        Edit(document.path, Range(place.end, place.end), f"){suffix}"),
    )


def replace(document: Document, node: ast.AST, text: str) -> Edit:
    """The source of `node` replaced by `text`."""
    return Edit(document.path, document.range_of(node), text)


def drop_method(document: Document, call: ast.Call) -> Edit | None:
    """`x.detach()` becomes `x`: the attribute and the call behind it go."""
    if not isinstance(call.func, ast.Attribute):
        return None
    start = document.range_of(call.func.value).end
    start = _behind_parentheses(document, start, document.range_of(call).end)
    return Edit(document.path, Range(start, document.range_of(call).end), "")


def delete_statement(document: Document, statement: ast.stmt) -> Edit | None:
    """A statement that stands alone on its lines goes, its line ending and comment included."""
    place = document.range_of(statement)
    first, last = document.line(place.start.line), document.line(place.end.line)
    rest = last[place.end.column - 1 :].strip()
    if first[: place.start.column - 1].strip() or (rest and not rest.startswith("#")):
        return None
    start = Position(place.start.line, 1)
    if place.end.line < document.line_count:
        return Edit(document.path, Range(start, Position(place.end.line + 1, 1)), "")
    return Edit(document.path, Range(start, Position(place.end.line, len(last) + 1)), "")


def insert_before(document: Document, statement: ast.stmt, line: str) -> Edit | None:
    """A new line of code above a statement that begins its line, in its indentation."""
    place = document.range_of(statement).start
    indent = document.line(place.line)[: place.column - 1]
    if indent.strip():
        return None
    start = Position(place.line, 1)
    return Edit(document.path, Range(start, start), f"{indent}{line}{newline(document)}")


def insert_after(document: Document, statement: ast.stmt, line: str) -> Edit | None:
    """A new line of code below a simple statement that has its lines to itself."""
    place = document.range_of(statement)
    indent = document.line(place.start.line)[: place.start.column - 1]
    rest = document.line(place.end.line)[place.end.column - 1 :].strip()
    if indent.strip() or (rest and not rest.startswith("#")):
        return None
    end = Position(place.end.line, len(document.line(place.end.line)) + 1)
    return Edit(document.path, Range(end, end), f"{newline(document)}{indent}{line}")


def newline(document: Document) -> str:
    """The line ending that the document uses."""
    text = document.text
    at = text.find("\n")
    if at < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if at and text[at - 1] == "\r" else "\n"
