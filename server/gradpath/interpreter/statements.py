"""Executing statements. A body is a host generator: it yields where the interpreted program yields."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter import classes, loops, matching
from gradpath.interpreter.assignment import assign, augmented, delete
from gradpath.interpreter.bounds import TOO_MUCH
from gradpath.interpreter.budget import Exhausted
from gradpath.interpreter.defining import define
from gradpath.interpreter.doubt import may_leave_gradients_off, survive
from gradpath.interpreter.endings import BREAK, CONTINUE, Raised, Returned, Signal, Steps
from gradpath.interpreter.events import Discarded, Switched
from gradpath.interpreter.exceptions import run_assert, run_raise, run_try
from gradpath.interpreter.expressions import evaluate, make_function, settled
from gradpath.interpreter.idle import Arms, arms_of, decides_training, leaves, speaks_of_gradients
from gradpath.interpreter.iteration import Iteration, iterate
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.modules import Module
from gradpath.interpreter.origins import Undefined
from gradpath.interpreter.unbound import ANY_NAME
from gradpath.interpreter.values import Arguments, Function, Object, Unknown, Value
from gradpath.source.nodes import noted
from gradpath.support.traversal import reachable


def run_block(machine: Machine, statements: Sequence[ast.stmt]) -> Steps:
    """Execute statements until one signals; an error of autograd becomes one of the program, at its statement."""
    depth = len(machine.frame.loops)
    for statement in statements:
        machine.step(statement)
        machine.node = statement
        try:
            if machine.frame.is_generator and not isinstance(statement, _BODIES):
                yield from _suspend(machine, statement)
            simple = _SIMPLE.get(type(statement))
            if simple is not None:
                signal = _whole(machine, simple, statement)
            else:
                compound = _COMPOUND.get(type(statement))
                signal = None if compound is None else (yield from compound(machine, statement))
        except AutogradError as error:
            if not machine.autograd.is_mended(machine.site()):
                raise machine.translated(error) from None
            _go_on(machine, statement, machine.unknown("result of what is mended"))
            signal = None
        except Raised as raised:
            _go_on(machine, statement, survive(machine, raised))
            del machine.frame.loops[depth:]
            signal = None
        if signal is not None:
            return signal
    return None


def _go_on(machine: Machine, statement: ast.stmt, instead: Value) -> None:
    """End a statement whose exception is not certain: what it would have bound is unknown, unless it is bound."""
    for node in _own_targets(statement):
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                machine.frame.scope.set(each.id, instead)


def _own_targets(statement: ast.stmt) -> Sequence[ast.expr]:
    match statement:
        case ast.Assign(targets=targets):
            return targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            return [target]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.optional_vars for item in items if item.optional_vars is not None]
    return []


def _whole(machine: Machine, execute: Callable[[Machine, Any], Signal], statement: ast.stmt) -> Signal:
    """Execute a simple statement; where it is too much, what it gives is unknown, and the next one follows."""
    budget, frame = machine.budget, machine.frame
    scope = frame.scope
    before = budget.begin()
    try:
        return execute(machine, statement)
    except TOO_MUCH:
        machine.frame, machine.node, frame.scope = frame, statement, scope
        return _given_up(machine, statement)
    finally:
        budget.end(before)


def _given_up(machine: Machine, statement: ast.stmt) -> Signal:
    machine.give_up(statement)
    unknown = machine.unknown(GIVEN_UP)
    targets: Sequence[ast.expr] = ()
    match statement:
        case ast.Return():
            return Returned(unknown)
        case ast.Raise():
            raise Raised(unknown, machine.site())
        case ast.Assign():
            targets = statement.targets
        case ast.AnnAssign() | ast.AugAssign():
            targets = (statement.target,)
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                machine.bind(alias.asname or alias.name.partition(".")[0], unknown)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            machine.frame.scope.set(statement.name, unknown)
    for target in targets:
        assign(machine, target, unknown)
    return None


GIVEN_UP = "statement that takes too much"
"""Why what a statement gives is unknown where working it out is not worth its while."""


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
            yield from host  # Values that are sent to this generator are passed to the other one.
        else:
            for item in host:  # noqa: UP028 - an iterator takes nothing that is sent.
                yield item
        machine.frame.sent[node] = value.returned[0] if isinstance(value, Iteration) and value.returned else None
    return None


@noted
def _yields(statement: ast.stmt) -> list[ast.Yield | ast.YieldFrom]:
    """The `yield`s in the expressions of a statement, in order."""
    ends = (ast.Yield, ast.YieldFrom, ast.Lambda, ast.GeneratorExp)
    starts: list[ast.AST] = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
    every = reachable(starts, lambda node: () if isinstance(node, ends) else ast.iter_child_nodes(node))
    found = (node for node in every if isinstance(node, (ast.Yield, ast.YieldFrom)))
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


# Simple statements


def _expression(machine: Machine, node: ast.Expr) -> Signal:
    value = evaluate(machine, node.value)
    if isinstance(node.value, (ast.Call, ast.BinOp)) and isinstance(value, Object):
        machine.node = node.value
        machine.emit(Discarded(value, machine.site()))
    elif isinstance(node.value, ast.Compare):
        machine.node = node.value
        machine.library.compared(machine, node.value)
    elif isinstance(node.value, (ast.Name, ast.Attribute)) and _is_half_a_name(value):
        machine.half_typed()
    return None


def _is_half_a_name(value: Value) -> bool:
    """True if an expression statement is an unknown name alone, such as `loss.back`: a call that is being typed."""
    if not isinstance(value, Unknown) or value.owner is not None:
        return False
    return not value.label or isinstance(value.origin, Undefined)


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
    return None


def _return(machine: Machine, node: ast.Return) -> Signal:
    value = None if node.value is None else evaluate(machine, node.value)
    machine.returned = node
    return Returned(value)


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
            elif isinstance(module, Unknown):
                machine.remember(ANY_NAME, module)
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
    """Apply decorators from the bottom up; an unknown one is presumed to give back what it decorates.

    One that was handed a model or an optimizer trains: what it gives may do anything with what the function returns.
    """
    for node in reversed(decorators):
        decorator = evaluate(machine, node)
        machine.node = node
        if isinstance(decorator, Unknown) and machine.library.trains(decorator):
            value = machine.call(decorator, Arguments([value]))
            continue
        result = decorator if isinstance(decorator, Unknown) else _wrapped(machine, decorator, value)
        if not isinstance(result, Unknown):
            value = result
        elif isinstance(value, Function):
            value.handed_over = True
    return value


WRAPPING = 100
"""Statements that a decorator may execute. One that needs more writes documentation, as a rule: it is not followed."""


def _wrapped(machine: Machine, decorator: Value, value: Value) -> Value:
    node = getattr(decorator, "node", None)
    if node is not None and node in machine.long_decorators:
        return machine.unknown("long decorator")
    budget = machine.budget
    left = budget.steps
    budget.steps = allowed = min(left, WRAPPING)
    try:
        return machine.call(decorator, Arguments([value]))
    except Exhausted:
        if allowed == left:
            raise
        if node is not None:
            machine.long_decorators.add(node)
        return machine.unknown("long decorator")
    finally:
        budget.steps += left - allowed


def _pass(machine: Machine, node: ast.stmt) -> Signal:
    return None


# Compound statements


def _if(machine: Machine, node: ast.If) -> Steps:
    around = machine.body
    in_module = isinstance(around, ast.Module) and machine.frame.path == machine.file
    at_hand = machine.frame.function is not None or in_module
    arms = arms_of(node, around if at_hand else None)
    if not arms.tells:
        return (yield from _taken(machine, node, arms))
    with machine.aside((*node.body, *node.orelse)):
        return (yield from _taken(machine, node, arms))


def _taken(machine: Machine, node: ast.If, arms: Arms) -> Steps:
    """Decide which arm of a condition to take, and execute it."""
    function = machine.frame.function
    idle = arms.idle and not may_leave_gradients_off(machine)
    path, before = machine.path, (machine.path.speaking, machine.path.training)
    path.training = decides_training(node)
    path.speaking = speaks_of_gradients(node, making=function is not None and function.name == "__init__")
    asked, unlikely = path.asked, path.unlikely
    try:
        holds = _condition(machine, node.test, arms.likely, idle)
    finally:
        path.speaking, path.training = before
    arm, other = (node.body, node.orelse) if holds else (node.orelse, node.body)
    if path.asked == asked:
        return (yield from run_block(machine, arm))
    frame = machine.frame
    frame.ways.append(path.unlikely == unlikely)
    try:
        return (yield from run_block(machine, arm))
    finally:
        frame.ways.pop()
        frame.doubtful = frame.doubtful or leaves(other)


def _condition(machine: Machine, node: ast.expr, likely: bool, idle: bool) -> bool:
    """True if the condition of an `if` holds; where one part of it settles that, the others are not asked."""
    if not isinstance(node, ast.BoolOp):
        return machine.decide(settled(machine, node), node, likely=likely, idle=idle)
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
    recorded = machine.autograd.grad_enabled
    manager = settled(machine, item.context_expr)
    machine.node = item.context_expr
    enter, leave = classes.context(machine, manager)
    value = enter()
    if recorded and not machine.autograd.grad_enabled:
        machine.emit(Switched(False, machine.site(), block=True))
    if item.optional_vars is not None:
        assign(machine, item.optional_vars, value)
    try:
        with machine.frame.catching(partial(classes.swallows, manager)):
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


def _class(machine: Machine, node: ast.ClassDef) -> Steps:
    yield from ()
    made = define(machine, node)
    machine.frame.scope.set(node.name, decorated(machine, node.decorator_list, made))
    return None


def _match(machine: Machine, node: ast.Match) -> Steps:
    subject = settled(machine, node.subject)
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
    ast.Raise: run_raise,
    ast.Delete: delete,
    ast.Assert: run_assert,
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
    ast.Try: run_try,
    ast.ClassDef: _class,
    ast.Match: _match,
}
if hasattr(ast, "TryStar"):
    _COMPOUND[ast.TryStar] = run_try
