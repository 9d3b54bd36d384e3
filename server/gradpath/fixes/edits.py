"""Edits like a careful person's: minimal, and only where the syntax leaves no doubt; None otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

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
        end = _after_parentheses(document, document.range_of(last).end, document.range_of(call).end)
        return Edit(document.path, Range(end, end), f", {name}={value}")
    close = document.range_of(call).end
    place = Position(close.line, close.column - 1)
    return Edit(document.path, Range(place, place), f"{name}={value}")


def _after_parentheses(document: Document, end: Position, limit: Position) -> Position:
    """The place after the parentheses that may stand around an argument, the call's own left aside."""
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
    return (
        Edit(document.path, Range(place.start, place.start), "("),
        Edit(document.path, Range(place.end, place.end), f"){suffix}"),
    )


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
    """A call of a function around an expression."""
    place = document.range_of(node)
    before, after = Range(place.start, place.start), Range(place.end, place.end)
    return Edit(document.path, before, f"{function}("), Edit(document.path, after, ")")


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
    if len(call.args) != 1 or isinstance(call.args[0], (ast.Starred, ast.GeneratorExp)):
        return None
    text = document.slice(document.range_of(call.args[0]))
    atom = isinstance(call.args[0], ATOMS)
    return replace(document, call, text if atom else f"({text})")


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
    start = Position(place.start.line, 1)
    if place.end.line < document.line_count:
        return Range(start, Position(place.end.line + 1, 1))
    return Range(start, Position(place.end.line, len(document.line(place.end.line)) + 1))


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
    decorators = getattr(statement, "decorator_list", None)
    if decorators:
        place = Position(document.range_of(decorators[0]).start.line, place.column)
    indent = document.line(place.line)[: place.column - 1]
    if indent.strip():
        return None
    start = Position(place.line, 1)
    end = newline(document)
    return Edit(document.path, Range(start, start), "".join(f"{indent}{line}{end}" for line in lines))


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


def relocated(
    document: Document,
    statements: Sequence[ast.stmt],
    insert: Callable[..., Edit | None],
    headers: Sequence[str] = (),
    *,
    again: bool = False,
) -> tuple[Edit, ...] | None:
    """Statements go from where they stand, and `insert` makes the edit that writes their lines elsewhere.

    There they are in the innermost of the blocks that `headers` begin. What is run `again` stays where it is, too.
    """
    gone = [] if again else [delete_statement(document, each) for each in statements]
    texts, unit = [lines_to_move(document, each) for each in statements], indent_unit(document)
    lines = [unit * depth + header for depth, header in enumerate(headers)]
    lines += [unit * len(headers) + line for text in texts for line in text or ()]
    new = None if None in texts else insert(*lines)
    made = tuple(each for each in (*gone, new) if each is not None)
    return made if len(made) == len(gone) + 1 else None


def wrap(document: Document, statement: ast.stmt, header: str) -> Edit | None:
    """A statement that stands alone moves into a block of its own under `header`."""
    if not stands_alone(document, statement) or _has_long_text(statement):
        return None
    place = lines_of(document, statement)
    indent = document.line(place.start.line)[: document.range_of(statement).start.column - 1]
    unit = indent_unit(document)
    lines = document.slice(place).splitlines(keepends=True)
    moved = "".join(unit + line if line.strip() else line for line in lines)
    return Edit(document.path, place, f"{indent}{header}{newline(document)}{moved}")


def unwrap_block(document: Document, block: ast.With | ast.AsyncWith) -> Edit | None:
    """A `with` goes, and what stood in it moves out by one level."""
    first = block.body[0]
    if not stands_alone(document, block) or _has_long_text(block) or first.lineno == block.lineno:
        return None
    outer = document.range_of(block).start.column - 1
    inner = document.range_of(first).start.column - 1
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
    return any(
        isinstance(each, (ast.Constant, ast.JoinedStr)) and each.end_lineno != each.lineno for each in ast.walk(node)
    )


def indent_unit(document: Document) -> str:
    """One level of the document's indentation: that of the first block that is indented."""
    before = ""
    for number in range(1, document.line_count + 1):
        line = document.line(number)
        if not line.strip():
            continue
        indent = line[: len(line) - len(line.lstrip())]
        if before.rstrip().endswith(":") and indent.startswith(_indent(before)) and len(indent) > len(_indent(before)):
            return indent[len(_indent(before)) :]
        before = line
    return "    "


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def newline(document: Document) -> str:
    """The line ending that the document uses."""
    text = document.text
    at = text.find("\n")
    if at < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if at and text[at - 1] == "\r" else "\n"
