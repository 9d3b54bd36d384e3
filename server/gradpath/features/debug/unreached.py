"""Statements that no path came to, and why."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from gradpath.features.debug import Skipped
from gradpath.interpreter.events import Decision
from gradpath.interpreter.trace import Trace
from gradpath.source.nodes import Definition, nodes
from gradpath.support.fast_dataclasses import dataclass

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


@dataclass(frozen=True, slots=True)
class _Paths:
    """What all paths of an entry point reached, decided, and ended with."""

    visited: Collection[ast.AST]
    decisions: Sequence[Decision]
    failed: Mapping[ast.AST, int]
    given_up: Collection[ast.AST]
    truncated: bool


def unreached(body: Sequence[ast.stmt], traces: Sequence[Trace]) -> tuple[Skipped, ...]:
    """The statements of a block, and of those in it, that none of these paths reached; nested functions are left out.

    Consecutive ones are reported together.
    """
    paths = _Paths(
        {node for trace in traces for node in trace.visits},
        [decision for trace in traces for decision in trace.decisions],
        {frame.node: frame.line for trace in traces for failure in trace.failures() for frame in failure.site.frames()},
        {node for trace in traces for node in trace.given_up},
        any(trace.truncated for trace in traces),
    )
    return tuple(_in_block(body, paths, "the code before it did not come to its end"))


def is_entered(function: Definition, visited: Collection[ast.AST]) -> bool:
    """True if a path came to a statement of a function's body."""
    return any(statement in visited for statement in function.body)


def _in_block(body: Sequence[ast.stmt], paths: _Paths, reason: str) -> Iterator[Skipped]:
    for index, statement in enumerate(body):
        if statement not in paths.visited:
            if index:
                reason = _what_ended(body[index - 1], paths)
            last = next((each for each in body[index:] if each in paths.visited), None)
            rest = body[index:] if last is None else body[index : body.index(last)]
            yield Skipped(statement.lineno, rest[-1].end_lineno or rest[-1].lineno, reason)
            if last is not None:
                yield from _in_block(body[body.index(last) :], paths, reason)
            return
        for block, why in _blocks(statement, paths):
            yield from _in_block(block, paths, why)


def _what_ended(before: ast.stmt, paths: _Paths) -> str:
    """Why nothing came to the statement that follows this one."""
    inside = nodes(before)
    if isinstance(before, _LEAVING):
        return f"it follows the `{type(before).__name__.lower()}` on line {before.lineno}"
    raising = next((paths.failed[each] for each in inside if each in paths.failed), None)
    if raising is not None:
        return f"line {raising} raises"
    if any(each in paths.given_up for each in inside) or paths.truncated:
        return f"what begins on line {before.lineno} is too much to be followed"
    return f"what begins on line {before.lineno} returns, raises or leaves the loop"


def _blocks(statement: ast.stmt, paths: _Paths) -> Iterator[tuple[Sequence[ast.stmt], str]]:
    """The blocks of a statement, each with why it may not have been entered."""
    line = statement.lineno
    match statement:
        case ast.If(test=test):
            yield statement.body, _untaken(test, paths, "holds")
            yield statement.orelse, _untaken(test, paths, "does not hold")
        case ast.While(test=test):
            yield statement.body, _untaken(test, paths, "holds")
            yield statement.orelse, f"the loop on line {line} never ends by its condition"
        case ast.For() | ast.AsyncFor():
            yield statement.body, f"the loop on line {line} has nothing to go over"
            yield statement.orelse, f"the loop on line {line} never comes to its end"
        case ast.With() | ast.AsyncWith():
            yield statement.body, _what_ended(statement, paths)
        case ast.Try():
            yield statement.body, _what_ended(statement, paths)
            for handler in statement.handlers:
                yield handler.body, f"the `try` on line {line} is not seen to raise it"
            yield statement.orelse, f"the `try` on line {line} raises"
            yield statement.finalbody, _what_ended(statement, paths)
        case ast.Match():
            for case in statement.cases:
                yield case.body, f"the `match` on line {line} goes another way"
        case _:
            return


def _untaken(test: ast.expr, paths: _Paths, way: str) -> str:
    """Why no path took the way on which a condition holds, or does not."""
    own = {*nodes(test)}
    if any(each.node in own for each in paths.decisions):
        return f"no path was tried on which the condition on line {test.lineno} {way}"
    return f"the condition on line {test.lineno} never {'holds' if way == 'holds' else 'fails'}"
