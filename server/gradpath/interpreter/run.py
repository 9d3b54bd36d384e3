"""Running one path of a document: the module body, or one function with presumed arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gradpath.autograd.errors import AutogradError
from gradpath.autograd.gradients import is_step_function
from gradpath.interpreter import assignment, builtins, calls, classes, expressions, statements
from gradpath.interpreter.bounds import TOO_MUCH
from gradpath.interpreter.budget import Cancelled, Exhausted
from gradpath.interpreter.containers import handed_out
from gradpath.interpreter.defining import call_class
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.entered import Entered, Use
from gradpath.interpreter.events import BackwardRan, Built, CutOff, Mixed
from gradpath.interpreter.filling import fill, fillers, filling_of, is_lent, shared, trains_apart
from gradpath.interpreter.lasting import (
    forget_what_others_set,
    is_left_to_it,
    leaves_frozen,
    leaves_gradients,
    leaves_graph,
)
from gradpath.interpreter.machine import Library, Machine
from gradpath.interpreter.modules import is_left_out, outline_of
from gradpath.interpreter.paths import NOWHERE, Going, Path, continued
from gradpath.interpreter.receivers import presumed_instance
from gradpath.interpreter.scope import Frame
from gradpath.interpreter.trace import Trace
from gradpath.interpreter.values import (
    UNDEFINED,
    Arguments,
    Class,
    Descriptor,
    Function,
    Instance,
    Object,
    Value,
)
from gradpath.source.nodes import Definition, is_generator, noted
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.traversal import reachable


def make_machine(
    library: Library, prefix: tuple[bool, ...], entry: ast.AST, file: str, budget: int, going: Going = NOWHERE
) -> Machine:
    """A machine with all parts tied together, at the start of a path; `prefix` and `going` say which (see `Path`)."""
    path = Path(prefix, going, file)
    trace = Trace(entry, decisions=path.taken)
    machine = Machine(library, path, trace, file, budget)
    machine.evaluate = partial(expressions.evaluate, machine)
    machine.run_block = partial(statements.run_block, machine)
    machine.assign = partial(assignment.assign, machine)
    machine.invoke = partial(calls.invoke, machine)
    machine.instantiate = partial(call_class, machine)
    machine.attribute = partial(classes.attribute, machine)
    machine.instance_attribute = partial(classes.instance_attribute, machine)
    machine.builtins = builtins.make_builtins()
    return machine


def run_module(machine: Machine, bodies: Sequence[list[ast.stmt]]) -> None:
    """Execute the module as `__main__`; an exception that nothing catches ends the body, and the path with the last.

    A file is one body. A notebook has one for each cell, and the next cell is run after an exception. Names that the
    rest of the failed cell would have assigned are unknown from there on, since their old values are not what is meant.
    """
    if len(bodies) == 1:
        _guarded(machine, partial(_drain, machine, bodies[0]))
        return
    for body in bodies:
        for index, statement in enumerate(body):
            if machine.trace.truncated:
                return
            if not _guarded(machine, partial(_drain, machine, [statement])):
                del machine.frame.loops[:]
                _give_up(machine, statement, body[index + 1 :])
                break


def _give_up(machine: Machine, failed: ast.stmt, rest: list[ast.stmt]) -> None:
    """End a cell that has failed: its definitions hold all the same, and what it assigns is unknown."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    _guarded(machine, partial(_drain, machine, [each for each in rest if isinstance(each, definitions)]))
    ends = (*definitions, ast.Lambda)
    starts: list[ast.AST] = [each for each in (failed, *rest) if not isinstance(each, definitions)]
    for node in reachable(starts, lambda node: () if isinstance(node, ends) else ast.iter_child_nodes(node)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            machine.globals.set(node.id, machine.unknown("value of a cell that failed"))


def run_definitions(machine: Machine, tree: ast.Module) -> None:
    """Execute what a module defines, loops and calls of its own functions left out, so that a function can be entered.

    A statement that raises is skipped: it is the module body's own fault, reported where that is run. What only
    defines a name waits until that name is asked for.
    """
    machine.builtins["__name__"] = "module"
    definitions = _definitions_of(tree)
    machine.globals.missing = partial(_define, machine, definitions.late, set())
    for statement in definitions.now:
        try:
            _drain(machine, [statement])
        except (Raised, AutogradError):
            del machine.frame.loops[:]
        except (Exhausted, *TOO_MUCH):
            machine.trace.truncated = True
            break
    machine.trace.events = []


@dataclass(frozen=True, slots=True)
class _Definitions:
    """The statements of a module that run before a function is entered: at once, and when a name is asked for."""

    now: tuple[ast.stmt, ...]
    late: Mapping[str, ast.stmt]


@noted
def _definitions_of(tree: ast.Module) -> _Definitions:
    own = {each.name for each in tree.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))}
    single = ((name, *statements) for name, statements in outline_of(tree).late.items() if len(statements) == 1)
    late = {name: statement for name, statement in single if _may_wait(statement)}
    waiting = {id(statement) for statement in late.values()}
    now: list[ast.stmt] = []
    for statement in tree.body:
        match statement:
            case _ if is_left_out(statement):
                continue
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in own:
                continue
        if id(statement) not in waiting:
            now.append(statement)
    return _Definitions(tuple(now), late)


