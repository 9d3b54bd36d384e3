"""Edits like a careful person's: minimal, and only where the syntax leaves no doubt; None otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from gradpath.diagnostic import Edit, Position, Range
from gradpath.source.document import Document
from gradpath.source.index import inside
from gradpath.source.index import lines_of as first_and_last


def add_keyword(document: Document, call: ast.Call, name: str, value: str) -> Edit | None:
    """`name=value` as the call's last argument, or in place of what the call passes for `name` now."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(each, ast.Starred) for each in given):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return replace(document, keyword.value, value)
    close, last = document.range_of(call).end, max(given, key=lambda each: document.range_of(each).end, default=None)
    if isinstance(last, ast.GeneratorExp):
        return None
    place = Position(close.line, close.column - 1)
    if last is not None:
        place = _after_parentheses(document, document.range_of(last).end, close)
    return Edit(document.path, Range(place, place), f"{name}={value}" if last is None else f", {name}={value}")


def _after_parentheses(document: Document, end: Position, limit: Position) -> Position:
    """The place after the parentheses that may stand around an argument, the call's own left aside."""
    place, stop = document.offset(end), document.offset(limit) - 1
    closing = re.match(r"(?:\s*\))*", document.text[place:stop])
    return document.position(place + (closing.end() if closing else 0))


def append(document: Document, node: ast.expr, suffix: str) -> tuple[Edit, ...]:
    """`suffix` (such as `.detach()`) after an expression, with parentheses where precedence asks for them."""
    place = document.range_of(node)
    if isinstance(node, ATOMS):
        return (Edit(document.path, Range(place.end, place.end), suffix),)
    text = document.text
    start, end = document.offset(place.start), document.offset(place.end)
    before, closing = text[:start].rstrip(), re.match(r"\s*\)", text[end:])
    if closing is not None and before.endswith("(") and not re.search(r"[\w\])]\Z", before[:-1].rstrip(" \t")):
        closed = document.position(end + closing.end())
        return (Edit(document.path, Range(closed, closed), suffix),)
    opening, ending = put_into(document, node, "")
    return opening, Edit(document.path, ending.range, f"){suffix}")


def followed(text: str, node: ast.expr, suffix: str) -> str:
    """The source of an expression with `suffix` after it, in parentheses where precedence asks for them."""
    return f"{text}{suffix}" if isinstance(node, ATOMS) else f"({text}){suffix}"


def flat(document: Document, node: ast.AST) -> str:
    """The source of a node on one line."""
    return " ".join(document.slice(document.range_of(node)).split())


def replace(document: Document, node: ast.AST, text: str) -> Edit:
    """The source of `node` replaced by `text`."""
    return Edit(document.path, document.range_of(node), text)


def put_into(document: Document, node: ast.AST, function: str) -> tuple[Edit, ...]:
    """A call of a function around an expression; a tuple without parentheses gets some of its own."""
    place = document.range_of(node)
    before, after = Range(place.start, place.start), Range(place.end, place.end)
    bare = function and isinstance(node, ast.Tuple) and not document.slice(place).startswith("(")
    opening, closing = ("((", "))") if bare else ("(", ")")
    return Edit(document.path, before, f"{function}{opening}"), Edit(document.path, after, closing)


def drop_method(document: Document, node: ast.Call | ast.Attribute) -> Edit | None:
    """`x.detach()` and `x.data` become `x`: the attribute goes, and the call after it."""
    read = node.func if isinstance(node, ast.Call) else node
    if not isinstance(read, ast.Attribute):
        return None
    end = document.range_of(node).end
    return Edit(document.path, Range(_after_parentheses(document, document.range_of(read.value).end, end), end), "")


def drop_keyword(document: Document, call: ast.Call, name: str) -> Edit | None:
    """The argument `name=...` of a call goes, with the comma that it no longer needs."""
    keyword = next((each for each in call.keywords if each.arg == name), None)
    if keyword is None:
        return None
    text = document.text
    place = document.range_of(keyword)
    start, end = document.offset(place.start), document.offset(place.end)
    comma = len(text[:start].rstrip()) - 1
    if text[comma] == ",":
        return Edit(document.path, Range(document.position(comma), place.end), "")
    rest = re.match(r"\s*,\s*", text[end:])
    return Edit(document.path, Range(place.start, document.position(end + (rest.end() if rest else 0))), "")


def unwrap_call(document: Document, call: ast.Call) -> Edit | None:
    """`float(x)` becomes `x`: the call is replaced by its only positional argument."""
    match call.args:
        case [value] if not isinstance(value, (ast.Starred, ast.GeneratorExp)):
            return replace(document, call, followed(document.slice(document.range_of(value)), value, ""))
    return None


ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Tuple, ast.Dict)
"""Expressions that need no parentheses anywhere."""


def stands_alone(document: Document, statement: ast.stmt) -> bool:
    """True if a statement has its lines to itself, a comment after it aside."""
    place = document.range_of(statement)
    first, last = document.line(place.start.line), document.line(place.end.line)
    rest = last[place.end.column - 1 :].strip()
    return not first[: place.start.column - 1].strip() and (not rest or rest.startswith("#"))


def lines_of(document: Document, statement: ast.stmt) -> Range:
    """The whole lines of a statement, the last line ending included where there is one."""
    place = document.range_of(statement)
    last = place.end.line
    end = Position(last + 1, 1) if last < document.line_count else Position(last, len(document.line(last)) + 1)
    return Range(Position(place.start.line, 1), end)


