"""The classes whose text may take a value off its graph."""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradpath.source.index import contents
from gradpath.source.nodes import Definition
from gradpath.source.parse import Parsed

SIGNS = (".sample(", "argmax(", "argmin(", ".float()", "multinomial(", "round(", "sign(", "tensor(", "item()")


def definitions_that_cut(parsed: Parsed) -> set[str]:
    """The functions and classes of a file with a sign of a cut in their text; none where the file trains itself."""
    document = parsed.document
    if "backward(" in document.text or not any(sign in document.text for sign in SIGNS):
        return set()
    found = set()
    for each in parsed.tree.body:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            start = document.offset_of_line(each.lineno)
            end = document.offset_of_line((each.end_lineno or each.lineno) + 1)
            if any(document.text.find(sign, start, end) >= 0 for sign in SIGNS):
                found.add(each.name)
    return found


def is_forward_with(function: Definition, owner: ast.ClassDef | None, names: Collection[str]) -> bool:
    """True if a function is the `forward` of a class that is among these definitions, or mentions one."""
    if owner is None or function.name != "forward":
        return False
    return owner.name in names or any(each.id in names for each in contents(owner).names)