def _may_wait(statement: ast.stmt) -> bool:
    """True if a definition may be executed late; one with a `backward` makes itself known when it is executed."""
    match statement:
        case ast.ClassDef(body=body):
            return not any(isinstance(each, ast.FunctionDef) and each.name == "backward" for each in body)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return True
    return False


def _define(machine: Machine, late: Mapping[str, ast.stmt], done: set[str], name: str) -> Value:
    """Execute a definition whose turn has come, as if it had been executed in its place."""
    statement = late.get(name)
    if statement is None or name in done:
        return UNDEFINED
    done.add(name)
    before = machine.frame, machine.node, machine.trace.events
    frame = Frame(machine.file, machine.globals)
    frame.depth = machine.frame.depth
    machine.frame, machine.trace.events = frame, []
    try:
        with machine.autograd.mode(grad=True, inference=False), machine.beforehand():
            _drain(machine, [statement])
    except (Raised, AutogradError):
        return UNDEFINED
    finally:
        machine.frame, machine.node, machine.trace.events = before
    return machine.globals.variables.get(name, UNDEFINED)


def run_function(
    machine: Machine, tree: ast.Module, function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str | None, use: Use
) -> Callable[[], None] | None:
    """Enter a function of the module `tree` (or, with `owner`, a method of that class) with presumed arguments.

    Of one that came to its end without a backward it gives what has to be done yet for `Use.BACKWARD`.
    """
    backward: Callable[[], None] | None = None

    def enter() -> None:
        nonlocal backward
        machine.node = function
        entered = _find(machine, tree, function, owner, use)
        if entered is None:
            return
        machine.trace.begun = len(machine.trace.events)

        def call() -> Value:
            machine.era += 1
            machine.trace.returned = result = machine.library.enter(machine, entered)
            if isinstance(result, Object):
                host = result.iterate(machine) if is_generator(entered.function.node) else None
                for _, _ in zip(range(4), host or (), strict=False):
                    pass
            return result

        result = _call(machine, entered, call, use)
        if not machine.trace.own(BackwardRan):
            backward = partial(machine.library.back_propagate, machine, entered, result)

    _guarded(machine, enter)
    return backward


def go_on(machine: Machine, backward: Callable[[], None]) -> None:
    """Let a run go on in a trace of its own; that of what it was until then stays as it is."""
    machine.trace = continued(machine.trace)
    machine.path.taken = machine.trace.decisions
    _guarded(machine, backward)


def run_inner(
    machine: Machine, tree: ast.Module, worth: Callable[[ast.FunctionDef | ast.AsyncFunctionDef], bool], use: Use
) -> bool:
    """Enter the nested functions that the path has defined and not called, if any: unseen code calls them."""

    def enter() -> None:
        for node, function in inner:
            machine.node = node
            target = classes.innermost(function)
            call = partial(machine.call, function, Arguments(open=True))
            if target is not None:
                _call(machine, Entered(target, function, UNDEFINED, tree), call, use)

    found = ((node, function) for node, function in machine.inner.items() if function is not None)
    inner = [(node, function) for node, function in found if isinstance(node, Definition) and worth(node)]
    if not inner or machine.trace.has_failed or machine.trace.truncated:
        return False
    _guarded(machine, enter)
    return True


def _call(machine: Machine, entered: Entered, call: Callable[[], Value], use: Use) -> Value:
    """Call a function, use its result, and give it; what is filled in its object is filled for a second call, too."""
    function, receiver = entered.function, entered.receiver
    lent = is_lent(receiver, entered.filling)
    if use not in (Use.AGAIN, Use.EACH) and (lent or not entered.filling):
        _fill(machine, entered)
        result = call()
        if not machine.trace.own(BackwardRan):
            machine.uses.discard(Use.FILLED)
        if use in (Use.BACKWARD, Use.LOSS):
            if not machine.trace.own(BackwardRan):  # Otherwise it trains by itself, and what it gives is for the log.
                machine.library.back_propagate(machine, entered, result)
        elif machine.trace.own(BackwardRan):
            repeated = function.node in machine.trace.loops.values()  # A framework has called it again already.
            lasts = leaves_gradients(machine.trace) or leaves_frozen(machine.trace)
            if not repeated and (lasts or leaves_graph(machine, function, receiver)):
                machine.uses.add(Use.AGAIN)
        elif machine.library.holds_graph(handed_out(result)) and not trains_apart(receiver, function.node):
            machine.uses.update([Use.BACKWARD] if _tells_something(machine.trace) else [])
            machine.uses.update([Use.EACH] if machine.library.keeps_graph(machine, receiver, entered.tree) else [])
        return result
    _call_twice(machine, entered, call, use)
    return UNDEFINED


