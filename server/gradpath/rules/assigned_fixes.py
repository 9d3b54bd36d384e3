"""Keeping the value alone where an attribute gets it: `self.last = out` becomes `self.last = out.detach()`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.interpreter.trace import Bound, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.report import Source
from gradpath.rules.syntax import statement_of

MOST = 3
"""Assignments that one fix changes."""


def assigned_alone(trace: Trace, source: Source, entered: Iterable[Node]) -> Iterator[Fix]:
    """Detach at the assignments that keep what a later call enters the spent graph by."""
    nodes = list(dict.fromkeys(entered))
    changes: dict[ast.stmt, tuple[Edit, ...]] = {}
    names: dict[str, int] = {}
    for node in nodes:
        bound = _assignment(trace, node)
        if bound is None:
            return
        event, statement = bound
        document = source.document(event.site)
        changes[statement] = edits.append(document, statement.value, ".detach()")
        names[edits.flat(document, statement.targets[0])] = statement.lineno
    if 0 < len(changes) <= MOST and len(names) == len(changes):
        every = tuple(edit for each in changes.values() for edit in each)
        repair = Repair(Way.ASSIGN_VALUES, tuple(names), tuple(names.values()))
        yield Fix.by(repair, Safety.SAFE, every, preferred=True)


def _assignment(trace: Trace, node: Node) -> tuple[Bound, ast.Assign] | None:
    """Where an attribute gets what a node made."""
    for event in trace.of(Bound):
        if event.tensor is not None and event.tensor.node is node:
            statement = statement_of(trace, event.site.node)
            match statement:
                case ast.Assign(targets=[ast.Attribute(attr=name)]) if name == event.name:
                    kept = _is_always_tensor(trace, statement)
                    return (event, statement) if kept else None
    return None


def _is_always_tensor(trace: Trace, statement: ast.stmt) -> bool:
    """Whether each run of an assignment gave a tensor to its target."""
    nodes = set(ast.walk(statement))
    given = [each for each in trace.of(Bound) if each.site.node in nodes and each.tensor is not None]
    return len(given) >= trace.visits.get(statement, 0)
