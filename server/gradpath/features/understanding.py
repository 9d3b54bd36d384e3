"""How much of a document the analysis understood, and the causes of the rest."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.analysis.check import Analysis
from gradpath.render.report import Understood
from gradpath.support.traversal import reachable


def understanding(analysis: Analysis) -> Understood:
    """Count the statements that the likeliest path of an entry point reaches, and those where all is known.

    A number, a text or the like of which only the value is not known counts as known: no gradient goes through it. So
    does a value whose `Kind` is known: a batch of a loader has no graph, the result of a model has one.
    """
    reached: set[ast.AST] = set()
    unclear: set[ast.AST] = set()
    for trace in analysis.traces:
        reached.update(trace.visits)
        unclear.update(trace.unclear())
    # What was reached may lie in an imported file as well: only the document's own statements count.
    statements = [node for node in ast.walk(analysis.parsed.tree) if isinstance(node, ast.stmt) and node in reached]
    lost = sum(any(part in unclear for part in _own(statement)) for statement in statements)
    return Understood(len(statements), len(statements) - lost, analysis.unknowns)


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """A statement and what it evaluates itself: nothing of the statements in its body."""

    def own(node: ast.AST) -> Iterator[ast.AST]:
        return (child for child in ast.iter_child_nodes(node) if not isinstance(child, _BODIES))

    return reachable([statement], own)


_BODIES = (ast.stmt, ast.ExceptHandler, ast.match_case)
