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
    """The names that a body reads and those that it binds.

    `unsure` are those that it reads where it binds them only later, or has bound them in a branch that may not be
    taken, and `others` what it has by another way: its arguments, what it imports or defines, and what it takes from
    the code around it by declaration.
    """

    read: set[str]
    bound: set[str]
    unsure: set[str]
    others: set[str]

    @property
    def free(self) -> set[str]:
        """The names that it takes from the code around it."""
        return self.read - self.bound


def unbinds(before: Parsed, after: Parsed) -> bool:
    """True if a body reads a variable above where it binds it, or after a branch that does, and did not do so before.

    That is also so for a function that reads a name of the code around it, and now binds it itself, but not first; and
    for a name that nothing around a body defines any more, whether the body is ever run or not.
    """
    old, new = (Lines(for_parser(each.document.text)) for each in (before, after))
    same = unchanged(old, before.tree.body, new, 1, 1)
    known_bodies, bodies = (_bodies(each.tree, len(same.before), len(same.after)) for each in (before, after))
    if any(body.unsure - known_bodies.get(key, _NOTHING).unsure for key, body in bodies.items()):
        return True
    wanted = {name for key, body in bodies.items() for name in body.free - known_bodies.get(key, body).free}
    wanted |= known_bodies["", 0].bound - bodies["", 0].bound
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
        known = set(dir(builtins)).union(*(_body(each).bound | _body(each).others for each in (tree, *around)))
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


_NOTHING = _Body(set(), set(), set(), set())
"""The body of a function that is not there."""


@noted
def _body(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> _Body:
    inside = nodes(node, outside=SCOPES)
    others = {name for each in inside if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names}
    others |= {each.name for each in inside if isinstance(each, SCOPES) and not isinstance(each, ast.Lambda)}
    others |= {(each.asname or each.name).partition(".")[0] for each in inside if isinstance(each, ast.alias)}
    if not isinstance(node, ast.Module):
        others |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    read, bound = (_names(inside, load=load) - others for load in (True, False))
    body = _Body(read, bound, set(), others)
    _run(node.body, set(), body)
    return body


def _run(block: Sequence[ast.stmt], known: set[str], body: _Body) -> set[str]:
    """The variables that are bound after a block, if `known` are before it; notes those that it reads and are not.

    Loops count as run, and each block that jumps away as one that does not matter for what follows.
    """
    for statement in block:
        inner = [each for name in BLOCKS for each in getattr(statement, name, ())]
        own = nodes(statement, outside=SCOPES) if not inner else _head(statement)
        made = _names(own, load=False)
        body.unsure.update((_read_early(statement, own) & body.bound) - known)
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
                    _run(case.body, known | body.bound, body)
            case ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith():
                known = _run([*statement.body, *getattr(statement, "orelse", ())], known, body)
            case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
                return known | body.bound
    return known


def _read_early(statement: ast.stmt, own: Sequence[ast.AST]) -> set[str]:
    """The variables that a statement, or the head of one, reads before it binds them itself."""
    match statement:
        case ast.Assign(value=first) | ast.AugAssign(value=first) | ast.For(iter=first) | ast.AsyncFor(iter=first):
            inside = nodes(first, outside=SCOPES)
            added = _names([statement.target], load=False) if isinstance(statement, ast.AugAssign) else set[str]()
            return added | (_names(own, load=True) - _names(inside, load=False))
    return _names(own, load=True) - _names(own, load=False)


def _names(found: Sequence[ast.AST], *, load: bool) -> set[str]:
    """The names among some nodes that are read, or else bound."""
    return {each.id for each in found if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) is load}


def _head(statement: ast.stmt) -> list[ast.AST]:
    """The nodes that a compound statement evaluates before its blocks run."""
    return [each for part in parts(statement, BLOCKS) for each in nodes(part, outside=SCOPES)]
