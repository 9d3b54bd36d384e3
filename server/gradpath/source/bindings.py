"""Definite assignment: whether a change leaves a name unbound where it is read."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Sequence

from gradpath.source.grammar import for_parser
from gradpath.source.index import holds
from gradpath.source.logical import Lines
from gradpath.source.nodes import BLOCKS, SCOPES, nodes, noted, parts
from gradpath.source.parse import Parsed
from gradpath.source.reuse import unchanged
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Body:
    """Where a body first reads each of its variables, and where it first binds it.

    `unsure` are those that it reads where only a branch that may not be taken has bound them, and `others` what it has
    by another way: its arguments, what it imports or defines, and what it takes from the code around it by declaration.
    """

    read: dict[str, int]
    bound: dict[str, int]
    unsure: set[str]
    others: set[str]

    def is_early(self, name: str) -> bool:
        """True if a variable is read above where it is bound."""
        return name in self.bound and self.read.get(name, self.bound[name]) < self.bound[name]

    @property
    def free(self) -> set[str]:
        """The names that it takes from the code around it."""
        return self.read.keys() - self.bound.keys()


def unbinds(before: Parsed, after: Parsed) -> bool:
    """True if a body reads a variable above where it binds it, or after a branch that does, and did not do so before.

    That is also so for a function that reads a name of the code around it, and now binds it itself, but not first; and
    for a name that nothing around a body defines any more, whether the body is ever run or not.
    """
    old, new = (Lines(for_parser(each.document.text)) for each in (before, after))
    same = unchanged(old, before.tree.body, new, 1, 1)
    known_bodies, bodies = (_bodies(each.tree, len(same.before), len(same.after)) for each in (before, after))
    for key, body in bodies.items():
        known = known_bodies.get(key, _Body({}, {}, set(), set()))
        if any(name in known.bound for name in body.unsure - known.unsure):
            return True
        for name, line in body.bound.items():
            becomes_local = bool(key[0]) and name in known.read and name not in known.bound
            if becomes_local and body.read.get(name, line + 1) <= line:
                return True
            if body.is_early(name) and not known.is_early(name):
                return True
    wanted = {name for key, body in bodies.items() for name in body.free - known_bodies.get(key, body).free}
    wanted |= known_bodies["", 0].bound.keys() - bodies["", 0].bound.keys()
    return bool(wanted) and _lacks(before.tree, after.tree, wanted)


def _lacks(before: ast.Module, after: ast.Module, wanted: set[str]) -> bool:
    """True if a body takes one of these names from code around it that does not define it, as some code did before."""
    if any(isinstance(each, ast.alias) and each.name == "*" for each in nodes(after)):
        return False
    had = {each.id for each in nodes(before) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    had |= {each.arg for each in nodes(before) if isinstance(each, ast.arg)}
    return not _lacking(after) & wanted & had <= _lacking(before)


def _lacking(tree: ast.Module) -> set[str]:
    """The names that some body of a module takes from the code around it, which does not define them."""
    functions = [each for each in nodes(tree) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found: set[str] = set()
    for node in (tree, *functions):
        around = (each for each in functions if each is not node and holds(each, node))
        known = set(dir(builtins)).union(*(_body(each).bound.keys() | _body(each).others for each in (tree, *around)))
        found |= _body(node).free - known
    return found


def _bodies(tree: ast.Module, above: int, below: int) -> dict[tuple[str, int], _Body]:
    """The module, and the functions between so many statements, by the name and how many of that name there were."""
    found = {("", 0): _body(tree)}
    times: Counter[str] = Counter()
    for each in nodes(ast.Module(tree.body[above : len(tree.body) - below], [])):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[each.name, times[each.name]] = _body(each)
            times[each.name] += 1
    return found


@noted
def _body(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> _Body:
    inside = nodes(node, outside=SCOPES)
    others = {name for each in inside if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names}
    others |= {each.name for each in inside if isinstance(each, SCOPES) and not isinstance(each, ast.Lambda)}
    others |= {(each.asname or each.name).partition(".")[0] for each in inside if isinstance(each, ast.alias)}
    if not isinstance(node, ast.Module):
        others |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    body = _Body({}, {}, set(), others)
    for each in inside:
        if isinstance(each, ast.Name) and each.id not in others:
            lines = body.read if isinstance(each.ctx, ast.Load) else body.bound
            lines[each.id] = min(each.lineno, lines.get(each.id, each.lineno))
    _run(node.body, set(), body)
    return body


def _run(block: Sequence[ast.stmt], known: set[str], body: _Body) -> set[str]:
    """The variables that are bound after a block, if `known` are before it; notes those that it reads and are not.

    Loops count as run, and each block that jumps away as one that does not matter for what follows.
    """
    for statement in block:
        inner = [each for name in BLOCKS for each in getattr(statement, name, ())]
        own = nodes(statement, outside=SCOPES) if not inner else _head(statement)
        names = [each for each in own if isinstance(each, ast.Name)]
        made = {each.id for each in names if not isinstance(each.ctx, ast.Load)}
        body.unsure.update({each.id for each in names} & set(body.bound) - known - made)
        known = known | made
        match statement:
            case ast.If():
                known = _run(statement.body, known, body) & _run(statement.orelse, known, body)
            case ast.Try():
                ran = _run([*statement.body, *statement.orelse], known, body)
                for handler in statement.handlers:
                    ran &= _run(handler.body, known, body)
                known = _run(statement.finalbody, ran, body)
            case ast.Match():
                for case in statement.cases:
                    _run(case.body, known | set(body.bound), body)
            case ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith():
                known = _run([*statement.body, *getattr(statement, "orelse", ())], known, body)
            case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
                return known | set(body.bound)
    return known


def _head(statement: ast.stmt) -> list[ast.AST]:
    """The nodes that a compound statement evaluates before its blocks run."""
    return [each for part in parts(statement, BLOCKS) for each in nodes(part, outside=SCOPES)]
