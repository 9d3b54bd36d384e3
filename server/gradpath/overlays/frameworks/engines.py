"""The actions of frameworks on a program's behalf: prepare objects, run a backward, call a step repeatedly."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.classes import Context
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.scope import Frame
from gradpath.interpreter.sites import Site
from gradpath.interpreter.values import Arguments, Function, Native, NativeFunction, Object, Value
from gradpath.support.traversal import reachable

FEW = 3
"""The number of calls of a step that a framework calls for each batch."""

OF_BACKWARD = frozenset({"create_graph", "gradient", "inputs", "retain_graph"})
"""The arguments of `Tensor.backward`."""


class Block(Context):
    """A context manager that changes nothing for the graph: `autocast`, `accumulate`, `no_sync`."""

    __slots__ = ()

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return arguments.get(0, "func", None)


class Helper(Object):
    """An object of a framework with known methods; its other attributes are plain data if listed, else unknown."""

    __slots__ = ("kind", "methods")

    def __init__(self, kind: str, methods: Mapping[str, Native]) -> None:
        self.kind = kind
        self.methods = methods

    def type_name(self) -> str:
        return self.kind

    def attribute(self, machine: Machine, name: str) -> Value:
        method = self.methods.get(name)
        if method is not None:
            return NativeFunction(f"{self.kind}.{name}", method)
        if name in _TOLD:
            return machine.unknown(name, ("attr", id(self), name), data=True)
        return super().attribute(machine, name)


_STATE = """
device global_rank gradient_accumulation_steps is_global_zero is_last_process is_local_main_process is_main_process
local_process_index local_rank mixed_precision node_rank num_processes process_index project_dir sync_gradients
use_distributed world_size
"""

_TOLD = frozenset(_STATE.split())
"""The attributes of such objects about processes and the state of the training."""


def block(machine: Machine, arguments: Arguments) -> Value:
    """A call that gives a `Block`."""
    return Block()


def nothing(machine: Machine, arguments: Arguments) -> Value:
    """A call that does nothing and gives None."""
    return None


def prepared(machine: Machine, arguments: Arguments) -> Value:
    """`prepare(model, optimizer, ...)`: what was given, one thing alone or several as a tuple."""
    values = arguments.all()
    return values[0] if len(values) == 1 else tuple(values)


def first(machine: Machine, arguments: Arguments) -> Value:
    """The first argument, as `unwrap_model(model)` gives it."""
    values = arguments.all()
    return values[0] if values else None


def gathered(machine: Machine, arguments: Arguments) -> Value:
    """A value gathered from other processes: its graph is unknown."""
    return machine.unknown("gathered from other processes", None, tuple(arguments.all()))


def back_propagate(machine: Machine, loss: Value, arguments: Arguments) -> Value:
    """`engine.backward(loss, ...)`: the arguments of `Tensor.backward` are passed on."""
    keywords = {name: value for name, value in arguments.keywords.items() if name in OF_BACKWARD}
    machine.call(machine.attribute(loss, "backward"), Arguments([], keywords))
    return None


def backward(machine: Machine, arguments: Arguments) -> Value:
    """`engine.backward(loss, ...)` as a method; a list of losses is their sum."""
    loss = arguments.get(0, "loss", arguments.keywords.get("tensor"))
    for each in loss.items if isinstance(loss, List) else (loss,):
        back_propagate(machine, each, arguments)
    return None


def repeat(machine: Machine, body: ast.AST, items: Iterable[Value], step: Callable[[Value], object]) -> None:
    """Let `step` take the first items one by one, as iterations of a loop that `body` is the body of."""
    depth = len(machine.frame.loops)
    loop = machine.enter_loop(body)
    try:
        for item in islice(items, FEW):
            loop.begin(loop.iteration + 1)
            step(item)
    finally:
        del machine.frame.loops[depth:]


def at_result(machine: Machine, function: Function, run: Callable[[], None]) -> None:
    """Run what a framework does with the result of a function as if it stood where the function returns it."""
    before, node = machine.frame, machine.node
    frame = Frame(function.path or before.path, before.scope, before.function, before.caller)
    frame.parent, frame.depth, frame.outer_loops, frame.loops = before.parent, before.depth, before.outer_loops, []
    frame.loops = before.loops
    machine.frame, machine.node = frame, _place_of_result(machine, function.node)
    try:
        run()
    except AutogradError as error:
        raise machine.translated(error) from None
    finally:
        machine.frame, machine.node = before, node


def site_of_result(machine: Machine, function: Function) -> Site:
    """Where a function returned its latest result."""
    found: list[Site] = []
    at_result(machine, function, lambda: found.append(machine.site()))
    return found[0]


def _place_of_result(machine: Machine, function: ast.AST) -> ast.AST:
    """The value of the `return` that was executed last, else of the last one in the text that was reached."""
    places = places_of_result(function)
    visits = machine.trace.visits
    reached = (value for node, value in places if node in visits)
    latest = next((value for node, value in places if node is machine.returned), None)
    return latest if latest is not None else next(reached, places[0][1])


def places_of_result(function: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """The `return`s of a function that give a value, the last one first, with what they give; else the function."""
    ends = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    body = reachable(ast.iter_child_nodes(function), lambda n: () if isinstance(n, ends) else ast.iter_child_nodes(n))
    found = sorted((each for each in body if isinstance(each, ast.Return)), key=lambda each: -each.lineno)
    return [(each, each.value) for each in found if each.value is not None] or [(function, function)]
