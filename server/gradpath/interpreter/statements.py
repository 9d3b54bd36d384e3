"""Executing statements. A body is a host generator: it yields where the interpreted program yields."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from typing import Any

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter import classes, loops, matching
from gradpath.interpreter.assignment import assign, augmented, delete
from gradpath.interpreter.containers import Iteration, iterate
from gradpath.interpreter.defining import define
from gradpath.interpreter.expressions import evaluate, make_function
from gradpath.interpreter.idle import likely_and_idle, speaks_of_gradients
from gradpath.interpreter.machine import BREAK, CONTINUE, Exhausted, Machine, Raised, Returned, Signal, Steps
from gradpath.interpreter.modules import Module
from gradpath.interpreter.trace import Discarded
from gradpath.interpreter.values import (
    Arguments,
    Class,
    Descriptor,
    Function,
    Instance,
    Object,
    Unknown,
    Value,
)
from gradpath.source.nodes import Noted


def run_block(machine: Machine, statements: Sequence[ast.stmt]) -> Steps:
    """Execute statements until one signals; an error of autograd becomes one of the program, at its statement."""
    for statement in statements:
        machine.step(statement)
        machine.node = statement
        try:
            if machine.frame.is_generator and not isinstance(statement, _BODIES):
                yield from _suspend(machine, statement)
            simple = _SIMPLE.get(type(statement))
            if simple is not None:
                signal = simple(machine, statement)
            else:
                compound = _COMPOUND.get(type(statement))
                signal = None if compound is None else (yield from compound(machine, statement))
        except AutogradError as error:
            raise machine.translated(error) from None
        if signal is not None:
            return signal
    return None


_BODIES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With, ast.AsyncWith, ast.Try, ast.While)


def _suspend(machine: Machine, statement: ast.stmt) -> Steps:
    """Hand out what the `yield`s of a statement's own expressions yield, before the statement runs."""
    for node in _yields(statement):
        value = None if node.value is None else evaluate(machine, node.value)
        if isinstance(node, ast.Yield):
            machine.frame.sent[node] = yield value
            continue
        host, _ = iterate(machine, value)
        if isinstance(host, Generator):
            yield from host  # What is sent to this generator goes to the other one.
        else:
            for item in host:  # noqa: UP028 - an iterator takes nothing that is sent.
                yield item
        machine.frame.sent[node] = value.returned[0] if isinstance(value, Iteration) and value.returned else None
    return None


_known: Noted[list[ast.Yield | ast.YieldFrom]] = Noted("_statements_known")


def _yields(statement: ast.stmt) -> list[ast.Yield | ast.YieldFrom]:
    """The `yield`s in the expressions of a statement, in order; each statement is searched once."""
    known = _known.get(statement)
    if known is None:
        known = _known[statement] = _found(statement)
    return known


def _found(statement: ast.stmt) -> list[ast.Yield | ast.YieldFrom]:
    found: list[ast.Yield | ast.YieldFrom] = []
    todo: list[ast.AST] = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            found.append(node)
        elif not isinstance(node, (ast.Lambda, ast.GeneratorExp)):
            todo.extend(ast.iter_child_nodes(node))
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


# Simple statements


def _expression(machine: Machine, node: ast.Expr) -> Signal:
    value = evaluate(machine, node.value)
    if isinstance(node.value, ast.Call) and isinstance(value, Object):
        machine.node = node.value
        machine.emit(Discarded(value, machine.site()))
    elif isinstance(node.value, (ast.Name, ast.Attribute)) and _is_half_a_name(value):
        machine.half_typed()
    return None


def _is_half_a_name(value: Value) -> bool:
    """Whether nothing has a name that stands alone, such as `loss.back`: a call that is half typed."""
    return isinstance(value, Unknown) and value.owner is None and not value.label


def _assign(machine: Machine, node: ast.Assign) -> Signal:
    value = evaluate(machine, node.value)
    for target in node.targets:
        machine.node = node
        assign(machine, target, value)
    return None


def _annotated(machine: Machine, node: ast.AnnAssign) -> Signal:
    if node.value is not None:
        value = evaluate(machine, node.value)
        machine.node = node
        assign(machine, node.target, value)
    elif isinstance(node.target, ast.Name):
        classes.note_field(machine, node.target.id)
    return None


def _return(machine: Machine, node: ast.Return) -> Signal:
    return Returned(None if node.value is None else evaluate(machine, node.value))


