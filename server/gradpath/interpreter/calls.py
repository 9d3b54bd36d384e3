"""Calling the program's own functions: binding arguments, running the body, generators."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from functools import partial
from weakref import ref

from gradpath.autograd.errors import AutogradError
from gradpath.autograd.provenance import OPEN
from gradpath.interpreter.budget import Exhausted
from gradpath.interpreter.containers import List
from gradpath.interpreter.doubt import CAUSE
from gradpath.interpreter.endings import Raised, Returned, Signal
from gradpath.interpreter.events import Event, Flagged
from gradpath.interpreter.expressions import evaluate
from gradpath.interpreter.iteration import Iteration
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.loops import never_ends
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Made
from gradpath.interpreter.scope import Frame, Scope
from gradpath.interpreter.statements import run_block
from gradpath.interpreter.values import UNDEFINED, Arguments, Function, Instance, Unknown, Value
from gradpath.source.nodes import is_generator, noted, statements

DEPTH = 40
"""The depth of nested calls after which the result of one more is unknown."""

RECURSION = 6
"""The most activations of one function in a chain of calls."""

BLIND_RECURSION = 2
"""The same where an argument is unknown: then each level can branch as if it were the first."""


def invoke(machine: Machine, function: Function, arguments: Arguments) -> Value:
    """Call a function of the program; a generator function gives an `Iteration` and runs nothing yet."""
    if machine.frame.depth >= DEPTH or _is_too_deep(machine, function, arguments):
        return machine.library.recursion(machine, function, arguments)
    if function.node in machine.inner:
        machine.inner[function.node] = None
    scope = Scope(function.scope)
    machine.surveyed.add(function.node)
    bind_arguments(machine, function, arguments, scope)
    machine.called.add(function.node)  # A call that does not fit shows nothing of the function.
    if function.node is machine.trace.entry and not machine.trace.given:
        machine.trace.given = dict(scope.variables)
    frame = _frame(machine, function, scope)
    if frame.is_generator:
        return _generator(machine, function, frame)
    if isinstance(function.node, ast.Lambda):
        return _in_frame(machine, frame, function.node.body)
    if frame.path != machine.file == machine.frame.path:
        return _run_elsewhere(machine, frame, function.node)
    return _run(machine, frame, function.node)


ELSEWHERE = 4
"""The part of what is left for other files that one call into them may use up: one in so many."""

LEAST = 300
"""Statements that it may execute in any case, at the cost of the checked file in the end."""


def _run_elsewhere(machine: Machine, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
    """Call a function of another file: what it does there must not cost what the checked file does afterwards.

    Where it was not followed to its end, or went on after an exception, nothing is frozen by it: it may have put parts
    into a model, as adapters are, that are trained. What it has switched off by then it may switch on again.
    """
    left, strayed, before = machine.budget.steps, machine.strayed, len(machine.trace.events)
    recorded = machine.autograd.grad_enabled
    machine.budget.steps = allowed = min(left, max(machine.elsewhere // ELSEWHERE, LEAST))
    try:
        return _run(machine, frame, node)
    except Exhausted:
        if allowed == left:
            raise
        machine.strayed += 1
        machine.autograd.grad_enabled = recorded
        return machine.unknown("call that takes long", made=Made.LONG)
    finally:
        if machine.strayed > strayed:
            _unfreeze(machine, machine.trace.events[before:])
        used = allowed - machine.budget.steps
        paid = min(used, machine.elsewhere)
        machine.elsewhere -= paid
        machine.budget.steps = left - (used - paid)


def _unfreeze(machine: Machine, events: Sequence[Event]) -> None:
    frozen = {id(event.tensor): event.tensor for event in events if isinstance(event, Flagged) and not event.value}
    for tensor in frozen.values():
        if not tensor.requires_grad:
            machine.autograd.set_requires_grad(tensor, True)


def _is_too_deep(machine: Machine, function: Function, arguments: Arguments) -> bool:
    depth = _depth_of(machine, function)
    if depth < BLIND_RECURSION:
        return False
    return depth >= RECURSION or any(isinstance(value, Unknown) for value in arguments.all())


def _depth_of(machine: Machine, function: Function) -> int:
    count = 0
    frame: Frame | None = machine.frame
    while frame is not None:
        if frame.function is not None and frame.function.node is function.node:
            count += 1
        frame = frame.parent
    return count


def _frame(machine: Machine, function: Function, scope: Scope) -> Frame:
    site = machine.site()
    before = machine.frame
    frame = Frame(function.path or before.path, scope, function, site)
    frame.parent = before
    frame.outer_loops = site.loops
    frame.depth = before.depth + 1
    frame.is_generator = is_generator(function.node)
    frame.owner = function.owner
    positional = [*function.node.args.posonlyargs, *function.node.args.args]
    if positional:
        frame.first_argument = scope.variables.get(positional[0].arg, UNDEFINED)
    return frame


def _in_frame(machine: Machine, frame: Frame, body: ast.expr) -> Value:
    before, node = machine.frame, machine.node
    machine.frame = frame
    try:
        return evaluate(machine, body)
    except AutogradError as error:
        raise machine.translated(error) from None
    finally:
        machine.frame, machine.node = before, node


def _run(machine: Machine, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
    before, caller = machine.frame, machine.node
    machine.frame = frame
    steps = run_block(machine, node.body)
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        ended = frame.passed_over and not isinstance(stop.value, Returned)
        machine.trace.fell_through |= ended and _gives_value(node)
        if ended or _is_left_to_subclasses(machine, frame, node):
            _fill_tables(machine, frame)
            return machine.unknown(CAUSE, None, tuple(frame.scope.variables.values()))
        return _result(stop.value)
    except Exhausted:
        machine.trace.left.add(node)
        raise
    finally:
        machine.frame, machine.node = before, caller


@noted
def _gives_value(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if a function returns a value in some place."""
    returns = (each for each in statements(node.body) if isinstance(each, ast.Return))
    return any(each.value is not None for each in returns)


