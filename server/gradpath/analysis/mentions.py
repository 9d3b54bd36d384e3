"""What definitions mention: names, calls, methods, and whether they do anything that a rule could speak of."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from gradpath.analysis.inplace_writes import is_without_grad
from gradpath.overlays.presumed.roles import role_of_name, steps_along
from gradpath.source.nodes import Noted, last_name, nodes
from gradpath.support.fast_dataclasses import dataclass

TELLING = frozenset({"backward", "grad", "zero_grad", "manual_backward", "retain_grad"})
"""Attributes whose presence makes a function worth entering; so does a call of `step` where gradients are on.

So does one that hands an optimizer and a loss on: `update(self.optimizer, loss)`; and `grad(u, x)` by its own name.
"""


@dataclass(frozen=True, slots=True)
class Mentions:
    """The mentions in a definition: the names that it reads, those that it calls, and the methods that it calls.

    `own` are the methods that it calls on `self`; `tells` says that it is relevant itself.
    """

    names: frozenset[str]
    called: frozenset[str]
    methods: frozenset[str]
    own: frozenset[str]
    tells: bool


_known: Noted[Mentions] = Noted("_entries_known")


def mentions(node: ast.AST) -> Mentions:
    """The mentions in a definition or another statement."""
    known = _known.get(node)
    if known is None:
        known = _known[node] = _mentioned(node)
    return known


def take_over(node: ast.AST, before: ast.AST) -> None:
    """Transfer what is noted of `before` to the node of the same text in a newer tree."""
    known = _known.get(before)
    if known is not None:
        _known[node] = known


def _mentioned(node: ast.AST) -> Mentions:
    names: set[str] = set()
    called: set[str] = set()
    methods: set[str] = set()
    own: set[str] = set()
    tells = steps = False
    for each in nodes(node):
        kind = type(each)
        if kind is ast.Name:
            names.add(each.id)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            tells = tells or each.attr in TELLING  # type: ignore[attr-defined]
        elif kind is ast.Call:
            callee: ast.expr = each.func  # type: ignore[attr-defined]
            tells = tells or _hands_on_training(each)  # type: ignore[arg-type]
            if isinstance(callee, ast.Name):
                called.add(callee.id)
                tells = tells or callee.id == "grad"
            elif isinstance(callee, ast.Attribute):
                methods.add(callee.attr)
                steps = steps or (callee.attr == "step" and _may_train(callee.value))
                if isinstance(callee.value, ast.Name) and callee.value.id == "self":
                    own.add(callee.attr)
    if steps and not tells:
        tells = not (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_without_grad(node))
    return Mentions(frozenset(names), frozenset(called), frozenset(methods), frozenset(own), tells)


def joined(parts: Collection[Mentions]) -> Mentions:
    """The mentions in several definitions together."""
    none = frozenset[str]()
    return Mentions(
        none.union(*(each.names for each in parts)),
        none.union(*(each.called for each in parts)),
        none.union(*(each.methods for each in parts)),
        none.union(*(each.own for each in parts)),
        any(each.tells for each in parts),
    )


def parts_of(statement: ast.stmt) -> Sequence[ast.AST]:
    """The units that are examined: the methods of a class and the rest of it, or the statement as a whole."""
    if not isinstance(statement, ast.ClassDef):
        return (statement,)
    return (*statement.bases, *statement.keywords, *statement.decorator_list, *statement.body)


def is_telling(node: ast.stmt) -> bool:
    """True if a function, or a statement, does anything that a rule could speak of: a backward, a step, a gradient."""
    return mentions(node).tells


def _may_train(stepping: ast.expr) -> bool:
    """True if an object with a `step` may be an optimizer; companions of one have one, too, as may `self`."""
    name = last_name(stepping)
    return name != "self" and not steps_along(name)


def _hands_on_training(call: ast.Call) -> bool:
    """True if a call gets an optimizer and a loss, like a helper that clears, runs backward and steps."""
    names = [last_name(each) for each in (*call.args, *(keyword.value for keyword in call.keywords))]
    return any("loss" in each for each in names) and any(role_of_name(each) == "optimizer" for each in names)