def _raise(machine: Machine, node: ast.Raise) -> Signal:
    if node.exc is None:
        handling = machine.frame.handling
        current = handling[-1] if handling else None
        if isinstance(current, Raised):
            raise current
        raise machine.error("RuntimeError", "No active exception to reraise")
    value = evaluate(machine, node.exc)
    machine.node = node
    if isinstance(value, Class):
        value = machine.call(value, Arguments())
    raise Raised(value, machine.site())


def _assert(machine: Machine, node: ast.Assert) -> Signal:
    if not machine.assume(evaluate(machine, node.test)):
        raise machine.error("AssertionError", "")
    return None


def _global(machine: Machine, node: ast.Global) -> Signal:
    for name in node.names:
        machine.frame.scope.declare_global(name)
    return None


def _nonlocal(machine: Machine, node: ast.Nonlocal) -> Signal:
    for name in node.names:
        machine.frame.scope.declare_nonlocal(name)
    return None


def _import(machine: Machine, node: ast.Import) -> Signal:
    for alias in node.names:
        module = machine.library.module(machine, alias.name)
        if alias.asname is None:
            module = machine.library.module(machine, alias.name.partition(".")[0])
        machine.bind(alias.asname or alias.name.partition(".")[0], module)
    return None


def _import_from(machine: Machine, node: ast.ImportFrom) -> Signal:
    source = "." * node.level + (node.module or "")
    module = machine.library.module(machine, source)
    at_top = machine.frame.scope.outer is None
    for alias in node.names:
        if alias.name == "*":
            star = getattr(module, "star", None)
            if star is not None:
                for name, value in star(machine).items():
                    machine.bind(name, value)
        elif at_top and isinstance(module, Module):
            machine.bind(alias.asname or alias.name, module.late(machine, alias.name))
        else:
            machine.bind(alias.asname or alias.name, machine.attribute(module, alias.name))
    return None