def delete_statement(document: Document, statement: ast.stmt) -> Edit | None:
    """A statement goes: with its line ending and comment where it stands alone, else with the `;` before it."""
    if stands_alone(document, statement):
        return Edit(document.path, lines_of(document, statement), "")
    place = document.range_of(statement)
    before = document.line(place.start.line)[: place.start.column - 1]
    if not before.rstrip().endswith(";"):
        return None
    start = Position(place.start.line, len(before.rstrip()[:-1].rstrip()) + 1)
    return Edit(document.path, Range(start, place.end), "")


def delete_but_comment(document: Document, statement: ast.stmt) -> Edit | None:
    """The same, except that a comment after the statement stays, on a line of its own."""
    place = document.range_of(statement)
    comment = document.line(place.end.line)[place.end.column - 1 :]
    if not comment.strip() or not stands_alone(document, statement):
        return delete_statement(document, statement)
    end = Position(place.end.line, place.end.column + len(comment) - len(comment.lstrip()))
    return Edit(document.path, Range(place.start, end), "")


def insert_before(document: Document, statement: ast.stmt, *lines: str) -> Edit | None:
    """New lines of code above a statement that begins its line, in its indentation."""
    place = document.range_of(statement).start
    indent, start = document.line(place.line)[: place.column - 1], Position(first_and_last(statement)[0], 1)
    text = "".join(f"{indent}{line}{newline(document)}" for line in lines)
    return None if indent.strip() else Edit(document.path, Range(start, start), text)


def insert_after(document: Document, statement: ast.stmt, *lines: str) -> Edit | None:
    """New lines of code below a statement that has its lines to itself, in its indentation."""
    if not stands_alone(document, statement):
        return None
    place = document.range_of(statement)
    indent = document.line(place.start.line)[: place.start.column - 1]
    end = Position(place.end.line, len(document.line(place.end.line)) + 1)
    text = "".join(f"{newline(document)}{indent}{line}" for line in lines)
    return Edit(document.path, Range(end, end), text)


def lines_to_move(document: Document, statement: ast.stmt) -> list[str] | None:
    """The lines of a statement that stands alone, a comment after it included, without its own indentation.

    None where a string over several lines is inside, whose text another indentation would change.
    """
    if not stands_alone(document, statement) or _has_long_text(statement):
        return None
    indent = document.line(statement.lineno)[: document.range_of(statement).start.column - 1]
    last = statement.end_lineno or statement.lineno
    return [document.line(number).removeprefix(indent) for number in range(statement.lineno, last + 1)]


Insert = Callable[..., Edit | None]
"""What makes the edit that writes some lines at a place."""


def relocated(
    document: Document, code: Sequence[ast.stmt], insert: Insert, headers: Sequence[str] = (), again: bool = False
) -> tuple[Edit, ...] | None:
    """Statements of `code` go from where they stand, and `insert` makes the edit that writes their lines elsewhere.

    There they are in the innermost of the blocks that `headers` begin. What is run `again` stays where it is, too.
    """
    gone = [] if again else [delete_statement(document, each) for each in code]
    texts, unit = [lines_to_move(document, each) for each in code], indent_unit(document)
    lines = [unit * depth + header for depth, header in enumerate(headers)]
    lines += [unit * len(headers) + line for text in texts for line in text or ()]
    new = None if None in texts else insert(*lines)
    made = tuple(each for each in (*gone, new) if each is not None)
    return made if len(made) == len(gone) + 1 else None


def wrap(document: Document, statement: ast.stmt, header: str, text: str = "") -> Edit | None:
    """A statement that stands alone, or the `text` in its place, moves into a block of its own under `header`."""
    if not stands_alone(document, statement) or _has_long_text(statement):
        return None
    place, unit = lines_of(document, statement), indent_unit(document)
    indent = document.line(place.start.line)[: document.range_of(statement).start.column - 1]
    code = document.slice(place)
    if text:
        code = code.replace(document.slice(document.range_of(statement)), text, 1)
    moved = "".join(unit + line if line.strip() else line for line in code.splitlines(keepends=True))
    return Edit(document.path, place, f"{indent}{header}{newline(document)}{moved}")


def unwrap_block(document: Document, block: ast.With | ast.AsyncWith) -> Edit | None:
    """A `with` goes, and what stood in it moves out by one level."""
    first = block.body[0]
    if not stands_alone(document, block) or _has_long_text(block) or first.lineno == block.lineno:
        return None
    outer, inner = (document.range_of(each).start.column - 1 for each in (block, first))
    place = lines_of(document, block)
    top = first.lineno
    while top > block.lineno + 1 and document.line(top - 1).lstrip().startswith("#"):
        top -= 1  # The comments above the first statement.
    start = document.offset(Position(top, 1))
    lines = document.text[start : document.offset(place.end)].splitlines(keepends=True)
    if any(line.strip() and line[outer:inner].strip() for line in lines):
        return None
    moved = "".join(line[:outer] + line[inner:] if line.strip() else line for line in lines)
    return Edit(document.path, place, moved)


def _has_long_text(node: ast.AST) -> bool:
    """True if a string over several lines is inside, whose text indentation would change."""
    return any(each.end_lineno != each.lineno for each in inside(node, ast.Constant, ast.JoinedStr))


def indent_unit(document: Document) -> str:
    """One level of the document's indentation: that of the first block that is indented."""
    found = re.search(r"^([ \t]*)\S.*:\s*?[\r\n]\1([ \t]+)\S", document.text, re.MULTILINE)
    return found[2] if found else "    "


def newline(document: Document) -> str:
    """The line ending that the document uses."""
    found = re.search(r"\r\n?|\n", document.text)
    return found[0] if found else "\n"
