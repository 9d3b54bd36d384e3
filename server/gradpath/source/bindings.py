"""Whether a change leaves a name unbound where it is read."""

from __future__ import annotations

import ast

from gradpath.records import dataclass
from gradpath.source.nodes import nodes

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class _Body:
    """Where a body first reads each of its variables, and where it first binds it."""

    read: dict[str, int]
    bound: dict[str, int]

    def is_early(self, name: str) -> bool:
        """Whether a variable is read above where it is bound."""
        return name in self.bound and self.read.get(name, self.bound[name]) < self.bound[name]


def unbinds(before: str, after: str) -> bool:
    """Whether a body reads a variable above where it binds it, and did not do so before.

    That is also so for a function that reads a name of the code around it, and now binds it itself, but not first.
    """
    old = _bodies(before)
    for key, body in _bodies(after).items():
        known = old.get(key, _Body({}, {}))
        for name, line in body.bound.items():
            becomes_local = bool(key[0]) and name in known.read and name not in known.bound
            if becomes_local and body.read.get(name, line + 1) <= line:
                return True
            if body.is_early(name) and not known.is_early(name):
                return True
    return False


def _bodies(text: str) -> dict[tuple[str, int], _Body]:
    """The module and the functions of a text, by the name and how many of that name there were."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    found: dict[tuple[str, int], _Body] = {}
    for each in ast.walk(tree):
        if isinstance(each, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            name = "" if isinstance(each, ast.Module) else each.name
            found[name, sum(name == other for other, _ in found)] = _body(each)
    return found


def _body(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> _Body:
    inside = nodes(node, outside=_INNER)
    others = {name for each in inside if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names}
    others |= {each.name for each in inside if isinstance(each, _INNER) and not isinstance(each, ast.Lambda)}
    others |= {(each.asname or each.name).partition(".")[0] for each in inside if isinstance(each, ast.alias)}
    if not isinstance(node, ast.Module):
        others |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    body = _Body({}, {})
    for each in inside:
        if isinstance(each, ast.Name) and each.id not in others:
            lines = body.read if isinstance(each.ctx, ast.Load) else body.bound
            lines[each.id] = min(each.lineno, lines.get(each.id, each.lineno))
    return body