def _fill_tables(machine: Machine, frame: Frame) -> None:
    """Let go of the numbers in the tables of an object: a subclass's own method puts there what it computes."""
    receiver = frame.first_argument
    if frame.owner is None or not isinstance(receiver, Instance):
        return
    for table in [each for each in receiver.attributes.values() if isinstance(each, Dict)]:
        for key, value in list(table.entries.values()):
            if type(value) in (int, float):
                table.store(key, machine.unknown(CAUSE, None, (receiver,)))


def _is_left_to_subclasses(machine: Machine, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if a method does nothing and its object is not seen to be made: a subclass presumably overrides it."""
    if frame.owner is None or isinstance(machine.trace.entry, ast.Module) or node.name.startswith("__"):
        return False
    return all(
        isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in node.body
    )


def _result(signal: Signal) -> Value:
    return signal.value if isinstance(signal, Returned) else None


def _generator(machine: Machine, function: Function, frame: Frame) -> Iteration:
    assert not isinstance(function.node, ast.Lambda)
    iteration = Iteration(iter(()), endless=any(map(never_ends, function.node.body)))
    iteration.frame, iteration.made = frame, machine.site()
    iteration.host = host = _suspendable(machine, function.node, frame, iteration.returned)
    machine.suspended.append(ref(host))
    return iteration


def _suspendable(
    machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame, returned: list[Value]
) -> Generator[Value, Value, None]:
    """Run a generator's body step by step, each time an item is asked for."""
    steps = run_block(machine, node.body)
    step: Callable[[], Value] = partial(next, steps)
    while True:
        try:
            item = _lent(machine, frame, step)
        except StopIteration as stop:
            returned.append(_result(stop.value))
            return
        try:
            sent = yield item
            step = partial(steps.send, sent)
        except GeneratorExit:
            _lent(machine, frame, steps.close)
            raise
        except Raised as raised:
            step = partial(steps.throw, raised)


def _lent(machine: Machine, frame: Frame, step: Callable[[], Value]) -> Value:
    """Run a step of a generator in its own frame."""
    before, caller = machine.frame, machine.node
    machine.frame = frame
    try:
        return step()
    finally:
        machine.frame, machine.node = before, caller


def bind_arguments(machine: Machine, function: Function, arguments: Arguments, scope: Scope) -> None:
    """Give the parameters their values; what an open call, or a decorator, may have passed is unknown."""
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    keywords = dict(arguments.keywords)
    values = list(arguments.positional)
    first_default = len(positional) - len(function.defaults)
    for index, parameter in enumerate(positional):
        if index < len(values) and not (arguments.open and parameter.arg in keywords):
            value = values[index]  # Of an open call some may be samples: `f(*rest, name=value)`.
        elif parameter.arg in keywords:
            value = keywords.pop(parameter.arg)
        else:
            default = function.defaults[index - first_default] if index >= first_default else UNDEFINED
            value = _missing(machine, function, parameter, default, arguments)
        if isinstance(value, Unknown) and not (value.name or value.label):
            value.label = parameter.arg  # What is nothing but an argument has its first name here.
        _doubt_by_annotation(parameter, value)
        scope.variables[parameter.arg] = value
    extra = values[len(positional) :]
    if spec.vararg is not None:
        scope.variables[spec.vararg.arg] = List(extra, open=True) if arguments.open else tuple(extra)
    elif extra and not arguments.open and not function.handed_over:
        raise machine.error("TypeError", f"{function.name}() takes {len(positional)} positional arguments")
    for parameter in spec.kwonlyargs:
        if parameter.arg in keywords:
            value = keywords.pop(parameter.arg)
        else:
            default = function.keyword_defaults.get(parameter.arg, UNDEFINED)
            value = _missing(machine, function, parameter, default, arguments)
        _doubt_by_annotation(parameter, value)
        scope.variables[parameter.arg] = value
    if spec.kwarg is not None:
        rest = Dict(open=arguments.open)
        for name, each in keywords.items():
            rest.store(name, each)
        scope.variables[spec.kwarg.arg] = rest
    elif keywords and not function.handed_over:
        raise machine.error(
            "TypeError", f"{function.name}() got an unexpected keyword argument '{next(iter(keywords))}'"
        )


def _doubt_by_annotation(parameter: ast.arg, value: Value) -> None:
    """What is taken for a result with a graph may be the number that the parameter's annotation promises."""
    match parameter.annotation:
        case ast.Name(id="float" | "int" | "bool" | "str"):
            if isinstance(value, Unknown) and value.kind is Kind.LIVE and value.tensor is None:
                value.kind, value.provenance = Kind.ANYTHING, OPEN


def _missing(machine: Machine, function: Function, parameter: ast.arg, default: Value, arguments: Arguments) -> Value:
    if arguments.open or (function.handed_over and default is UNDEFINED):
        return machine.library.parameter(machine, function, parameter, default)
    if default is UNDEFINED:
        raise machine.error("TypeError", f"{function.name}() missing a required argument: '{parameter.arg}'")
    return default