def _fill(machine: Machine, entered: Entered) -> None:
    if isinstance(entered.receiver, Instance):
        fill(machine, entered.receiver, entered.filling, entered.given)


def _call_twice(machine: Machine, entered: Entered, once: Callable[[], Value], use: Use) -> None:
    """Call a function twice, as in iterations of a loop; between them anything may have happened.

    But a function that clears gradients itself is presumed to be the only one that does.
    """

    def call() -> None:
        result = once()
        if use is Use.EACH:
            machine.library.back_propagate(machine, entered, result)

    function, receiver = entered.function, entered.receiver
    loop = machine.enter_loop(function.node)
    loop.begin(1)
    before = dict(machine.trace.visits)
    _fill(machine, entered)
    call()
    machine.era += 1
    if not is_left_to_it(machine, function.node, entered.tree, receiver):
        machine.library.may_have_cleared(machine)
    visits = machine.trace.visits
    forget_what_others_set(
        machine,
        function,
        receiver,
        entered.tree,
        lambda each: any(visits.get(part, 0) > before.get(part, 0) for part in getattr(each, "body", ())),
    )
    loop.begin(2)
    try:
        _fill(machine, entered)
        call()
    except Raised as raised:
        if raised.error is not None:  # Any other exception is no reason to believe that it is called like that.
            raise
    finally:
        del machine.frame.loops[:]


def _tells_something(trace: Trace) -> bool:
    """True if a backward may meet a cut, a read, a step function, a custom Function, or a write into what was saved."""
    return bool(trace.of(CutOff) or trace.of(Mixed)) or any(
        node.custom is not None
        or is_step_function(node)
        or any(saved.version != saved.storage.version for saved in node.saved)
        for node in (each.node for each in trace.of(Built))
    )


def _find(
    machine: Machine, tree: ast.Module, function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str | None, use: Use
) -> Entered | None:
    """The way to enter a `def`; None if its name refers to another one."""
    if owner is None:
        return _entered(machine.globals.own(function.name), function, UNDEFINED, tree)
    cls = machine.globals.own(owner)
    if not isinstance(cls, Class):
        return None
    member = cls.find(function.name)
    kind = getattr(member, "kind", None)
    value = member.function if isinstance(member, Descriptor) else member
    found = _entered(value, function, cls if kind == "classmethod" else UNDEFINED, tree)
    if found is None or kind in ("staticmethod", "classmethod"):
        return found
    if function.name == "__init__":
        return replace(found, receiver=cls.create(machine))
    given = _lent(machine, cls, found.function) if use is Use.FILLED else {}
    receiver = presumed_instance(machine, cls, function, use)
    filling = filling_of(receiver, function) if use is Use.FILLED else {}
    return replace(found, receiver=receiver, given=given, filling=filling)


def _lent(machine: Machine, cls: Class, function: Function) -> dict[str, Value]:
    """The arguments of a method that others fill for it: all are given the same."""
    names = shared(fillers(cls, function.node))
    arguments = getattr(function.node, "args", None)
    known = [] if arguments is None else [each for each in arguments.args if each.arg in names]
    return {each.arg: machine.library.parameter(machine, function, each, UNDEFINED) for each in known}


def _entered(value: Value, node: ast.AST, receiver: Value, tree: ast.Module) -> Entered | None:
    """The way to enter the `def` `node`, which a decorator of the program may have put into a function of its own."""
    found = classes.innermost(value)
    wraps = found is not None and found.node is not node and bool(getattr(node, "decorator_list", None))
    return None if found is None or not (wraps or found.node is node) else Entered(found, value, receiver, tree)


def _drain(machine: Machine, body: list[ast.stmt]) -> None:
    for _ in statements.run_block(machine, body):
        pass


def _guarded(machine: Machine, run: Callable[[], None]) -> bool:
    """Run to the end, to the first uncaught exception, or to the end of the budget; whether it was the first."""
    try:
        run()
        return True
    except Raised as raised:
        machine.failed(raised, caught=False)
    except AutogradError as error:
        machine.failed(machine.translated(error), caught=False)
    except (Exhausted, *TOO_MUCH):
        machine.trace.truncated = True
    except Cancelled:
        machine.trace.truncated = True
        raise
    return False
