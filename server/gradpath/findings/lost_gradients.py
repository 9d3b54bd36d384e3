"""Gradients that `torch.autograd.grad` returns, and that the program throws away."""

from __future__ import annotations

import ast

from gradpath.findings.gradient_flow import looks_at_gradients
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.syntax import ancestry, statement_of
from gradpath.interpreter.events import BackwardRan, Stepped
from gradpath.interpreter.trace import Trace, once


@once
def lost_gradients(trace: Trace) -> list[BackwardRan]:
    """What asks for gradients and does nothing with them before an optimizer steps by them; a hook may take them."""
    asked = [run for run in trace.of(BackwardRan) if not run.call.accumulates]
    if not asked or not trace.of(Stepped) or looks_at_gradients(trace):
        return []
    found = (each for each in asked if _is_thrown_away(trace, each) and not is_expected(trace, each.site.node))
    return [each for each in found if any(_needs(trace, step, each) for step in trace.of(Stepped))]


def _needs(trace: Trace, step: Stepped, run: BackwardRan) -> bool:
    """True if a later step has, or may have, weights of which the gradients were asked for."""
    weights = {id(each) for each in reached_leaves(run) if each.is_weight}
    has = not weights.isdisjoint(map(id, step.held)) if step.known else bool(weights)
    return has and trace.place_of(step) > trace.place_of(run)


def _is_thrown_away(trace: Trace, run: BackwardRan) -> bool:
    statement = statement_of(trace, run.site.node)
    return isinstance(statement, ast.Expr) and statement.value is run.site.node


def is_expected(trace: Trace, call: ast.AST) -> bool:
    """True if a call may be there to see it fail."""
    return any(_expects(each) for each in ancestry(trace, call))


def _expects(block: ast.AST) -> bool:
    """True if the code of a block may be meant to fail: it is a `try`, or a `with pytest.raises`."""
    if isinstance(block, (ast.With, ast.AsyncWith)):
        return any("raises" in ast.dump(item.context_expr) for item in block.items)
    return isinstance(block, ast.Try)
