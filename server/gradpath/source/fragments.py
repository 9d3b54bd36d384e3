"""A text that was pasted from inside a block: statements that are all indented, or methods without their class."""

from __future__ import annotations

import ast

from gradpath.source.grammar import UNPARSED, Unparsable, parse_text
from gradpath.support.lazy_regex import regex

_FIRST = regex(r"(?:[ \t\f]*(?:#.*)?\n)*(?=[ \t]*[^\s#])")
_MARGIN = regex(r"[ \t]*")


def fragment(text: str) -> ast.Module | None:
    """The tree of a text whose first statement is indented; None where it is not, or the rest does not fit it.

    Methods belong to a class of which nothing is known.
    """
    first = _FIRST.match(text)
    if first is None or not _MARGIN.match(text, first.end())[0]:  # type: ignore[index]
        return None
    for header in (f"class {UNPARSED}({UNPARSED}):", "if 1:"):
        try:
            tree = parse_text(f"{header}\n{text}")
        except Unparsable:
            return None
        around = tree.body[0]
        if isinstance(around, ast.ClassDef) and not all(map(_is_method, around.body)):
            continue
        ast.increment_lineno(tree, -1)
        match around:
            case ast.ClassDef(body=[first_of_all, *_]):
                around.lineno = first_of_all.lineno
            case ast.If(body=body):
                tree.body[:1] = body
        return tree
    return None


def _is_method(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given):
            return any(each.arg == "self" for each in given.args[:1]) or bool(statement.decorator_list)
    return False
