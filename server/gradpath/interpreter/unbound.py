"""Names without a value, among them variables that only a branch binds: where it was not taken, reading them raises."""

from __future__ import annotations

import ast

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Undefined
from gradpath.interpreter.values import UNDEFINED, Value
from gradpath.source.grammar import UNPARSED
from gradpath.source.nodes import SCOPES, nodes, noted

ANY_NAME = ("any name",)
"""The mark of a program that imports `*` from an unseen module, which may bind any name."""


def undefined(machine: Machine, name: str) -> Value:
    """The value of a name without one: like a parameter, it is presumed from its name and use."""
    if name == UNPARSED:
        machine.half_typed()
        return machine.unknown_from(Undefined(name))
    _check_bound(machine, name)
    meant = UNDEFINED if ANY_NAME in machine.remembered else machine.library.meant_by(machine, name)
    if meant is not UNDEFINED:
        return meant
    machine.trace.undefined.add(name)
    made = machine.unknown_from(Undefined(name), ("name", name), data=machine.library.is_option(machine, name))
    machine.library.bound(machine, name, made)
    return made


def _check_bound(machine: Machine, name: str) -> None:
    """Raise in the interpreted program if a name is a variable that is bound in branches only.

    In a module that holds only within the same loop: other cells or files may bind the rest.
    """
    frame = machine.frame
    if frame.scope.transparent or (frame.scope.redirected and name in frame.scope.redirected):
        return
    if frame.function is not None:
        if name in _bound_in_branches(frame.function.node):
            message = f"cannot access local variable '{name}' where it is not associated with a value"
            raise machine.error("UnboundLocalError", message)
        return
    around = machine.trace.loops.get(frame.loops[0].number) if frame.loops else None
    if around is not None and name in _bound_in_branches(around):
        raise machine.error("NameError", f"name '{name}' is not defined")


@noted
def _bound_in_branches(body: ast.AST) -> frozenset[str]:
    """The variables of a function or loop whose every assignment is under an `if`."""
    inside = nodes(body, outside=SCOPES)
    bound = {each.id for each in inside if _is_store(each)}  # type: ignore[attr-defined]
    always = {each.id for each in nodes(body, outside=(*SCOPES, ast.If)) if _is_store(each)}  # type: ignore[attr-defined]
    return frozenset(bound - always - _bound_otherwise(inside))


def _is_store(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _bound_otherwise(inside: list[ast.AST]) -> set[str]:
    """The names that parameters, imports, definitions, patterns and handlers bind, or that belong to another scope."""
    found: set[str] = set()
    for each in inside:
        match each:
            case ast.arg(arg=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add((other or name).partition(".")[0])
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                found.add(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                found.add(name)
    return found
