"""State that outlives a call: gradients, and values in attributes, closures and globals that may hold a graph.

A function that leaves such a value finds it again in its next call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.events import BackwardRan, Cleared, Stepped
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute
from gradpath.interpreter.readings import parts_of
from gradpath.interpreter.scope import Scope
from gradpath.interpreter.trace import Trace
from gradpath.interpreter.values import Function, Instance, Object, Value
from gradpath.source.index import inside
from gradpath.source.nodes import nodes, noted

_MOST = 2_000
"""Values that are looked through."""

Place = tuple["Instance | Scope", str]
"""An attribute of an instance, or a variable."""


def leaves_graph(machine: Machine, function: Function, receiver: Value) -> bool:
    """True if a function, which was called, has left a graph where its next call may meet it."""
    return any(True for _ in _live(machine, function, receiver))


def leaves_gradients(trace: Trace) -> bool:
    """True if a step of a call has used gradients that the call does not clear: its next one may add to them.

    Or if a backward after it, for something else, has left others.
    """
    cleared = trace.of(Cleared)
    owners = {id(event.owner) for event in cleared if event.owner is not None}
    tensors = {id(tensor) for event in cleared for tensor in event.tensors}
    return any(
        id(step.optimizer) not in owners and any(id(tensor) not in tensors for tensor in step.updated)
        for step in trace.of(Stepped)
    ) or _leaves_others(trace)


def _leaves_others(trace: Trace) -> bool:
    """True if a backward has left gradients in what was stepped before it, or in what steps after what it was for.

    Or in what an optimizer has cleared for it that never steps, while another one does.
    """
    stepped, left, passed, cleared = set[int](), set[int](), set[int](), set[int]()
    for event in trace.among(BackwardRan, Cleared, Stepped):
        match event:
            case BackwardRan():
                left |= {id(leaf) for leaf in _leaves(event)}
            case Cleared():
                own = {id(tensor) for tensor in event.tensors}
                left -= own
                passed &= left
                cleared |= own if event.steps else set()
            case Stepped():
                updated = {id(tensor) for tensor in event.updated}
                if not passed.isdisjoint(updated):
                    return True
                stepped |= updated
                left -= updated
                passed |= left
    return not left.isdisjoint(stepped | cleared if stepped else stepped)


def leaves_frozen(trace: Trace) -> bool:
    """True if a call has frozen what it trains: its next one finds that frozen."""
    return any(not leaf.requires_grad for event in trace.of(BackwardRan) for leaf in _leaves(event))


def _leaves(ran: BackwardRan) -> Iterator[Tensor]:
    accumulated = (edge.accumulates for node in ran.executed for edge in node.edges)
    return (leaf for leaf in accumulated if leaf is not None)


def is_left_to_it(machine: Machine, function: ast.AST, tree: ast.Module, receiver: Value) -> bool:
    """True if no code clears gradients between two calls of a function, which is entered with `receiver`.

    The function clears some itself, on this path or on another, or it steps its own optimizers in a file, and in
    classes, in which nothing clears any.
    """
    trace = machine.trace
    if any(event.owner is not None for event in trace.of(Cleared)):
        return True
    if any(isinstance(each, ast.Attribute) and each.attr == "zero_grad" for each in nodes(function)):
        return True
    if not all(isinstance(step.optimizer, Instance) for step in trace.of(Stepped)):
        return False
    machine.surveyed.add(tree)
    classes = receiver.cls.mro if isinstance(receiver, Instance) else ()
    return not any(_clears(body) for body in (tree, *(each.node for each in classes if each.node is not None)))


def _clears(body: ast.AST) -> bool:
    """True if something in a body has to do with clearing gradients, to go by its words."""
    return any(
        (isinstance(node, ast.Attribute) and (node.attr == "grad" or "zero" in node.attr))
        or (isinstance(node, ast.Name) and "zero" in node.id)
        for node in nodes(body)
    )


def forget_what_others_set(
    machine: Machine, function: Function, receiver: Value, tree: ast.Module, ran: Callable[[ast.AST], bool]
) -> None:
    """Make unknown what a function left, as far as functions outside of its call set it.

    Any of them may run before the next call. Those that `ran` in the call do belong to it, as do those that one of
    these calls on another path. Where an attribute was None that the call needs, code that is not seen sets it, and
    maybe the rest of the state as well.
    """
    places = list(_live(machine, function, receiver))
    classes = {owner.cls for owner, _ in places if isinstance(owner, Instance)}
    bodies = [each.node for cls in classes for each in cls.mro if each.node is not None]
    inner = (each for body in (tree, *bodies) for each in inside(body, *_FUNCTIONS))
    functions = {each for each in inner if isinstance(each, _FUNCTIONS)}
    machine.surveyed |= functions
    own = frozenset[str]().union(*(_effects(each)[1] for each in functions if ran(each)))
    others = (each for each in functions if not (ran(each) or each.name == "__init__" or each.name in own))
    elsewhere = frozenset[str]().union(*(_effects(each)[0] for each in others))
    for owner, name in places:
        if name in elsewhere or machine.trace.set_elsewhere:
            made = machine.unknown_from(Attribute(owner, name, "attribute set elsewhere"))
            (owner.attributes if isinstance(owner, Instance) else owner.variables)[name] = made


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _live(machine: Machine, function: Function, receiver: Value) -> Iterator[Place]:
    """The places from which a graph is reached, of those that the next call of a function can reach."""
    todo: list[Instance | Scope] = [receiver] if isinstance(receiver, Instance) else []
    scope: Scope | None = function.scope
    while scope is not None:
        todo.append(scope)
        scope = scope.outer
    seen: set[int] = set()
    while todo:
        owner = todo.pop()
        variables = owner.attributes if isinstance(owner, Instance) else owner.variables
        for name, value in list(variables.items()):
            if _holds(machine, value, seen, todo):
                yield owner, name


def _holds(machine: Machine, value: Value, seen: set[int], todo: list[Instance | Scope]) -> bool:
    """True if a graph is in a value, be it in a container; instances in it are looked through later."""
    inside, found = [value], False
    for each in inside:
        if not isinstance(each, (Object, tuple)):
            continue
        found = found or machine.library.holds_graph(each)
        if id(each) in seen or len(seen) > _MOST:
            continue
        seen.add(id(each))
        if isinstance(each, Instance):
            todo.append(each)
        else:
            inside += parts_of(each)
    return found


@noted
def _effects(function: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a function sets for good (attributes, and variables of others), and those that it calls."""
    assigned, called = set[str](), set[str]()
    for node in nodes(function, outside=_FUNCTIONS):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
                assigned.add(name)
            case ast.Subscript(value=ast.Attribute(attr=name), ctx=ast.Store() | ast.Del()):
                assigned.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                assigned.update(names)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=owner), attr=name)):
                called.add(name)
                assigned.update([owner] if name in _EMPTYING else [])
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
                called.add(name)
    return frozenset(assigned), frozenset(called)


_EMPTYING = frozenset({"clear", "pop", "popleft", "detach_"})
"""Methods that take something out of a container, or out of a graph."""
