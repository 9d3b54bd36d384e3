"""Copies of trained networks that stay as they are, while another copy follows the network that it was made of.

One of two target networks that was forgotten when the others are updated. A copy that stands alone may be a reference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.aliases import memory_of, whole_of
from gradpath.autograd.tensor import Tensor, together
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted
from gradpath.findings.syntax import assigned_to, class_of, statement_of
from gradpath.interpreter.events import BackwardRan, Built, Mutated, Replaced, Site, Stepped
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import variables
from gradpath.source.nodes import last_name, place_in_text, statements
from gradpath.support.fast_dataclasses import dataclass

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A copy, made at `site`, of a network that is trained; `follows` is where it is written, if it is.

    `operands` are the constants that its values went into, by identity.
    """

    site: Site
    follows: Site | None
    operands: frozenset[int]


def left_behind(trace: Trace, source: Source) -> Iterator[Report]:
    """The copies of trained networks that nothing writes, though one is written that went into the same constant."""
    found = targets(trace)
    following = [each for each in found.values() if each.follows is not None]
    for node, target in found.items() if following and trace.is_whole else ():
        statement = statement_of(trace, node)
        name = assigned_to(statement)
        beside = (each.follows for each in following if each.operands & target.operands)
        followed = next(beside, None) if target.follows is None and name else None
        if followed is not None and _is_run_through(trace, source, name, statement):
            yield Report(
                target.site,
                f"`{name}` stays the copy that it is: nothing updates it",
                (
                    Step(target.site, "copies a network that is trained"),
                    Step(lifted(followed, followed), "updates another copy"),
                ),
                help=f"update `{name}` as well, where the other one is updated",
            )


@once
def targets(trace: Trace) -> dict[ast.AST, Target]:
    """By the place of the copy, the copies of trained networks that a loss takes values of, and no gradient reaches."""
    trained = {id(each) for step in trace.of(Stepped) for each in (*step.updated, *step.parameters, *step.unseen)}
    reached = {id(leaf) for ran in trace.of(BackwardRan) for leaf in reached_leaves(ran)}
    written = {id(whole_of(memory_of(each.tensor))): each.site for each in reversed(_writes(trace))}
    found: dict[ast.AST, Target] = {}
    for operand, leaf in _copies(trace):
        if id(leaf.copied) in trained and id(leaf) not in reached and isinstance(leaf.origin, Site):
            before = found.get(leaf.origin.node)
            follows = written.get(id(leaf)) if before is None or before.follows is None else before.follows
            operands = frozenset({id(operand)}) | (frozenset() if before is None else before.operands)
            found[leaf.origin.node] = Target(leaf.origin, follows, operands)
    return found


def _copies(trace: Trace) -> Iterator[tuple[Tensor, Tensor]]:
    """The parameters of copies whose values went into a constant that an operation with a graph was given."""
    given = {id(each): each for event in trace.of(Built) for each in event.operands if not each.requires_grad}
    if not any(map(_is_of_copy, together(given.values()))):
        return
    for operand in given.values():
        for tensor in filter(_is_of_copy, operand.lineage()):
            yield operand, whole_of(tensor)


def _is_of_copy(tensor: Tensor) -> bool:
    return tensor.is_parameter and tensor.copied is not None


def _writes(trace: Trace) -> list[Mutated | Replaced]:
    return [each for each in trace.events if isinstance(each, (Mutated, Replaced))]


def _is_run_through(trace: Trace, source: Source, name: str, own: ast.stmt | None) -> bool:
    """True if the path comes to each statement that speaks of a variable: none of another method updates it.

    Other classes have attributes of that name of their own.
    """
    last = name.rpartition(".")[2]
    ran = {place_in_text(each) for each in (*trace.visits, own)}
    owner = None if own is None else class_of(trace, own)
    for top in (each for tree in map(source.tree, source.documents) for each in tree.body):
        if isinstance(top, ast.ClassDef) and (owner is None or top.name != owner.name):
            continue
        for each in statements([top]):
            speaks = any(last_name(found) == last for found in variables(each))
            if speaks and not isinstance(each, _DEFINITIONS) and place_in_text(each) not in ran:
                return False
    return True
