"""Statements that are about exceptions: `raise`, `assert` and `try`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from gradpath.interpreter.doubt import CAUSE, is_certain_raise
from gradpath.interpreter.endings import Raised, Signal, Steps
from gradpath.interpreter.idle import trains
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Made
from gradpath.interpreter.scope import Frame
from gradpath.interpreter.values import Arguments, Class, Instance
from gradpath.source.nodes import nodes, statements


def run_raise(machine: Machine, node: ast.Raise) -> Signal:
    """Raise; where it is not certain that the program comes here, the statement is passed over."""
    if node.exc is None:
        handling = machine.frame.handling
        current = handling[-1] if handling else None
        if isinstance(current, Raised):
            raise current
        raise machine.error("RuntimeError", "No active exception to reraise")
    value = machine.evaluate(node.exc)
    machine.node = node
    if isinstance(value, Class):
        value = machine.call(value, Arguments())
    certain = is_certain_raise(machine, value.cls if isinstance(value, Instance) else None)
    machine.frame.passed_over = machine.frame.passed_over or not certain
    raise Raised(value, machine.site(), certain=certain)


def run_assert(machine: Machine, node: ast.Assert) -> Signal:
    """Go on as if the assertion held, unless it is known to fail."""
    if not _assume(machine, node.test, True):
        raise machine.error("AssertionError", "")
    return None


def _assume(machine: Machine, test: ast.expr, wanted: bool) -> bool:
    """Go on as if a condition were true, or false, part by part; False where it is known not to be so."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _assume(machine, operand, not wanted)
        case ast.BoolOp(op=operator, values=parts):
            agree = all if isinstance(operator, ast.And) == wanted else any
            return agree(_assume(machine, each, wanted) for each in parts)
    return machine.assume(machine.evaluate(test), wanted)


def run_try(machine: Machine, node: ast.Try) -> Steps:
    """Execute a `try`; after an exception its first matching handler runs."""
    try:
        signal = yield from _try_body(machine, node)
    except Raised as raised:
        override = yield from machine.run_block(node.finalbody)
        if override is not None:
            machine.failed(raised, caught=True)
            return override
        raise raised from None
    override = yield from machine.run_block(node.finalbody)
    return signal if override is None else override


def _try_body(machine: Machine, node: ast.Try) -> Steps:
    depth, before = len(machine.frame.loops), machine.unknown_count
    try:
        with machine.frame.catching(partial(_waits, machine, machine.frame, node.handlers)):
            signal = yield from machine.run_block(node.body)
    except Raised as raised:
        del machine.frame.loops[depth:]
        handler = next((each for each in node.handlers if _handles(machine, each, raised)), None)
        if handler is None:
            raise raised from None
        hides = _hides_training(machine, node, raised)
        if hides or not machine.forgives:
            machine.failed(raised, caught=True, hidden=hides)
        machine.frame.handling.append(raised)
        if handler.name is not None:
            machine.frame.scope.set(handler.name, raised.value)
        try:
            signal = yield from machine.run_block(handler.body)
        finally:
            machine.frame.handling.pop()
        if machine.forgives and not hides:
            machine.failed(raised, caught=True)
        return signal
    if signal is None and node.orelse and not _goes_through(machine, node, machine.unknown_count > before):
        return (yield from machine.run_block(node.handlers[0].body))
    if signal is None:
        signal = yield from machine.run_block(node.orelse)
    return signal


def _hides_training(machine: Machine, node: ast.Try, raised: Raised) -> bool:
    """True if a handler in a loop catches an error of autograd, after which nothing is trained any more."""
    if raised.error is None or not machine.loops():
        return False
    function = None if raised.frame is None else raised.frame.function
    around = function.node.body if function is not None and not isinstance(function.node, ast.Lambda) else node.body
    return trains([each for each in statements(around) if each.lineno > raised.site.line], ("step",))


def _goes_through(machine: Machine, node: ast.Try, unseen: bool) -> bool:
    """True if the `else` of a `try` follows: where the body calls something `unseen`, that may raise, and decides."""
    calls = any(isinstance(each, ast.Call) for statement in node.body for each in nodes(statement))
    if not (unseen and calls and node.handlers):
        return True
    if node.handlers[0].name is not None:
        machine.frame.scope.set(node.handlers[0].name, machine.unknown(CAUSE))
    place = ("try", node, machine.loops())
    return machine.decide(machine.unknown("try that may raise", place, made=Made.NUMBER), node)


def _waits(machine: Machine, frame: Frame, handlers: Sequence[ast.ExceptHandler], cls: Class) -> bool:
    """True if a handler names a class of exceptions, or a base of it that is not the base of nearly all."""
    before = machine.frame, machine.node
    machine.frame = frame
    try:
        kinds = [machine.evaluate(each.type) for each in handlers if each.type is not None]
    finally:
        machine.frame, machine.node = before
    named = [kind for each in kinds for kind in (each if isinstance(each, tuple) else (each,))]
    return any(isinstance(kind, Class) and kind.name not in _BROAD and cls.is_subclass(kind) for kind in named)


_BROAD = frozenset({"BaseException", "Exception"})


def _handles(machine: Machine, handler: ast.ExceptHandler, raised: Raised) -> bool:
    if handler.type is None:
        return True
    kinds = machine.evaluate(handler.type)
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if not isinstance(kind, Class) or not isinstance(raised.value, Instance):
            return True
        if raised.value.cls.is_subclass(kind):
            return True
    return False