def _function(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Signal:
    function = make_function(machine, node)
    if machine.frame.function is not None:
        machine.inner.setdefault(node, function)
    value = decorated(machine, node.decorator_list, function)
    if machine.inner.get(node) is function:
        machine.inner[node] = value
    machine.frame.scope.set(node.name, value)
    return None


def decorated(machine: Machine, decorators: Sequence[ast.expr], value: Value) -> Value:
    """Apply decorators from the bottom up; an unknown one is presumed to give back what it decorates."""
    for node in reversed(decorators):
        decorator = evaluate(machine, node)
        machine.node = node
        if isinstance(decorator, Unknown):
            continue
        result = _wrapped(machine, decorator, value)
        if not isinstance(result, Unknown):
            value = result
        elif isinstance(value, (Function, Class, Descriptor)):
            continue
    return value


WRAPPING = 100
"""Statements that a decorator may execute. One that needs more writes documentation, as a rule: it is not followed."""


def _wrapped(machine: Machine, decorator: Value, value: Value) -> Value:
    """What a decorator gives back."""
    node = getattr(decorator, "node", None)
    if node is not None and node in machine.long_decorators:
        return machine.unknown("long decorator")
    left = machine.steps
    machine.steps = allowed = min(left, WRAPPING)
    try:
        return machine.call(decorator, Arguments([value]))
    except Exhausted:
        if allowed == left:
            raise
        if node is not None:
            machine.long_decorators.add(node)
        return machine.unknown("long decorator")
    finally:
        machine.steps += left - allowed


def _pass(machine: Machine, node: ast.stmt) -> Signal:
    return None


# Compound statements


def _if(machine: Machine, node: ast.If) -> Steps:
    function = machine.frame.function
    around = machine.trace.entry if function is None else function.node
    at_hand = function is not None or (isinstance(around, ast.Module) and machine.frame.path == machine.file)
    likely, idle = likely_and_idle(node, around if at_hand else None)
    path, before = machine.path, machine.path.speaking
    path.speaking = speaks_of_gradients(node, making=function is not None and function.name == "__init__")
    try:
        holds = _condition(machine, node.test, likely, idle)
    finally:
        path.speaking = before
    if holds:
        return (yield from run_block(machine, node.body))
    return (yield from run_block(machine, node.orelse))


def _condition(machine: Machine, node: ast.expr, likely: bool, idle: bool) -> bool:
    """Whether the condition of an `if` holds; where one part of it settles that, the others are not asked."""
    if not isinstance(node, ast.BoolOp):
        return machine.decide(evaluate(machine, node), node, likely=likely, idle=idle)
    stops = isinstance(node.op, ast.Or)
    holds = not stops
    for each in node.values:
        unlikely_and = not stops and not likely and each is not node.values[-1]  # All but the last may well hold.
        holds = _condition(machine, each, likely or unlikely_and, idle)
        if holds == stops:
            break
    return holds


def _with(machine: Machine, node: ast.With | ast.AsyncWith) -> Steps:
    return (yield from _with_items(machine, node, 0))


def _with_items(machine: Machine, node: ast.With | ast.AsyncWith, index: int) -> Steps:
    if index == len(node.items):
        return (yield from run_block(machine, node.body))
    item = node.items[index]
    if machine.frame.is_generator:
        yield from _suspend(machine, ast.copy_location(ast.Expr(item.context_expr), node))
    manager = evaluate(machine, item.context_expr)
    machine.node = item.context_expr
    enter, leave = classes.context(machine, manager)
    value = enter()
    if item.optional_vars is not None:
        assign(machine, item.optional_vars, value)
    try:
        signal = yield from _with_items(machine, node, index + 1)
    except Raised as raised:
        if leave(raised):
            machine.failed(raised, caught=True)
            return None
        raise raised from None
    except BaseException:
        leave(None)
        raise
    machine.node = item.context_expr
    leave(None)
    return signal


def _try(machine: Machine, node: ast.Try) -> Steps:
    try:
        signal = yield from _try_body(machine, node)
    except Raised as raised:
        override = yield from run_block(machine, node.finalbody)
        if override is not None:
            machine.failed(raised, caught=True)
            return override
        raise raised from None
    override = yield from run_block(machine, node.finalbody)
    return signal if override is None else override


def _try_body(machine: Machine, node: ast.Try) -> Steps:
    depth = len(machine.frame.loops)
    try:
        signal = yield from run_block(machine, node.body)
    except Raised as raised:
        del machine.frame.loops[depth:]
        handler = next((each for each in node.handlers if _handles(machine, each, raised)), None)
        if handler is None:
            raise raised from None
        if not machine.forgives:
            machine.failed(raised, caught=True)
        machine.frame.handling.append(raised)
        if handler.name is not None:
            machine.frame.scope.set(handler.name, raised.value)
        try:
            signal = yield from run_block(machine, handler.body)
        finally:
            machine.frame.handling.pop()
        if machine.forgives:
            machine.failed(raised, caught=True)
        return signal
    if signal is None:
        signal = yield from run_block(machine, node.orelse)
    return signal


def _handles(machine: Machine, handler: ast.ExceptHandler, raised: Raised) -> bool:
    if handler.type is None:
        return True
    kinds = evaluate(machine, handler.type)
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if not isinstance(kind, Class) or not isinstance(raised.value, Instance):
            return True
        if raised.value.cls.is_subclass(kind):
            return True
    return False


def _class(machine: Machine, node: ast.ClassDef) -> Steps:
    yield from ()
    made = define(machine, node)
    machine.frame.scope.set(node.name, decorated(machine, node.decorator_list, made))
    return None


def _match(machine: Machine, node: ast.Match) -> Steps:
    subject = evaluate(machine, node.subject)
    for case in node.cases:
        if matching.matches(machine, case.pattern, subject, assign) and (
            case.guard is None or machine.decide(evaluate(machine, case.guard), case.guard)
        ):
            return (yield from run_block(machine, case.body))
    return None


def _for(machine: Machine, node: ast.For | ast.AsyncFor) -> Steps:
    return (yield from loops.run_for(machine, node, assign, run_block))


def _while(machine: Machine, node: ast.While) -> Steps:
    return (yield from loops.run_while(machine, node, run_block))


_SIMPLE: dict[type[ast.stmt], Callable[[Machine, Any], Signal]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Delete: delete,
    ast.Assert: _assert,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.Pass: _pass,
    ast.Break: lambda machine, node: BREAK,
    ast.Continue: lambda machine, node: CONTINUE,
}

_COMPOUND: dict[type[ast.stmt], Callable[[Machine, Any], Steps]] = {
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.ClassDef: _class,
    ast.Match: _match,
}
if hasattr(ast, "TryStar"):
    _COMPOUND[ast.TryStar] = _try
