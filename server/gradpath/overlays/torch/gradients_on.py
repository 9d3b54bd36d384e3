"""Whether gradients are on for who calls what is entered, as a backward shows, be it one that comes later."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.interpreter.events import BackwardRan
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.scope import Frame
from gradpath.interpreter.values import Function, Instance
from gradpath.source.index import inside
from gradpath.source.nodes import Definition, noted


def has_gradients_on(machine: Machine) -> bool:
    """True if nothing unseen has switched gradients off: a script runs, or a backward shows that they are on.

    It has run, or what is entered comes to it whatever flags it is given, as a loop does that acts before it learns.
    """
    entry = machine.trace.entry
    if isinstance(entry, ast.Module) or machine.trace.of(BackwardRan):
        return True
    frame: Frame | None = machine.frame
    while frame is not None and (frame.function is None or frame.function.node is not entry):
        frame = frame.parent
    if frame is None or not isinstance(entry, Definition):
        return False
    machine.trace.goes_back = any(_is_backward(each) or _goes_back(frame, each) for each in _calls_of(entry))
    return machine.trace.goes_back


def _goes_back(frame: Frame, call: ast.Call) -> bool:
    """True for a call of a method that goes back, of an object that a variable holds: `agent.learn()`."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr=method):
            holder = frame.scope.get(name)
            found = holder.cls.find(method) if isinstance(holder, Instance) else None
            if isinstance(found, Function) and isinstance(found.node, Definition) and not found.node.decorator_list:
                return any(map(_is_backward, _calls_of(found.node)))
    return False


def _is_backward(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "backward"


@noted
def _calls_of(function: Definition) -> Sequence[ast.Call]:
    """The calls that a function comes to whatever flags it is given, in some iteration of its loops."""
    return [*_calls_in(function.body)]


def _calls_in(block: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    for statement in block:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                if _is_of_progress(test):
                    yield from (*_calls_in(body), *_calls_in(orelse))
                elif isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break):
                    return
            case ast.For(body=body) | ast.While(body=body) | ast.With(body=body) | ast.Try(body=body):
                yield from _calls_in(body)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case _:
                yield from inside(statement, ast.Call)


def _is_of_progress(test: ast.expr) -> bool:
    """True for a condition on quantities, which changes as a loop goes on: `step >= warmup`, `step % 4 == 0`."""
    match test:
        case ast.BoolOp(values=values):
            return all(map(_is_of_progress, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_of_progress(operand)
        case ast.Compare(ops=operators):
            ordered = all(isinstance(each, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for each in operators)
            return ordered or bool(_remainders(test))
    return bool(_remainders(test))


def _remainders(test: ast.expr) -> list[ast.BinOp]:
    return [each for each in inside(test, ast.BinOp) if isinstance(each.op, ast.Mod)]
